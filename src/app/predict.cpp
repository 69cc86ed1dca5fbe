// `weft predict`: what a faster network would buy a program.
#include "measure/predict/predict.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/own_files.hpp"
#include "host/simulation.hpp"
#include "report/predict_report.hpp"
#include "workload/replay.hpp"
#include "workload/skeleton.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;
using measure::PredictWorkload;
using measure::WorkloadResult;

struct Options {
  MachineOptions machine;
  std::string vary, workload, beyond, engine = "flit", out;
  std::vector<std::string> workload_settings, command;
  unsigned ranks = 0, per_node = 1;
  std::uint64_t seed = 1;
  bool json = false;
};

/// A skeleton of the network alone: what is not computing is communicating.
PredictWorkload skeleton(const Options& o) {
  auto run = [o](const machine::Machine& m) -> WorkloadResult {
    workload::ReplayText text;
    text.engine = o.engine;
    text.seed = o.seed;
    workload::JobText job;
    job.workload = o.workload;
    job.settings = o.workload_settings;
    job.ranks = o.ranks;
    text.jobs.push_back(job);
    workload::ReplayResult r = workload::replay(m, text);
    if (!r.run.finished)
      throw UserError(fmt::format("{} did not finish: {}", o.workload, join(r.run.stall, "; ")));
    double seconds = static_cast<double>(r.run.completion.value) * 1e-12;
    double compute = r.run.compute.picoseconds() * 1e-12 / static_cast<double>(r.jobs.front().ranks);
    return {seconds, 0, std::max(0.0, 1 - compute / seconds)};
  };
  return {o.workload, "", 1, 1, false, run};
}

/// A program in virtual time. Its ranks wait in the library.
PredictWorkload program(const Options& o) {
  auto run = [o](const machine::Machine& m) -> WorkloadResult {
    auto network = workload::make_engine(o.engine, m, {o.seed, 1});
    host::RunOptions options;
    options.ranks = o.ranks ? o.ranks : 2;
    options.per_node = o.per_node;
    options.command = o.command;
    options.seed = o.seed;
    options.output.to_error = true;
    options.library = own_file("libweft.so").string();
    host::find_program(options.command.front());
    host::Simulation simulation(m, *network, options);
    host::RunResult r = simulation.run();
    if (!r.fine) throw UserError(fmt::format("{}: {}", o.command.front(), r.failure));
    double waited = 0, all = 0;
    for (const host::RankResult& rank : r.ranks) {
      waited += static_cast<double>(rank.waited.value);
      all += static_cast<double>(rank.end.value);
    }
    return {static_cast<double>(r.end.value) * 1e-12, 0, all > 0 ? waited / all : 0};
  };
  return {fs::path(o.command.front()).filename().string(), "", 1, o.per_node, false, run};
}

void choose_workloads(const Options& o, measure::PredictOptions& to) {
  if (!o.command.empty() && !o.workload.empty())
    throw UserError("a skeleton and a program are given; expected one of them");
  if (!o.command.empty()) {
    to.workloads = {program(o)};
    return;
  }
  std::vector<std::string> ours = measure::built_in_workload_names();
  if (o.workload.empty()) {
    to.benchmarks = true;
    for (const std::string& name : ours) to.workloads.push_back(measure::built_in_workload(name));
  } else if (std::find(ours.begin(), ours.end(), o.workload) != ours.end()) {
    to.workloads = {measure::built_in_workload(o.workload)};
  } else if (config::Registry<workload::SkeletonKind>::find(o.workload)) {
    to.workloads = {skeleton(o)};
  } else {
    for (const std::string& name : workload::Skeletons::names()) ours.push_back(name);
    throw UserError(fmt::format("--skeleton: there is no '{}'{}; expected one of {}", o.workload,
                                did_you_mean(o.workload, ours), join(ours, ", ")));
  }
}

