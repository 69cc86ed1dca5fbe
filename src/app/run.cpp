// `weft run`: ordinary programs on a machine, in virtual time.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>

#include "app/live_view.hpp"
#include "app/rank_program.hpp"
#include "app/run_collectives.hpp"
#include "app/run_disturbance.hpp"
#include "app/run_place.hpp"
#include "app/run_power.hpp"
#include "app/run_storage.hpp"
#include "app/run_watch.hpp"
#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/stopwatch.hpp"
#include "base/version.hpp"
#include "measure/run/collective_table.hpp"
#include "measure/run/monitor.hpp"
#include "measure/run/run_power.hpp"
#include "measure/run/what_if.hpp"
#include "network/joined_network.hpp"
#include "report/monitor_json.hpp"
#include "report/run_answer.hpp"
#include "report/run_gateways.hpp"
#include "report/run_power.hpp"
#include "report/run_report.hpp"
#include "report/run_storage.hpp"
#include "report/run_what_if.hpp"
#include "workload/placement.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

struct Options {
  MachineOptions machine;
  host::RunOptions run;
  std::string engine, cores = "auto", compute, out, trace, otf2, record, noise, fault, collective_fault,
                      monitor, mpi = "auto", windows = "auto", place = "linear", collectives = "software",
                      table;
  std::vector<std::string> slow;
  std::uint64_t trace_megabytes = 1024;
  bool json = false, what_if = false;
  unsigned threads = 1;
  bool quiet = false;
  RunPowerOptions power;
  RunStorageOptions storage;
  WatchPage page;
};

volatile sig_atomic_t interrupts = 0;

void check(const Options& o, const machine::Machine& m) {
  const machine::Description& d = m.description;
  Diagnostics problems;
  std::uint64_t nodes = (std::uint64_t{o.run.ranks} + o.run.per_node - 1) / o.run.per_node;
  if (nodes > m.graph->endpoints())
    problems.add({}, "-n",
                 fmt::format("{} ranks at {} per node need {} nodes; {} has {}", o.run.ranks, o.run.per_node,
                             nodes, d.identity.name, m.graph->endpoints()));
  for (auto [key, value] : {std::pair{"nic.ports", d.nic.ports},
                            {"nic.queue_slots", d.nic.queue_slots},
                            {"nic.message_slots", d.nic.message_slots},
                            {"nic.event_slots", d.nic.event_slots}})
    if (value == 0) problems.add(d.origin(key), key, "is 0: no program can open a port on such an interface");
  if ((!o.record.empty() || o.what_if) && o.collectives != "software")
    problems.add(
        {o.what_if ? "--what-if" : "--record"}, "",
        "a trace is made of messages, and has none of what interfaces run by themselves; record with "
        "--collectives software");
  problems.throw_if_any();
  for (const auto& [option, wanted] : {std::pair{"--what-if", o.what_if},
                                       {"--watch", o.page.on},
                                       {"--monitor", !o.monitor.empty()},
                                       {"--power", o.power.any()}})
    if (wanted) machine::refuse_networks(d, fmt::format("weft run {}", option));
}

void make_folder(const std::string& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", path, failed.message()));
}

/// What a report has only where it was asked for.
struct Extras {
  std::optional<measure::RunPower> power;
  std::optional<measure::WhatIf> what_if;
  std::unique_ptr<measure::Monitor> monitor;
  const network::JoinedNetwork* networks = nullptr;  // where the machine has several

  std::string sections() const {
    return (networks && !networks->gateways().empty() ? report::gateways_section(*networks) : "") +
           (what_if ? report::what_if_section(*what_if) : "") +
           (power ? report::run_power_section(*power) : "");
  }
};

Json result_json(const measure::ProgramResult& result, const RunWatch& watch, const machine::Machine& machine,
                 const Extras& extras) {
  Json out = report::run_json(result, watch.stats(), watch.details(), machine);
  if (!result.run.storage.servers.empty())
    out["storage"] = report::storage_json(result, watch.details(), machine);
  if (extras.networks && !extras.networks->gateways().empty())
    out["gateways"] = report::gateways_json(*extras.networks);
  if (extras.power) out["power"] = report::run_power_json(*extras.power);
  if (extras.what_if) out["what_if"] = report::what_if_json(*extras.what_if);
  if (extras.monitor) out["monitor"] = report::monitor_json(*extras.monitor, *machine.graph);
  return out;
}

