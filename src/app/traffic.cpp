// `weft traffic`: synthetic traffic over a range of loads, with tables and a report.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>

#include "app/live_view.hpp"
#include "app/load_list.hpp"
#include "app/ranks.hpp"
#include "app/traffic_table.hpp"
#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "machine/networks.hpp"
#include "measure/traffic/sweep.hpp"
#include "report/traffic_csv.hpp"
#include "report/traffic_json.hpp"
#include "report/traffic_report.hpp"

namespace weft::app {

namespace {

using measure::TrafficPoint;
using measure::TrafficResult;
namespace fs = std::filesystem;

struct Options {
  MachineOptions machine;
  workload::WorkloadText workload;
  std::string load;
  std::uint64_t batch = 0, seed = 1;
  unsigned message_class = 0, threads = 1;
  std::string fault, engine = network::kReferenceEngine;
  std::uint64_t age_limit = 1'000'000;
  std::string out;
  bool json = false, until_full = false;
  WatchPage page;
};

std::atomic<bool> interrupted{false};

/// The first Ctrl-C asks the sweep to end; a second one ends the program at once.
class InterruptWatch {
 public:
  InterruptWatch() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptWatch() { sigaction(SIGINT, &before_, nullptr); }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  struct sigaction before_ {};
};

/// On a terminal one line that moves on; elsewhere a line for each point.
class Progress {
 public:
  explicit Progress(std::size_t points) : points_(points) { draw(0); }
  ~Progress() {
    if (on_terminal_) fmt::print(stderr, "\r{:78}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void point(const TrafficPoint& p, std::size_t done) {
    if (on_terminal_) return draw(done);
    fmt::print(stderr, "point {} of {}: load {}, {}, {:.1f} s\n", done, points_, p.offered, outcome(p),
               p.seconds);
  }

 private:
  static std::string outcome(const TrafficPoint& p) {
    if (p.stalled) return "STALLED";
    if (!p.unmeasured.empty()) return "not measured: " + p.unmeasured;
    return p.saturated
               ? fmt::format("saturated, accepted {:.4f}", p.accepted)
               : fmt::format("accepted {:.4f}, mean latency {:.1f} cycles", p.accepted, p.packet.mean);
  }

  void draw(std::size_t done) {
    if (!on_terminal_) return;
    constexpr std::size_t kWidth = 30;
    std::size_t filled = kWidth * done / points_;
    double elapsed = start_.seconds();
    std::string left =
        done == 0 ? ""
                  : fmt::format(", about {:.0f} s left",
                                elapsed * static_cast<double>(points_ - done) / static_cast<double>(done));
    fmt::print(stderr, "\r[{}{}] {} of {} points{:<24}", std::string(filled, '#'),
               std::string(kWidth - filled, '.'), done, points_, left);
    std::fflush(stderr);
  }

  std::size_t points_;
  bool on_terminal_ = isatty(STDERR_FILENO) == 1;
  Stopwatch start_;
};

/// The folder for the results: the one asked for, or a new one here.
std::string make_folder(const Options& options, const std::string& machine) {
  std::string name = options.out;
  if (name.empty()) {
    std::string stem = fmt::format("weft-traffic-{}-{}", machine, options.workload.pattern);
    for (char& c : stem)
      if (c == '/' || c == ' ') c = '-';
    name = stem;
    for (unsigned i = 2; fs::exists(name); ++i) name = fmt::format("{}-{}", stem, i);
  }
  std::error_code failed;
  fs::create_directories(name, failed);
  if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", name, failed.message()));
  return name;
}

/// A million links make a gigabyte of text: it is written as it is made.
void write_json(const std::string& path, const Json& json) {
  OutputFile file(path);
  json.dump_to([&](std::string_view text) { file.write(text); }, 1);
  file.write("\n");
  file.close();
}

void write_results(const TrafficResult& result, const machine::Machine& machine, const std::string& folder,
                   const Json& json) {
  write_json(folder + "/result.json", json);
  write_file(folder + "/points.csv", report::points_csv(result));
  OutputFile links(folder + "/links.csv");
  report::links_csv(result, machine, [&](std::string_view text) { links.write(text); });
  links.close();
  write_file(folder + "/histogram.csv", report::histogram_csv(result));
  report::write_traffic_report(result, machine, folder + "/report.html");
}

/// The command as it could be typed again.
std::string command_line(const Options& o) {
  std::string out = "weft traffic " + o.machine.machine;
  auto add = [&](const std::string& name, const std::string& value) {
    bool plain = value.find_first_of(" '\"[](){}*?$&;|<>#\\") == std::string::npos;
    out += plain ? fmt::format(" --{} {}", name, value) : fmt::format(" --{} '{}'", name, value);
  };
  for (const std::string& setting : o.machine.settings) add("set", setting);
  add("pattern", o.workload.pattern);
  for (const std::string& setting : o.workload.pattern_settings) add("pattern-set", setting);
  add("source", o.workload.source);
  for (const std::string& setting : o.workload.source_settings) add("source-set", setting);
  add("packet", o.workload.packet);
  add("load", o.load);
  if (o.batch) add("batch", std::to_string(o.batch));
  if (o.message_class) add("message-class", std::to_string(o.message_class));
  add("seed", std::to_string(o.seed));
  if (!o.fault.empty()) add("fault", o.fault);
  if (o.until_full) out += " --until-full";
  if (o.engine != network::kReferenceEngine) add("engine", o.engine);
  return out;
}

/// Before anything is written: an engine that cannot run this says so.
void check_engine(const Options& options, const machine::Machine& machine, unsigned largest_packet_flits) {
  const network::CycleEngineKind& engine = network::cycle_engine(options.engine);
  if (!options.fault.empty() && !engine.links_fail)
    throw UserError(fmt::format("--fault: the engine {} has no cables that can fail; --engine {} has",
                                engine.name, network::kReferenceEngine));
  engine.facts(machine, largest_packet_flits);
  if (options.page.on && ranks())
    throw UserError("--watch: a page shows one process; leave out mpirun, or --watch");
}

int traffic(Options options) {
  if (options.load.empty()) options.load = options.batch ? "1" : "0.1:1:0.1";
  measure::SweepOptions how;
  how.loads = parse_loads(options.load);
  how.threads = options.threads ? options.threads : default_threads();
  how.ranks = ranks();
  how.age_limit = options.age_limit;
  how.until_full = options.until_full;
  how.engine = options.engine;
  how.interrupted = &interrupted;
  workload::Workload workload = workload::read_workload(options.workload);
  workload.batch = options.batch;
  workload.seed = options.seed;
  workload.message_class = static_cast<std::uint8_t>(options.message_class);
  machine::Machine machine = machine::build(options.machine.describe());
  machine::refuse_networks(machine.description, "weft traffic");
  check_engine(options, machine, workload.sizes.largest());
  if (!options.fault.empty()) how.faults = network::link::read_faults(options.fault, *machine.graph);
  std::string folder = speaks() ? make_folder(options, machine.description.identity.name) : "";

  TrafficResult result;
  {
    InterruptWatch watch;
    Progress progress(how.loads.size());
    std::optional<LiveTraffic> page;
    if (options.page.on)
      page.emplace(options.page, machine,
                   network::cycle_engine(options.engine).facts(machine, workload.sizes.largest()),
                   live::PageText{"traffic", command_line(options), 0, how.loads}, interrupted);
    how.viewer = page ? &*page : nullptr;
    how.progress = [&](const TrafficPoint& point, std::size_t done) {
      progress.point(point, done);
      if (page) page->done(point, done);
    };
    result = measure::sweep(machine, workload, how);
    if (page) page->end();
  }
  bool stalled =
      std::any_of(result.points.begin(), result.points.end(), [](const auto& p) { return p.stalled; });
  const int code = stalled || result.interrupted ? 1 : 0;
  if (!speaks()) return code;
  result.command = command_line(options);
  const Json json = report::traffic_json(result, machine);
  write_results(result, machine, folder, json);
  if (options.json) {
    json.dump_to([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }, 1);
    fmt::print("\n");
  } else {
    fmt::print("{}", traffic_table(result, machine));
  }
  if (!options.json) fmt::print("results in {}: report.html, result.json and tables (CSV)\n", folder);
  if (result.interrupted)
    fmt::print(stderr, "interrupted: {} of {} kept\n", result.points.size(),
               count_of(how.loads.size(), "point"));
  return code;
}

template <class Kind>
std::string kinds_text(const std::string& heading) {
  std::string out = heading + ":\n";
  for (const auto& [name, kind] : config::Registry<Kind>::all()) {
    out += fmt::format("  {:<15} {}\n", name, wrap(kind.about, 90, 18));
    for (const config::Field& field : kind.section.fields)
      out += fmt::format("  {:<15}   {}: {}\n", "", field.name,
                         wrap(fmt::format("{} ({})", field.help,
                                          field.required ? "must be given" : "default " + field.default_text),
                              88, 22));
  }
  return out;
}

std::string engines_text() {
  std::string out = "Engines:\n";
  for (const auto& [name, kind] : config::Registry<network::CycleEngineKind>::all())
    out += fmt::format("  {:<15} {}\n", name, wrap(kind.about, 90, 18));
  return out;
}

std::function<int()> declare_traffic(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  auto repeated = [&](const char* name, std::vector<std::string>& to, const char* help) {
    app.add_option(name, to, help).option_text("KEY=VALUE").repeatable();
  };
  app.add_option("--pattern", o->workload.pattern, "Who sends to whom; see below")
      .option_text("NAME [uniform]");
  repeated("--pattern-set", o->workload.pattern_settings, "A parameter of the pattern; may be repeated");
  app.add_option("--load", o->load,
                 "Flits per endpoint and cycle: 0.3, first:last:step, or a list. Default: 0.1:1:0.1, and 1 "
                 "with --batch")
      .option_text("LOADS");
  app.add_option("--packet", o->workload.packet,
                 "Flits of a packet: 8, or a mix such as 1:0.5,8:0.5 (flits:weight)")
      .option_text("FLITS [1]");
  app.add_option("--source", o->workload.source, "When packets are made; see below")
      .option_text("NAME [bernoulli]");
  repeated("--source-set", o->workload.source_settings, "A parameter of the source; may be repeated");
  app.add_option("--batch", o->batch,
                 "Packets each endpoint sends in all; the run ends when they have arrived")
      .option_text("N")
      .positive();
  app.add_option("--message-class", o->message_class, "Message class of the packets")
      .option_text("N [0]")
      .range(0, 15);
  app.add_option(
         "--fault", o->fault,
         "What breaks during the run, and when: \"at 3us cut r12.p3; at 5us kill router 7; at 8us restore "
         "r12.p3\", also lane, flip and stall; or a file with such statements")
      .option_text("SCRIPT");
  app.add_option("--seed", o->seed, "Two runs with the same seed are the same").option_text("N [1]");
  app.add_option(
         "--age-limit", o->age_limit,
         "Cycles a packet may be in the network before the run ends and says what it waits for; 0: any time")
      .option_text("CYCLES [1000000]");
  app.add_flag("--until-full", o->until_full,
               "Past saturation, measure only once the network's buffers are full, however long that takes");
  app.add_option("--engine", o->engine, "What runs the network; see below. Results are the same")
      .option_text("NAME [flit]");
  app.add_option("--threads", o->threads,
                 "Threads of each engine; 0: the cores there are. With 1, loads run in parallel instead. "
                 "Results are the same")
      .option_text("N [1]")
      .range(0, 1024);
  app.add_option("--out", o->out, "Folder for the results; default: a new one, weft-traffic-MACHINE-PATTERN")
      .option_text("DIR");
  o->page.declare(app);
  app.add_flag("--json", o->json, "Print result.json instead of the table");
  app.footer("\n" + kinds_text<workload::PatternKind>("Patterns") + "\n" +
             kinds_text<workload::SourceKind>("Sources") + "\n" + engines_text());
  return [o] { return traffic(*o); };
}

WEFT_REGISTER(Verb,
              {"traffic", "run synthetic traffic over a range of loads: latency, throughput, where it jams",
               5, declare_traffic, false, true});

}  // namespace

}  // namespace weft::app