std::vector<double> read_beyond(const Options& o) {
  if (o.beyond.empty()) {
    // Table II of the EXTOLL paper, and what its arithmetic should have been.
    if (o.vary.starts_with("frequency"))
      return {300.0 * 64 / (156 * 32), 2400.0 / 156, 800.0 * 128 / (156 * 32)};
    if (o.vary.starts_with("message-rate")) return {4, 10};
    return o.vary.starts_with("latency") ? std::vector<double>{0.1, 0.25, 0.5}
                                         : std::vector<double>{2, 4, 10};
  }
  std::vector<double> out;
  for (const std::string& part : split(o.beyond, ',')) {
    char* end = nullptr;
    double value = std::strtod(part.c_str(), &end);
    bool percent = std::string(end) == "%";
    if (end == part.c_str() || !(value > 0) || (!percent && *end))
      throw UserError(fmt::format("--to: expected shares such as 400%, got '{}'", part));
    out.push_back(percent ? value / 100 : value);
  }
  return out;
}

void show_progress(const std::string& what, std::size_t done, std::size_t of) {
  if (isatty(STDERR_FILENO) != 1) {
    fmt::print(stderr, "run {} of {}: {}\n", done, of, what);
    return;
  }
  fmt::print(stderr, "\rrun {} of {}: {:<30}", done, of, what);
  if (done == of) fmt::print(stderr, "\r{:60}\r", "");
  std::fflush(stderr);
}

int run(const Options& o) {
  measure::PredictOptions options;
  options.machine = o.machine.machine;
  options.settings = o.machine.settings;
  options.vary = o.vary;
  options.beyond = read_beyond(o);
  options.progress = show_progress;
  choose_workloads(o, options);
  if (o.vary.starts_with("message-rate") && !options.workloads.front().can_pause)
    throw UserError(
        "--vary message-rate: only random-access and weather can pause after a send; expected frequency, "
        "latency or "
        "bandwidth for other workloads");
  if (!o.out.empty()) {
    std::error_code failed;
    fs::create_directories(o.out, failed);
    if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", o.out, failed.message()));
  }
  measure::Prediction prediction = measure::predict(options);
  std::string command = fmt::format("weft predict {} --vary {}", o.machine.machine, o.vary);
  if (!o.out.empty()) {
    write_file(o.out + "/prediction.html", report::prediction_page(prediction, command));
    write_file(o.out + "/prediction.json", report::prediction_json(prediction).dump(1) + "\n");
    fmt::print(stderr, "weft: {}/prediction.html has the plots\n", o.out);
  }
  if (o.json)
    fmt::print("{}\n", report::prediction_json(prediction).dump(1));
  else
    fmt::print("{}", report::prediction_text(prediction));
  return 0;
}

std::function<int()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("--vary", o->vary,
                 "What is varied, and how: message-rate, frequency, latency or bandwidth, and shares of the "
                 "machine's "
                 "own value (70%,80%,90%) or clocks (117MHz,125MHz)")
      .required()
      .option_text("PROPERTY=VALUES");
  app.add_option("--skeleton", o->workload,
                 "What runs: random-access or weather, as in the EXTOLL paper, or a workload of `weft "
                 "replay`. Nothing "
                 "and no program: benchmarks and both of them")
      .option_text("NAME");
  app.add_option("--workload-set", o->workload_settings, "A parameter of the skeleton; may be repeated")
      .option_text("KEY=VALUE")
      .repeatable();
  app.add_option("-n,--ranks", o->ranks, "Ranks of a skeleton or program").option_text("N");
  app.add_option("--per-node", o->per_node, "Ranks of a program on each node")
      .option_text("K [1]")
      .range(1, 1024);
  app.add_option("--engine", o->engine, "How the network is simulated for skeletons and programs")
      .option_text("NAME [flit]");
  app.add_option("--to", o->beyond, "Shares to extrapolate to, such as 200%,400%").option_text("VALUES");
  app.add_option("--seed", o->seed, "Two runs with the same seed are the same").option_text("N [1]");
  app.add_option("--out", o->out, "Folder for prediction.html, with plots, and prediction.json")
      .option_text("DIR");
  app.add_flag("--json", o->json, "Machine-readable: one object");
  app.add_option("command", o->command, "Program and its arguments, after --")
      .option_text("-- PROGRAM [ARGUMENTS...]");
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb, {"predict", "what a faster network would buy a program", 10, declare});

}  // namespace

}  // namespace weft::app