void write_results(const std::string& folder, const measure::ProgramResult& result, const RunWatch& watch,
                   const machine::Machine& machine, const Extras& extras) {
  auto write = [&](const std::string& name, const std::string& text) {
    write_file(folder + "/" + name, text);
  };
  write("result.json", result_json(result, watch, machine, extras).dump(1) + "\n");
  write("matrix.csv", report::matrix_csv(watch.stats()));
  write("breakdown.csv", report::breakdown_csv(watch.stats()));
  if (extras.monitor) write("monitor.csv", extras.monitor->csv());
  write("report.html",
        report::run_page(result, watch.stats(), watch.details(), machine,
                         report::storage_section(result, watch.details(), machine) + extras.sections()));
}

/// The command as it could be typed again.
std::string command_line(const Options& o) {
  auto quoted = [](const std::string& text) {
    bool plain = !text.empty() && text.find_first_of(" '\"[](){}*?$&;|<>#\\\n\t") == std::string::npos;
    return plain ? text : fmt::format("'{}'", text);
  };
  std::string out = "weft run " + quoted(o.machine.machine);
  for (const std::string& setting : o.machine.settings) out += " --set " + quoted(setting);
  out += fmt::format(" -n {}", o.run.ranks);
  if (o.run.per_node != 1) out += fmt::format(" --per-node {}", o.run.per_node);
  if (o.place != "linear") out += " --place " + quoted(o.place);
  if (!o.engine.empty()) out += " --engine " + o.engine;
  if (o.collectives != "software") out += " --collectives " + o.collectives;
  if (!o.table.empty()) out += " --table " + quoted(o.table);
  for (const std::string& slow : o.slow) out += " --slow " + quoted(slow);
  if (!o.noise.empty()) out += " --noise " + quoted(o.noise);
  if (!o.fault.empty()) out += " --fault " + quoted(o.fault);
  if (!o.collective_fault.empty()) out += " --collective-fault " + quoted(o.collective_fault);
  if (!o.monitor.empty()) out += " --monitor " + quoted(o.monitor);
  out += o.power.text();
  out += o.storage.text();
  if (o.run.seed != 1) out += fmt::format(" --seed {}", o.run.seed);
  out += " --";
  for (const std::string& word : o.run.command) out += " " + quoted(word);
  return out;
}

std::vector<network::link::FaultEvent> faults_of(const Options& o, const network::EngineKind& engine,
                                                 const machine::Machine& machine) {
  Diagnostics problems;
  for (const auto& [option, script] :
       {std::pair("--fault", &o.fault), std::pair("--collective-fault", &o.collective_fault)})
    if (!script->empty() && !engine.links_fail)
      problems.add({option}, "",
                   fmt::format("nothing breaks in the {} engine; take --engine flit", engine.name));
  problems.throw_if_any();
  if (o.fault.empty()) return {};
  return network::link::read_faults(o.fault, *machine.graph);
}

std::unique_ptr<measure::Monitor> monitor_of(const Options& o, const machine::Machine& machine,
                                             const network::Network& network) {
  if (o.monitor.empty()) return nullptr;
  std::string error;
  const std::optional<std::int64_t> period = parse_quantity(quantity_kind<Time>(), o.monitor, error);
  if (!period || *period <= 0) {
    Diagnostics problems;
    problems.add({"--monitor"}, "", period ? "expected a time longer than 0, such as 100us" : error);
    problems.throw_if_any();
  }
  return std::make_unique<measure::Monitor>(machine, network, Time{*period});
}

std::string real_time_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 72.0 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

/// Says how far a long run has come: after ten seconds where ranks look at their clocks, since they may wait
/// for them to show some time; else after half a minute; then each minute.
class ProgressTeller {
 public:
  explicit ProgressTeller(bool computing_is_free) : computing_is_free_(computing_is_free) {}
  void operator()(const host::Progress& progress) {
    constexpr std::uint64_t kManyReads = 1000;
    double real = since_.seconds();
    bool by_the_clock = progress.clock_reads >= kManyReads;
    if (real < (told_ ? next_ : by_the_clock ? 0 : 29)) return;
    next_ = real + 59;
    double passed = static_cast<double>(progress.now.value) * 1e-12;
    std::string rate =
        passed > 0 ? fmt::format("; a second of it takes about {}", real_time_text(real / passed)) : "";
    fmt::print(stderr, "weft: {:.0f} s: {} of virtual time so far{}\n", real, host::time_text(progress.now),
               rate);
    if (!told_ && by_the_clock && computing_is_free_)
      fmt::print(stderr,
                 "weft: ranks have read their clocks {} times. A program that runs for some seconds by its "
                 "own clock "
                 "needs as much virtual time, and computing takes none of it: --compute measured counts the "
                 "processor's time, --compute fixed a time for each call\n",
                 progress.clock_reads);
    told_ = true;
  }

