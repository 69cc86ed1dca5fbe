// `weft bench`: speed and memory figures, as a table or as JSON.
#include "app/bench.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/verb.hpp"
#include "base/stopwatch.hpp"

namespace weft::app {

Bench::~Bench() = default;

bool BenchResults::wants(const std::string& name) {
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  return name.find(only_) != std::string::npos;
}

void BenchResults::add(BenchCase one) {
  if (!wants(one.name)) return;
  ++added_;
  done_(std::move(one));
}

namespace {

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int from) {
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t got = read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

[[noreturn]] void run_child(int to, const std::function<Json()>& work) {
  Json figures;
  try {
    figures = work();
  } catch (const std::exception& error) {
    figures = {{"error", error.what()}};
  }
  write_all(to, figures.dump());
  close(to);
  _exit(0);
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

std::string figure_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_unsigned()) return with_commas(value.get<std::uint64_t>());
  if (value.is_real()) return fmt::format("{:.3f}", value.get<double>());
  return value.dump();
}

void print_case(const BenchCase& one) {
  fmt::print("{}: {}\n", one.name, one.within_limits ? "within its limits" : "NOT within its limits");
  for (const auto& [key, value] : one.figures.items())
    fmt::print("  {:<22} {:>16}\n", key, figure_text(value));
  std::fflush(stdout);
}

/// A case that cannot be run is always a failure. One that takes longer than its limit is one only where that
/// is asked for: limits are for a machine that has nothing else to do.
int run_bench(const std::string& name, const std::string& only, bool as_json, bool strict) {
  const Bench* bench = Benches::find(name);
  if (!bench) {
    auto names = Benches::names();
    throw UserError(fmt::format("there is no bench '{}'{}; there are {}", name, did_you_mean(name, names),
                                join(names, ", ")));
  }
  Json cases = Json::array(), headline = Json::object();
  bool all_ran = true, all_within = true;
  BenchResults results(only, [&](BenchCase one) {
    all_ran &= !one.figures.contains("error");
    all_within &= one.within_limits;
    if (!as_json) return print_case(one);
    if (one.figures.contains(bench->headline)) headline[one.name] = one.figures[bench->headline];
    Json entry{{"case", one.name}, {"within_limits", one.within_limits}};
    entry.update(one.figures);
    cases.push_back(std::move(entry));
  });
  bench->run(results);
  if (results.empty())
    throw UserError(fmt::format("no case of bench '{}' has '{}' in its name; there are:\n  {}", name, only,
                                join(results.names(), "\n  ")));
  if (as_json) {
    Json whole{{"bench", name}, {"cases", cases}};
    if (!bench->headline.empty()) whole[bench->headline] = headline;
    fmt::print("{}\n", whole.dump(2));
  }
  return all_ran && (all_within || !strict) ? 0 : 1;
}

std::function<int()> declare_bench(CommandLine& app) {
  struct Options {
    std::string name, only;
    bool json = false, strict = false;
  };
  auto options = std::make_shared<Options>();
  std::vector<std::string> lines;
  for (const auto& [name, bench] : Benches::all()) lines.push_back(fmt::format("{}: {}", name, bench.about));
  app.add_option("name", options->name, join(lines, "; ")).required().option_text("NAME");
  app.add_option("--only", options->only, "Only the cases with TEXT in their names").option_text("TEXT");
  app.add_flag("--json", options->json, "Machine-readable: one object");
  app.add_flag("--strict", options->strict, "Exit code 1 also where a limit does not hold");
  return [options] { return run_bench(options->name, options->only, options->json, options->strict); };
}

WEFT_REGISTER(Verb, {"bench", "speed and memory figures, each with its limit", 90, declare_bench});

}  // namespace

Json measure_in_own_process(const std::function<Json()>& work) {
  std::fflush(nullptr);  // or the child would print again what is buffered here
  int ends[2];
  if (pipe(ends) != 0)
    throw UserError(fmt::format("no pipe to a measured process: {}", std::strerror(errno)));
  const Stopwatch start;
  pid_t child = fork();
  if (child < 0) throw UserError(fmt::format("no process to measure in: {}", std::strerror(errno)));
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], work);
  }
  close(ends[1]);
  std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  const double wall = start.seconds();

  std::optional<Json> told = WIFEXITED(status) ? Json::parse(text) : std::nullopt;
  Json figures =
      told ? *told
           : Json{{"error", WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                                                : "ended early"}};
  figures["wall_seconds"] = wall;
  figures["cpu_seconds"] = seconds(used.ru_utime) + seconds(used.ru_stime);
  figures["peak_bytes"] = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  return figures;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace weft::app

WEFT_REGISTRY(weft::app::Bench);
