// `weft compare`: machines x workloads x engines from one spec file, with a table and a report.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "app/compare_slurm.hpp"
#include "app/replay_report.hpp"
#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "base/version.hpp"
#include "report/compare_report.hpp"

namespace weft::app {

namespace {

using measure::ComparePoint;
using measure::CompareSpec;
namespace fs = std::filesystem;

struct Options {
  std::string spec, out;
  unsigned jobs = 0;
  std::int64_t point = -1;
  bool slurm = false, json = false, reports = false;
  std::string slurm_options;
};

struct Work {
  CompareSpec spec;
  std::vector<ComparePoint> points;
  std::vector<std::string> files;    // where each point's result lies
  std::vector<std::string> reports;  // the folder of its own report; none where none is wanted
  std::string spec_file;
};

void put_in_place(const std::string& path, const std::string& text) {
  // Under another name first: a result that is there is whole.
  std::string part = fmt::format("{}.{}", path, getpid());
  std::error_code failed;
  try {
    write_file(part, text);
  } catch (const UserError&) {
    fs::remove(part, failed);
    throw;
  }
  fs::rename(part, path, failed);
  if (failed) throw UserError(fmt::format("{}: cannot be written: {}", path, failed.message()));
}

Json read_result(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  std::optional<Json> result = Json::parse(text.str());
  return result && result->is_object() ? *result : Json();
}

Work prepare(const Options& o, const std::string& folder) {
  Work work{measure::read_compare(o.spec), {}, {}, {}, o.spec};
  work.points = measure::compare_points(work.spec);
  std::error_code failed;
  fs::create_directories(folder + "/points", failed);
  if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", folder, failed.message()));
  for (const ComparePoint& point : work.points)
    work.files.push_back(fmt::format("{}/points/{}.json", folder, measure::point_key(work.spec, point)));
  for (const ComparePoint& point : work.points)
    work.reports.push_back(o.reports && work.spec.engines[point.engine] != measure::kStaticEngine
                               ? fmt::format("{}/points/{}", folder, measure::point_key(work.spec, point))
                               : "");
  return work;
}

/// Runs a point and leaves its result. A failed one is kept too, so that its reason is in the report, but
/// tried again.
int run_one(const Work& work, std::size_t i, unsigned threads) {
  const Stopwatch start;
  constexpr std::uint64_t kTraceSize = 64 << 20;  // there may be many
  const std::string& folder = work.reports[i];
  ReplayReport report({folder, folder.empty() ? "" : folder + "/trace.json", kTraceSize,
                       fmt::format("weft compare {} --point {}", work.spec_file, i), work.spec.seed});
  measure::PointWatch watch{report.observer(), {}};
  watch.done = [&](const workload::ReplayResult& replay, const machine::Machine& machine) {
    Json own = replay_json(replay, machine);
    report.finish(replay, machine, own);
  };
  Json result = measure::run_point(work.spec, work.points[i], threads, watch);
  result["wall_seconds"] = start.seconds();
  put_in_place(work.files[i], result.dump(1) + "\n");
  return result.contains("error") ? 1 : 0;
}

std::string point_name(const Work& work, std::size_t i) {
  const ComparePoint& p = work.points[i];
  return fmt::format(
      "{} on {}{}, {}", work.spec.workloads[p.workload].name, work.spec.machines[p.machine].name,
      work.spec.machines[p.machine].variants.empty() ? "" : fmt::format(" #{}", p.machine_variant + 1),
      work.spec.engines[p.engine]);
}

/// Each point in a process of its own: one that needs too much memory takes no other with it.
void run_here(const Work& work, const std::vector<std::size_t>& open, unsigned jobs) {
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0, done = 0;
  unsigned threads = jobs > 1 ? 1 : default_threads();
  std::fflush(nullptr);
  while (done < open.size()) {
    while (next < open.size() && running.size() < jobs) {
      pid_t child = fork();
      if (child < 0) throw UserError(fmt::format("no process for a point: {}", std::strerror(errno)));
      if (child == 0) {
        int code = 3;
        try {
          code = run_one(work, open[next], threads);
        } catch (const std::exception& error) {
          fmt::print(stderr, "{}: {}\n", point_name(work, open[next]), error.what());
        }
        _exit(code);
      }
      running[child] = open[next++];
    }
    int status = 0;
    pid_t ended = wait(&status);
    if (ended < 0 && errno == EINTR) continue;
    auto at = running.find(ended);
    if (at == running.end()) continue;
    ++done;
    std::string how = WIFSIGNALED(status)        ? fmt::format("ended by signal {}", WTERMSIG(status))
                      : WEXITSTATUS(status) == 0 ? "done"
                                                 : "FAILED";
    fmt::print(stderr, "point {} of {}: {}: {}\n", done, open.size(), point_name(work, at->second), how);
    running.erase(at);
  }
}

std::string default_folder(const std::string& spec) {
  return "weft-compare-" + fs::path(spec).stem().string();
}

int compare(const Options& o) {
  if (o.reports && o.slurm)
    throw UserError(
        "--reports: a job array leaves no reports; run the points of interest with `weft replay --out`");
  std::string folder = o.out.empty() ? default_folder(o.spec) : o.out;
  Work work = prepare(o, folder);
  if (o.point >= 0) {  // one task of a job array
    if (static_cast<std::size_t>(o.point) >= work.points.size())
      throw UserError(fmt::format("--point {}: there are points 0 to {}", o.point, work.points.size() - 1));
    return run_one(work, static_cast<std::size_t>(o.point), default_threads());
  }
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < work.points.size(); ++i)
    if (Json r = read_result(work.files[i]);
        r.empty() || r.contains("error") ||
        (!work.reports[i].empty() && !fs::exists(work.reports[i] + "/report.html")))
      open.push_back(i);
  if (open.size() < work.points.size())
    fmt::print(stderr, "{} of {} are there already\n", work.points.size() - open.size(),
               count_of(work.points.size(), "point"));
  if (o.slurm)
    run_slurm(o.spec, folder, open, o.slurm_options);
  else
    run_here(work, open, o.jobs ? o.jobs : default_threads());