 private:
  Stopwatch since_;
  bool computing_is_free_, told_ = false;
  double next_ = 0;
};

bool used_no_network(const measure::ProgramResult& result) {
  return std::ranges::all_of(result.nics, [](const nic::Counters& c) { return c.packets_sent == 0; });
}

void summarize(const Options& o, const measure::ProgramResult& result, const std::string& answer,
               const Extras& extras) {
  if (!o.run.mpi && o.run.ranks > 1 && used_no_network(result))
    fmt::print(stderr, "weft: {} is not linked with an MPI library: {} copies of it ran, each for itself\n",
               o.run.command.front(), o.run.ranks);
  if (o.collectives != "software")
    for (const std::string& line : measure::collectives_in_words(result.run.mpi.collectives))
      fmt::print(stderr, "weft: {}\n", line);
  fmt::print(stderr, "weft: {} on {} ({} engine): {} of virtual time\n", count_of(o.run.ranks, "rank"),
             result.machine, result.engine, host::time_text(result.run.end));
  if (!answer.empty()) fmt::print(stderr, "weft: {}\n", answer);
  for (const std::string& line : report::storage_lines(result.run.storage))
    fmt::print(stderr, "weft: {}\n", line);
  if (extras.what_if)
    for (const std::string& line : report::what_if_lines(*extras.what_if))
      fmt::print(stderr, "weft: {}\n", line);
  if (extras.power) fmt::print(stderr, "weft: {}\n", report::run_power_text(*extras.power));
}

void end_when_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
}

void simulate(const Options& o, const machine::Machine& machine, network::Network& network,
              measure::JobHeat* heat, RunWatch& watch, LiveRun* page, measure::Monitor* monitor,
              measure::ProgramResult& result) {
  host::Simulation simulation(machine, network, o.run);
  if (monitor) simulation.fabric().watch(monitor->first(), [=](Time now) { return monitor->read(now); });
  if (heat) simulation.follow(*heat);
  constexpr auto kInterrupted = +[] { return interrupts != 0; };
  simulation.interrupted = kInterrupted;
  if (page) simulation.interrupted = [&] { return page->look(simulation, kInterrupted) || kInterrupted(); };
  if (!o.quiet)
    simulation.on_progress = ProgressTeller(machine.description.host.compute == machine::Compute::None);
  watch.attach(simulation);
  if (page) page->attach(simulation);
  const Stopwatch start;
  result.run = simulation.run();
  result.wall_seconds = start.seconds();
  for (nic::NicId i = 0; i < simulation.fabric().nics(); ++i) {
    result.nics.push_back(simulation.fabric().counters(i));
    result.nodes.push_back(simulation.fabric().node(i));
  }
  if (page) page->end(simulation);
  watch.finish(simulation, result.run, machine);
  result.incidents = network.incidents();
}

int run(Options& o) {
  if (!o.compute.empty()) o.machine.settings.push_back("host.compute=" + o.compute);
  machine::Machine machine = machine::build(o.machine.describe());
  check(o, machine);
  read_disturbance(o.slow, o.noise, o.run);
  if (const std::string note = o.storage.apply(o.run.storage, machine.description.storage);
      !note.empty() && !o.quiet)
    fmt::print(stderr, "weft: {}\n", note);
  o.run.place = place_ranks(machine, o.run.ranks, o.run.per_node, o.place, o.run.seed);
  const std::unique_ptr<measure::JobHeat> heat = heat_of_job(o.power, machine, o.run);
  const network::EngineKind& engine = engine_named(o.engine);
  auto network = network::make_network(
      engine, machine, {o.run.seed, o.threads, faults_of(o, engine, machine)}, o.collective_fault);
  o.run.library = library_path();
  choose_collectives(machine, *network, o.collectives, o.table, o.run);
  o.run.cores = o.cores == "one" ? host::Cores::One : o.cores == "all" ? host::Cores::All : host::Cores::Auto;
  o.run.mpi = wants_mpi(
      o.run.command, o.mpi,
      fmt::format("weft run {} -n {} -- ./your_program", o.machine.machine, std::max(o.run.ranks, 2u)));
  o.run.mpi_windows = o.windows == "auto"   ? host::MpiWindows::Auto
                      : o.windows == "rdma" ? host::MpiWindows::Rdma
                                            : host::MpiWindows::Messages;
  if (host::has_other_rights(host::find_program(o.run.command.front())))
    fmt::print(stderr, "weft: {} has rights of its owner (setuid or alike); ranks run without them\n",
               o.run.command.front());
  end_when_interrupted();
  if (o.json && o.run.output.folder.empty()) o.run.output.to_error = true;
  if (!o.out.empty()) make_folder(o.out);
  RunWatch watch(o.run.ranks, {.figures = !o.out.empty() || o.json || heat,
                               .what_if = o.what_if,
                               .trace = o.trace,
                               .record = o.record,
                               .otf2 = o.otf2,
                               .trace_size = std::min<std::uint64_t>(o.trace_megabytes, 1 << 20) << 20});
  o.run.log_calls = watch.wants_calls();
  measure::ProgramResult result;
  std::optional<LiveRun> page;
  result.command = command_line(o);
  if (o.page.on)
    page.emplace(o.page, machine, engine, *network, live::PageText{"run", result.command, o.run.ranks},
                 time_of_earlier_run(o.out, result.command));
  Extras extras;
  extras.monitor = monitor_of(o, machine, *network);
  extras.networks = dynamic_cast<const network::JoinedNetwork*>(network.get());
  simulate(o, machine, *network, heat.get(), watch, page ? &*page : nullptr, extras.monitor.get(), result);
  result.version = version();
  result.machine = machine.description.identity.name;
  result.engine = engine.name;
  result.seed = o.run.seed;
  if (heat) extras.power = measure::power_of(result, watch.details(), machine, heat->result());
  if (const workload::Program* recording = o.what_if ? watch.recording() : nullptr)
    extras.what_if = measure::what_if(machine, *recording,
                                      {engine.name, o.run.seed, o.threads, o.run.place, o.run.per_node});
  if (!o.out.empty()) write_results(o.out, result, watch, machine, extras);
  if (o.json) fmt::print("{}\n", result_json(result, watch, machine, extras).dump(1));
  // What broke may be why a run failed: it is told first.
  if (!o.quiet)
    for (const network::Network::Incident& incident : result.incidents)
      fmt::print(stderr, "weft: at {} {}\n", host::time_text(incident.at), incident.what);
  if (!o.quiet && extras.monitor)
    for (const measure::Monitor::Alarm& alarm : extras.monitor->alarms())
      fmt::print(stderr, "weft: {}\n", extras.monitor->in_words(alarm));
  if (!result.run.fine) {
    fmt::print(stderr, "weft: {}\n", result.run.failure);
    for (const std::string& line : result.run.details) fmt::print(stderr, "  {}\n", line);
    return 1;
  }
  if (!o.quiet) summarize(o, result, report::answer_text(watch.details().answer, machine), extras);
  return 0;
}