  report::CompareResults results;
  bool complete = true;
  for (std::size_t i = 0; i < work.files.size(); ++i) {
    results.push_back(read_result(work.files[i]));
    results.back().erase("wall_seconds");  // the same spec gives the same bytes
    if (!work.reports[i].empty() && fs::exists(work.reports[i] + "/report.html"))
      results.back()["report"] = work.reports[i].substr(folder.size() + 1) + "/report.html";
    complete &= !results.back().empty() && !results.back().contains("error");
  }
  std::vector<std::string> wrong =
      complete ? measure::check_expected(work.spec, results) : std::vector<std::string>();
  Json whole{{"spec", o.spec},         {"title", work.spec.title}, {"version", version()},
             {"seed", work.spec.seed}, {"complete", complete},     {"not_as_expected", wrong},
             {"points", results}};
  std::string command = fmt::format("weft compare {}", o.spec);
  put_in_place(folder + "/result.json", whole.dump(1) + "\n");
  put_in_place(folder + "/points.csv", report::compare_csv(results));
  put_in_place(folder + "/report.html", report::compare_report(work.spec, results, wrong, command));
  fmt::print("{}", o.json ? whole.dump(1) + "\n" : report::compare_table(work.spec, results));
  if (!o.json) {
    for (const std::string& line : wrong) fmt::print("NOT AS EXPECTED: {}\n", line);
    if (!work.spec.expected.empty() && complete && wrong.empty()) fmt::print("the order is as expected\n");
    fmt::print("results in {}: report.html, result.json, points.csv\n", folder);
  }
  return complete && wrong.empty() ? 0 : 1;
}

std::string section_text(const char* heading, const config::Section& section) {
  std::string out = fmt::format("  {}\n", heading);
  for (const config::Field& f : section.fields)
    out +=
        fmt::format("    {:<14} {}\n", f.name, wrap(f.help + (f.required ? "; must be given" : ""), 88, 19));
  return out;
}

std::function<int()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  app.add_option("spec", o->spec, "What to compare; see below").required().option_text("SPEC.toml");
  app.add_option("--out", o->out,
                 "Folder for the results; points that are there already are kept. Default: weft-compare-SPEC")
      .option_text("DIR");
  app.add_option("--jobs", o->jobs, "Points at the same time; 0: the cores there are")
      .option_text("N [0]")
      .range(0, 1024);
  app.add_flag("--slurm", o->slurm, "Run the points as a Slurm job array, and wait for it");
  app.add_option("--slurm-options", o->slurm_options,
                 "Given to sbatch, such as '--partition=batch --time=1:00:00'")
      .option_text("OPTIONS");
  app.add_flag(
      "--reports", o->reports,
      "A report of its own for each point that is replayed, as `weft replay --out` makes it, and its "
      "trace; report.html leads to them");
  app.add_option("--point", o->point, "Run only this point (a task of the job array)").option_text("N");
  app.add_flag("--json", o->json, "Print result.json instead of the table");
  app.footer("\nA spec file has\n" + section_text("[compare]", measure::compare_section()) +
             section_text("[[machine]], one or more", measure::compare_machine_section()) +
             section_text("[[workload]], one or more", measure::compare_workload_section()) +
             "Examples: examples/topology-scaling.toml, examples/lammps-topologies.toml\n");
  return [o] { return compare(*o); };
}

WEFT_REGISTER(Verb, {"compare", "the same workloads on several machines and engines: one table, one report",
                     7, declare});

}  // namespace

}  // namespace weft::app