void declare_output(CommandLine& app, Options& o) {
  app.add_flag("--label", o.run.output.label, "Each line of output begins with its rank");
  app.add_option("--output", o.run.output.folder, "Folder for the output: rank-N.out and rank-N.err")
      .option_text("DIR");
  app.add_option(
         "--fault", o.fault,
         "What breaks during the run, and when: \"at 3us cut r12.p3; at 8us restore r12.p3\", as for `weft "
         "traffic`; or a file with such statements")
      .option_text("SCRIPT");
  app.add_option(
         "--collective-fault", o.collective_fault,
         "The same of the network for collectives ([collective_network]), whose routers and cables have "
         "numbers of their own")
      .option_text("SCRIPT");
  app.add_option(
         "--monitor", o.monitor,
         "Read the monitors of all routers over the management network, a round every TIME of virtual time: "
         "cables that fail are located, and with --out monitor.csv has what was read")
      .option_text("TIME");
  app.add_option("--seed", o.run.seed, "Two runs with the same seed are the same").option_text("N [1]");
  app.add_option("--threads", o.threads, "Threads of the flit engine, others take one; results are the same")
      .option_text("N [1]")
      .range(1, 1024);
  app.add_option("--out", o.out, "Folder for the results: report.html, result.json and tables (CSV)")
      .option_text("DIR");
  app.add_option(
         "--trace", o.trace,
         "File for a trace that opens in ui.perfetto.dev: calls of MPI, waits, operations with arrows, links")
      .option_text("FILE");
  app.add_option("--trace-size", o.trace_megabytes, "MiB at most of that file; what comes later is left out")
      .option_text("N [1024]")
      .positive();
  app.add_option("--otf2", o.otf2,
                 "Folder for an archive of the Open Trace Format 2, which Vampir and Scalasca read: calls of "
                 "MPI and what crossed the network")
      .option_text("DIR");
  app.add_option("--record", o.record,
                 "File for a .weftrace of the run's traffic, which `weft replay` runs again")
      .option_text("FILE");
  app.add_flag("--what-if", o.what_if,
               "Run the recorded traffic again with ranks that compute alike, with messages that are in "
               "nobody's way, and "
               "with other placements, and say what each would give");
  o.page.declare(app);
  o.power.declare(app);
  o.storage.declare(app);
  app.add_flag("--json", o.json, "Print result.json; what ranks print goes to standard error");
  app.add_flag("--quiet", o.quiet, "No summary at the end");
}

std::function<int()> declare_run(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("-n,--ranks", o->run.ranks, "Processes to start").option_text("N [1]").range(1, 16'384);
  app.add_option("--per-node", o->run.per_node, "Processes on each node").option_text("K [1]").range(1, 1024);
  std::vector<std::string> places;
  for (const auto& kind : workload::placement_kinds())
    places.push_back(fmt::format("{}: {}", kind.name, kind.about));
  app.add_option("--place", o->place,
                 "Nodes of the ranks: 0,4,8-11; of a machine of several networks by their names: "
                 "cluster:4,booster:4; or " +
                     join(places, "; "))
      .option_text("NODES [linear]");
  std::vector<std::string> engines;
  for (const auto& [name, kind] : config::Registry<network::EngineKind>::all())
    engines.push_back(fmt::format("{}: {}", name, kind.about));
  app.add_option("--engine", o->engine, "How the network is simulated. " + join(engines, "; "))
      .option_text("NAME [flit]");
  app.add_option("--compute", o->compute,
                 "Time of computing between calls: none, measured or fixed (host.compute)")
      .option_text("HOW");
  app.add_option(
         "--cores", o->cores,
         "Cores for simulator and ranks: one is fastest where ranks wait for each other, all where they "
         "compute; auto: one unless computing is measured. Results are the same")
      .option_text("one|all|auto [auto]")
      .one_of({"one", "all", "auto"});
  app.add_option(
         "--mpi", o->mpi,
         "Whether the program is one of MPI; auto: if it is linked with an MPI library, or is a script")
      .option_text("yes|no|auto [auto]")
      .one_of({"yes", "no", "auto"});
  app.add_option(
         "--windows", o->windows,
         "How one-sided operations of an Open MPI program travel: as messages, which the target's processor "
         "must take, or by the interface's own puts, gets and atomics; auto: as messages, unless the program "
         "asks for MPI_THREAD_MULTIPLE, which Open MPI's messages cannot serve")
      .option_text("messages|rdma|auto [auto]")
      .one_of({"messages", "rdma", "auto"});
  declare_collectives(app, o->collectives, o->table);
  app.add_option("--slow", o->slow,
                 "A rank, or several, whose own work takes longer: rank=3:1.5; may be repeated")
      .option_text("rank=R:FACTOR")
      .repeatable();
  app.add_option(
         "--noise", o->noise,
         "Interruptions of every rank's processor: how long and how far apart on average, such as 10us@1ms; "
         "both are drawn for each rank from the seed")
      .option_text("LENGTH@INTERVAL");
  declare_output(app, *o);
  app.add_option("command", o->run.command, "Program and its arguments; -- before it may be left out")
      .required()
      .option_text("-- PROGRAM [ARGUMENTS...]");
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb, {"run", "run ordinary programs on a machine, in virtual time", 6, declare_run, true});

}  // namespace

}  // namespace weft::app
