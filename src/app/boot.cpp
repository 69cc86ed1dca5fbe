// `weft boot`: Linux nodes on a machine, in virtual time.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>

#include "app/boot_accelerators.hpp"
#include "app/rank_program.hpp"
#include "app/run_place.hpp"
#include "app/run_storage.hpp"
#include "app/show_pcie.hpp"
#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/own_files.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "guest/cluster.hpp"
#include "guest/control.hpp"
#include "guest/pcapng.hpp"
#include "guest/traffic.hpp"
#include "host/call_log.hpp"
#include "host/simulation.hpp"
#include "machine/networks.hpp"
#include "report/boot_report.hpp"
#include "report/trace.hpp"
#include "workload/placement.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEthernetSetting = "node.device.eth0.kind=ethernet";

struct Options {
  MachineOptions machine;
  guest::BootOptions boot;
  unsigned nodes = 2, threads = 1, storm = 0;
  std::string engine, place = "linear", fault, out, trace, memory = "64MiB", kernel, capture, shell;
  std::string accelerators, accelerator_script, tlp_filter;
  std::size_t added_settings = 0;  // of o.machine, which nobody has typed
  bool quiet = false, every_step = false;
  // Ranks beside the nodes.
  host::RunOptions run;
  std::string program, mpi = "auto", ranks_place;
  RunStorageOptions storage;
};

volatile sig_atomic_t interrupts = 0;

/// Runs a command whose standard output is one line; empty where it fails.
std::string line_of(const std::string& command, int& code) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw UserError(fmt::format("{}: cannot be run", command));
  char room[4096];
  while (std::fgets(room, sizeof room, pipe)) out += room;
  const int status = pclose(pipe);
  code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return code == 0 ? out : "";
}

/// The kernel; built where it is missing, which takes some minutes once.
std::string find_kernel(const Options& o) {
  if (!o.kernel.empty()) {
    if (access(o.kernel.c_str(), X_OK) != 0)
      throw UserError(fmt::format("--kernel {}: there is no such program", o.kernel));
    return fs::absolute(o.kernel).string();
  }
  const fs::path tool = own_data("tools/build-linux");
  if (tool.empty() || access(tool.c_str(), X_OK) != 0)
    throw UserError(
        "tools/build-linux, which builds the kernel of Linux nodes, is not there; --kernel names one");
  int code = 0;
  std::string kernel = line_of(fmt::format("'{}'", tool.string()), code);
  if (kernel.empty())
    throw UserError("there is no kernel for Linux nodes, and it cannot be built here; see above");
  return kernel;
}

std::string find_init() {
  const fs::path init = own_file("weft-init");
  if (access(init.c_str(), X_OK) != 0)
    throw UserError(fmt::format("{}: what Linux nodes start first is not there", init.string()));
  return init.string();
}

/// The job as nodes find it: their folders are the host's.
void find_job(std::vector<std::string>& command, Diagnostics& problems) {
  std::string& program = command.front();
  if (program.find('/') == std::string::npos) {
    const char* path = std::getenv("PATH");
    for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':'))
      if (access((folder + "/" + program).c_str(), X_OK) == 0) return;
    problems.add({}, program, "there is no such program on the PATH");
    return;
  }
  std::error_code failed;
  if (!fs::exists(program, failed)) {
    problems.add({}, program, "there is no such file");
  } else if (fs::is_directory(program, failed) || access(program.c_str(), X_OK) != 0) {
    problems.add({}, program, "cannot be executed; chmod +x makes a script so");
  } else {
    program = fs::absolute(program).string();
  }
}

std::optional<std::size_t> node_number(const std::string& text, unsigned nodes) {
  const bool number =
      !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!number || std::stoul(text) >= nodes) return std::nullopt;
  return std::stoul(text);
}

std::vector<std::size_t> captured_nodes(const Options& o, Diagnostics& problems) {
  std::vector<std::size_t> out;
  if (o.capture.empty()) return out;
  if (o.out.empty()) problems.add({}, "--capture", "needs --out, the folder that captures are written into");
  if (o.capture == "all") {
    for (unsigned i = 0; i < o.nodes; ++i) out.push_back(i);
    return out;
  }
  for (const std::string& part : split(o.capture, ',')) {
    if (std::optional<std::size_t> node = node_number(part, o.nodes)) {
      out.push_back(*node);
    } else {
      problems.add({}, "--capture", fmt::format("'{}' is no node: 0 to {}, or all", part, o.nodes - 1));
    }
  }
  return out;
}

void check(Options& o, const machine::Machine& machine, Diagnostics& problems) {
  if (o.nodes > machine.graph->endpoints())
    problems.add({}, "-n",
                 fmt::format("{} Linux nodes; {} has {}", o.nodes, machine.description.identity.name,
                             machine.graph->endpoints()));
  std::string error;
  auto memory = parse_quantity(quantity_kind<DataSize>(), o.memory, error);
  if (memory && *memory >= 16 << 20 && *memory <= 2ll << 30) {
    o.boot.memory = {*memory};
  } else {
    problems.add({}, "--memory", fmt::format("'{}': expected a size from 16MiB to 2GiB", o.memory));
  }
  if (!o.boot.image.empty() && !o.boot.netboot) problems.add({}, "--image", "needs --netboot");
  if (o.boot.netboot && o.nodes < 2)
    problems.add({}, "--netboot", "needs -n 2 or more: the first node serves");
  if (!o.shell.empty()) {
    o.boot.shell = node_number(o.shell, o.nodes);
    if (!o.boot.shell)
      problems.add({}, "--shell", fmt::format("'{}' is no node: 0 to {}", o.shell, o.nodes - 1));
  }
  if (!o.boot.command.empty()) {
    find_job(o.boot.command, problems);
  } else if (!o.shell.empty()) {
    o.boot.command = guest::Cluster::waiting_command();
  } else {
    problems.add({}, "-- SCRIPT", "what every node runs is missing; --shell 0 needs none");
  }
}

void check_ranks(Options& o, const machine::Machine& machine, Diagnostics& problems) {
  if (o.run.ranks == 0) {
    if (!o.program.empty()) problems.add({}, "--program", "needs --ranks, how many processes run it");
    if (!o.ranks_place.empty()) problems.add({}, "--ranks-place", "needs --ranks and --program");
    return;
  }
  o.run.command = words_of(o.program);
  if (o.run.command.empty())
    problems.add({}, "--ranks", "needs --program, what they run: --program './program arguments'");
  const std::uint64_t needed = (std::uint64_t{o.run.ranks} + o.run.per_node - 1) / o.run.per_node;
  if (o.nodes + needed > machine.graph->endpoints())
    problems.add({}, "--ranks",
                 fmt::format("{} at {} per node need {} beside {}; {} has {}", count_of(o.run.ranks, "rank"),
                             o.run.per_node, count_of(needed, "node"), count_of(o.nodes, "Linux node"),
                             machine.description.identity.name, machine.graph->endpoints()));
  if (!o.shell.empty())
    problems.add({}, "--shell", "waits for its user, and ranks do not: leave out --ranks");
}

void check_storm(const Options& o, const machine::Machine& machine, Diagnostics& problems) {
  if (!o.storm) return;
  if (!o.boot.netboot) problems.add({}, "--storm", "needs --netboot: it is over the network that nodes boot");
  if (o.storm < o.nodes)
    problems.add(
        {}, "--storm",
        fmt::format("{} boot as Linux nodes already (-n {}, less the one that serves); expected more",
                    o.nodes - 1, o.nodes));
  if (std::uint64_t{o.storm} + 1 > machine.graph->endpoints())
    problems.add({}, "--storm",
                 fmt::format("{} and the one that serves; {} has {}", count_of(o.storm, "node"),
                             machine.description.identity.name, machine.graph->endpoints()));
  if (o.run.ranks) problems.add({}, "--storm", "leaves no node for --ranks");
}

/// Nodes without a kernel that boot by a recording: the first that are left.
std::vector<network::EndpointId> skeleton_places(const Options& o, const machine::Machine& machine) {
  std::vector<network::EndpointId> out;
  for (network::EndpointId node = 0; node < machine.graph->endpoints(); ++node)
    if (out.size() + o.nodes <= o.storm &&
        !machine.faults->router_dead(machine.graph->endpoint_router(node)) &&
        std::find(o.boot.place.begin(), o.boot.place.end(), node) == o.boot.place.end())
      out.push_back(node);
  if (out.size() + o.nodes <= o.storm)
    throw UserError(fmt::format("--storm {}: too few nodes of the machine are left", o.storm));
  return out;
}

/// Ranks are where no kernel is: on the first nodes that are left, or where they are told to be.
std::vector<network::EndpointId> rank_places(const Options& o, const machine::Machine& machine) {
  auto booted = [&](network::EndpointId node) {
    return std::find(o.boot.place.begin(), o.boot.place.end(), node) != o.boot.place.end();
  };
  std::vector<network::EndpointId> out;
  if (!o.ranks_place.empty()) {
    out = place_ranks(machine, o.run.ranks, o.run.per_node, o.ranks_place, o.boot.seed);
    for (network::EndpointId node : out)
      if (booted(node))
        throw UserError(fmt::format("--ranks-place {}: node {} of the machine runs Linux (--place)",
                                    o.ranks_place, node));
    return out;
  }
  for (network::EndpointId node = 0; node < machine.graph->endpoints(); ++node) {
    if (booted(node) || machine.faults->router_dead(machine.graph->endpoint_router(node))) continue;
    for (unsigned i = 0; i < o.run.per_node && out.size() < o.run.ranks; ++i) out.push_back(node);
  }
  if (out.size() < o.run.ranks)
    throw UserError(fmt::format("--ranks {}: too few nodes of the machine are left", o.run.ranks));
  return out;
}

void check_places(const Options& o) {
  std::vector<network::EndpointId> sorted = o.boot.place;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw UserError(fmt::format(
        "--place {}: node {} of the machine is named twice; a kernel needs one of its own", o.place, *twice));
}

std::vector<network::link::FaultEvent> faults_of(const Options& o, const network::EngineKind& engine,
                                                 const machine::Machine& machine) {
  if (o.fault.empty()) return {};
  if (!engine.links_fail)
    throw UserError(fmt::format("--fault: nothing breaks in the {} engine; take --engine flit", engine.name));
  return network::link::read_faults(o.fault, *machine.graph);
}

int worst_code(const guest::BootResult& result, const host::RunResult& ranks) {
  int worst = result.failure.empty() && ranks.failure.empty() ? 0 : 1;
  for (const guest::NodeResult& node : result.nodes)
    worst = std::max(worst, node.failure.empty() ? node.code : std::max(node.code, 1));
  return worst;
}

void tell_failures(const guest::BootResult& result, const host::RunResult& ranks) {
  if (!ranks.failure.empty()) fmt::print(stderr, "weft: {}\n", ranks.failure);
  for (const std::string& line : ranks.details) fmt::print(stderr, "  {}\n", line);
  if (!result.failure.empty()) fmt::print(stderr, "weft: {}\n", result.failure);
  for (const guest::NodeResult& node : result.nodes) {
    if (node.failure.empty()) continue;
    fmt::print(stderr, "weft: {}: {}; the last lines of its console:\n", node.name, node.failure);
    for (const std::string& line : node.last_lines) fmt::print(stderr, "  {}\n", line);
  }
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
}

/// The command as it could be typed again.
std::string command_line(const Options& o) {
  auto quoted = [](const std::string& text) {
    bool plain = !text.empty() && text.find_first_of(" '\"[](){}*?$&;|<>#\\\n\t") == std::string::npos;
    return plain ? text : fmt::format("'{}'", text);
  };
  std::string out = "weft boot " + quoted(o.machine.machine);
  for (std::size_t i = o.added_settings; i < o.machine.settings.size(); ++i)
    out += " --set " + quoted(o.machine.settings[i]);
  out += fmt::format(" -n {}", o.nodes);
  if (o.place != "linear") out += " --place " + quoted(o.place);
  if (!o.engine.empty()) out += " --engine " + o.engine;
  if (!o.fault.empty()) out += " --fault " + quoted(o.fault);
  if (o.memory != "64MiB") out += " --memory " + quoted(o.memory);
  if (o.boot.seed != 1) out += fmt::format(" --seed {}", o.boot.seed);
  if (!o.capture.empty()) out += " --capture " + o.capture;
  if (o.boot.netboot) out += " --netboot";
  if (!o.boot.image.empty()) out += " --image " + quoted(o.boot.image);
  if (!o.accelerators.empty()) out += " --accelerators " + quoted(o.accelerators);
  if (!o.accelerator_script.empty()) out += " --accelerator-script " + quoted(o.accelerator_script);
  if (o.storm) out += fmt::format(" --storm {}", o.storm);
  if (o.run.ranks) out += fmt::format(" --ranks {} --program {}", o.run.ranks, quoted(o.program));
  if (o.run.per_node != 1) out += fmt::format(" --per-node {}", o.run.per_node);
  if (!o.ranks_place.empty()) out += " --ranks-place " + o.ranks_place;
  out += o.storage.text();
  out += " --";
  for (const std::string& word : o.boot.command) out += " " + quoted(word);
  return out;
}

/// What is kept of the frames of a run: sums, captures, a trace.
class Watch {
 public:
  Watch(const Options& o, const std::vector<std::size_t>& captured) : traffic_(o.nodes), captures_(o.nodes) {
    for (std::size_t i : captured) {
      const std::string name = guest::node_name(i);
      captures_[i] =
          std::make_unique<guest::Capture>(fmt::format("{}/{}.pcapng", o.out, name), name, o.boot.date);
    }
    if (o.trace.empty()) return;
    trace_.emplace(o.trace);
    for (unsigned i = 0; i < o.nodes; ++i) trace_->node(i, guest::node_name(i));
  }

  void frame(std::size_t node, bool sent, Time at, std::span<const std::uint8_t> frame) {
    if (sent) traffic_.sent(node, at, frame);
    if (captures_[node]) captures_[node]->add(sent, at, frame);
    if (trace_) trace_->frame(static_cast<std::uint32_t>(node), sent, at, guest::describe_frame(frame));
  }

  void finish(const guest::BootResult& result) {
    for (auto& capture : captures_)
      if (capture) capture->close();
    if (!trace_) return;
    for (std::uint32_t i = 0; i < result.nodes.size(); ++i) {
      const guest::NodeResult& node = result.nodes[i];
      const Time up = node.network_up.value ? node.network_up : node.end;
      trace_->wait(i, 2, {0}, up, "boots");
      trace_->wait(i, 2, up, node.end, "up");
    }
    trace_->finish();
    if (trace_->left_out())
      fmt::print(stderr, "weft: the trace is full; {} are not in it\n",
                 count_of(trace_->left_out(), "frame"));
  }

  const guest::Traffic& traffic() const { return traffic_; }

 private:
  guest::Traffic traffic_;
  std::vector<std::unique_ptr<guest::Capture>> captures_;
  std::optional<report::Trace> trace_;
};

struct Outcome {
  guest::BootResult nodes;
  host::RunResult ranks;  // none where there are none
};

/// Nodes, and ranks beside them where there are any.
Outcome simulate(const Options& o, const machine::Machine& machine, network::Network& network, Watch& watch) {
  std::optional<guest::Terminal> terminal;
  if (o.boot.shell) terminal.emplace(STDIN_FILENO, STDOUT_FILENO);
  guest::Cluster cluster(machine, o.boot);
  if (terminal) cluster.terminal = &*terminal;
  cluster.interrupted = [] { return interrupts != 0; };
  cluster.on_line = [](std::string_view line) {
    if (int error = write_all(STDOUT_FILENO, line))
      throw UserError(fmt::format("standard output: {}", std::strerror(error)));
  };
  cluster.on_frame = [&](std::size_t node, bool sent, Time at, std::span<const std::uint8_t> frame) {
    watch.frame(node, sent, at, frame);
  };
  if (!o.quiet)
    cluster.on_progress = [](Time now) {
      fmt::print(stderr, "weft: {} of virtual time so far\n", host::time_text(now));
    };
  if (!o.run.ranks) return {cluster.run(network), {}};
  host::Simulation ranks(machine, network, o.run, &cluster);
  ranks.interrupted = cluster.interrupted;
  Outcome out;
  out.ranks = ranks.run();
  out.nodes = cluster.result();
  return out;
}

/// Boots one node alone with the one that serves, and keeps what they say to each other.
void prepare_storm(Options& o, const machine::Machine& machine, const network::EngineKind& engine) {
  if (!o.storm) return;
  o.boot.skeletons = skeleton_places(o, machine);
  guest::BootOptions one = o.boot;
  one.place.resize(2);
  one.skeletons.clear();
  one.record = true;
  one.control = false;
  one.tlp_dump.clear();
  auto network = engine.make(machine, {o.boot.seed, o.threads, {}});
  guest::Cluster cluster(machine, one);
  cluster.interrupted = [] { return interrupts != 0; };
  guest::BootResult result = cluster.run(*network);
  if (result.recording.server.empty()) {
    for (guest::NodeResult& node : result.nodes)
      for (const std::string& line : node.last_lines) fmt::print(stderr, "  {}: {}\n", node.name, line);
    throw UserError("--storm: the node whose boot was to be recorded has not got its root");
  }
  o.boot.recording = std::move(result.recording);
}

/// What ranks need beside their nodes: a place, the library, and MPI where their program is one of it.
void prepare_ranks(Options& o, const machine::Machine& machine) {
  if (!o.run.ranks) return;
  o.run.place = rank_places(o, machine);
  o.run.seed = o.boot.seed;
  o.run.library = library_path();
  o.run.output.label = true;
  o.run.mpi = wants_mpi(o.run.command, o.mpi,
                        fmt::format("weft boot {} -n {} --ranks {} --program './your_program' -- ./job.sh",
                                    o.machine.machine, o.nodes, o.run.ranks));
}

void summarize(const Options& o, const machine::Machine& machine, const Outcome& outcome,
               const std::string& engine) {
  const std::string ranks =
      o.run.ranks ? fmt::format(" and {}", count_of(o.run.ranks, "rank")) : std::string();
  fmt::print(stderr, "weft: {}{}{} on {} ({} engine): {} of virtual time\n", count_of(o.nodes, "Linux node"),
             share_of_accelerators(o.boot.accelerator_of), ranks, machine.description.identity.name, engine,
             host::time_text(outcome.nodes.end));
  if (const guest::StormTimes storm = guest::storm_times(outcome.nodes); storm.nodes)
    fmt::print(
        stderr,
        "weft: {} had what they boot with after {} (the first after {}, half of them after {}); {} were "
        "played by a recording of {}\n",
        count_of(storm.nodes, "node"), host::time_text(storm.last), host::time_text(storm.first),
        host::time_text(storm.median), storm.skeletons, count_of(outcome.nodes.recorded, "frame"));
  if (o.run.ranks) fmt::print(stderr, "weft: ranks ended after {}\n", host::time_text(outcome.ranks.end));
}

void add_setting(Options& o, const std::string& setting) {
  o.machine.settings.insert(o.machine.settings.begin(), setting);
  ++o.added_settings;
}

/// Is there a place for the socket over which others ask for accelerators? The job runs without it as well.
bool can_be_asked() {
  try {
    guest::control_folder();
    return true;
  } catch (const UserError& error) {
    fmt::print(stderr, "weft: `weft accelerators` cannot reach this job: {}\n", error.what());
    return false;
  }
}

/// Devices for Linux nodes, on nodes of their own: as the description has them, or added to it.
void grant_accelerators(Options& o, machine::Machine& machine,
                        const std::vector<AcceleratorRequest>& requests) {
  const std::vector<std::string> settings = settings_of_accelerators(requests, machine, o.boot.place);
  for (const std::string& setting : settings) add_setting(o, setting);
  if (!settings.empty()) machine = machine::build(o.machine.describe());
  check_pcie(machine);
  Diagnostics problems;
  o.boot.pool = pool_of(machine, o.boot.place);
  o.boot.accelerators = assign_accelerators(requests, machine, o.boot.pool, o.boot.place.size(), problems);
  problems.throw_if_any();
  o.boot.grants = read_grants(o.accelerator_script, {o.boot.pool, o.boot.place});
  o.boot.control = !o.boot.pool.empty() && can_be_asked();
}

int boot(Options& o) {
  add_setting(o, kEthernetSetting);
  machine::Machine machine = machine::build(o.machine.describe());
  machine::refuse_networks(machine.description, "weft boot");
  Diagnostics problems;
  check(o, machine, problems);
  check_ranks(o, machine, problems);
  check_storm(o, machine, problems);
  mount_files(o.storage, machine.description.storage, o.storm > 0, o.boot.files, problems);
  o.run.storage = o.boot.files;
  const std::vector<std::size_t> captured = captured_nodes(o, problems);
  const std::vector<AcceleratorRequest> accelerators = parse_accelerators(o.accelerators, problems);
  o.boot.tlp_filter = nic::parse_tlp_filter(o.tlp_filter, "--tlp-filter", problems);
  if (!o.tlp_filter.empty() && o.boot.tlp_dump.empty())
    problems.add({}, "--tlp-filter", "needs --tlp-dump, the file that packets are written into");
  problems.throw_if_any();
  const std::string command = command_line(o);
  o.boot.look_ahead = !o.every_step;
  o.boot.place = place_ranks(machine, o.nodes, 1, o.place, o.boot.seed);
  check_places(o);
  o.boot.accelerator_of = accelerators_of(machine, o.boot.place);
  grant_accelerators(o, machine, accelerators);
  prepare_ranks(o, machine);
  const network::EngineKind& engine = engine_named(o.engine);
  auto network = engine.make(machine, {o.boot.seed, o.threads, faults_of(o, engine, machine)});
  o.boot.init = find_init();
  o.boot.kernel = find_kernel(o);
  if (!o.out.empty()) {
    std::error_code failed;
    fs::create_directories(o.out, failed);
    if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", o.out, failed.message()));
  }
  catch_signals();
  prepare_storm(o, machine, engine);
  Watch watch(o, captured);
  const Outcome outcome = simulate(o, machine, *network, watch);
  watch.finish(outcome.nodes);
  if (!o.out.empty()) {
    const report::BootReport report{
        machine, outcome.nodes, outcome.ranks, watch.traffic(), engine.name,
        command, version(),     o.boot.seed,   captured,        network->incidents()};
    write_file(o.out + "/result.json", report::boot_json(report).dump(1) + "\n");
    write_file(o.out + "/report.html", report::boot_page(report));
  }
  if (!o.quiet)
    for (const network::Network::Incident& incident : network->incidents())
      fmt::print(stderr, "weft: at {} {}\n", host::time_text(incident.at), incident.what);
  tell_failures(outcome.nodes, outcome.ranks);
  if (!o.quiet) summarize(o, machine, outcome, engine.name);
  return worst_code(outcome.nodes, outcome.ranks);
}

/// Options of ranks beside the nodes.
void declare_ranks(CommandLine& app, Options& o) {
  o.run.ranks = 0;
  app.add_option("--ranks", o.run.ranks,
                 "Processes of --program that run beside the nodes, on other nodes of the machine, over the "
                 "same network")
      .option_text("N [0]")
      .range(0, 16'384);
  app.add_option("--program", o.program, "What they run, with its arguments; as with `weft run`")
      .option_text("'PROGRAM ARGUMENTS...'");
  app.add_option("--per-node", o.run.per_node, "Processes on each node").option_text("K [1]").range(1, 1024);
  app.add_option("--ranks-place", o.ranks_place,
                 "Nodes of the machine for them, as for --place; without: the first without Linux")
      .option_text("NODES");
  app.add_option("--mpi", o.mpi, "Whether the program is one of MPI, as for `weft run`")
      .option_text("yes|no|auto [auto]")
      .one_of({"yes", "no", "auto"});
}

/// Options of devices on other nodes.
void declare_accelerators(CommandLine& app, Options& o) {
  app.add_option(
         "--accelerators", o.accelerators,
         "Devices of other nodes that the job gets: nvme=2. Linux nodes take turns and find them on their "
         "own PCI bus. A machine that has none of a kind gets them on its last nodes")
      .option_text("KIND=N,...");
  app.add_option("--accelerator-script", o.accelerator_script,
                 "Accelerators granted and taken back during the run: \"at 2s assign nvme.0 to node0; at 3s "
                 "release nvme.0\", or a file; `weft accelerators` asks for the same while it runs")
      .option_text("SCRIPT");
  app.add_option(
         "--tlp-dump", o.boot.tlp_dump,
         "File for the packets of PCI Express between nodes: a line where one leaves an interface (>), "
         "and one where it has come (>>)")
      .option_text("FILE");
  app.add_option("--tlp-filter", o.tlp_filter,
                 "Of these only such kinds, and only from or to such nodes: MemoryWrite,Config,22")
      .option_text("KIND|NODE,...");
}

std::function<int()> declare_boot(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("-n,--nodes", o->nodes, "Linux nodes to boot").option_text("N [2]").range(1, 4096);
  app.add_option("--place", o->place,
                 "Which nodes of the machine they are: 0,4,8-11; or a placement's name, as for `weft run`")
      .option_text("NODES [linear]");
  app.add_option("--engine", o->engine, "How the network is simulated, as for `weft run`")
      .option_text("NAME [flit]");
  app.add_option("--fault", o->fault, "What breaks during the run, and when, as for `weft run`")
      .option_text("SCRIPT");
  app.add_option("--memory", o->memory, "Memory of a node").option_text("SIZE [64MiB]");
  app.add_option("--seed", o->boot.seed, "Two runs with the same seed are the same").option_text("N [1]");
  app.add_option("--threads", o->threads, "Threads of the flit engine, others take one; results are the same")
      .option_text("N [1]")
      .range(1, 1024);
  app.add_option("--out", o->out, "Folder for the results: report.html, result.json and captures")
      .option_text("DIR");
  app.add_option("--trace", o->trace,
                 "File for a trace of all frames, and of when nodes boot; opens in ui.perfetto.dev")
      .option_text("FILE");
  app.add_option("--capture", o->capture,
                 "Nodes whose frames are written to --out, as nodeN.pcapng: 0,2 or all")
      .option_text("NODES");
  app.add_option("--kernel", o->kernel,
                 "Another User Mode Linux kernel than the one that tools/build-linux makes")
      .option_text("FILE");
  app.add_option(
         "--shell", o->shell,
         "The node whose console is this terminal, with a shell instead of the job; virtual time then "
         "passes no faster than yours")
      .option_text("NODE");
  app.add_flag(
      "--netboot", o->boot.netboot,
      "Nodes start with a kernel and a first stage alone; the first node serves the others addresses by "
      "DHCP and a root over HTTP, and runs no job (needs busybox-static)");
  app.add_option(
         "--storm", o->storm,
         "With --netboot: so many nodes boot at once, those without a kernel by what one of the others "
         "and the server said to each other, recorded before; tells how long it takes")
      .option_text("N")
      .range(1, 1'000'000);
  app.add_option("--image", o->boot.image,
                 "With --netboot: the root that is served, as a cpio archive; without: busybox and the job")
      .option_text("FILE");
  declare_accelerators(app, *o);
  o->storage.declare_mount(app, false);
  declare_ranks(app, *o);
  app.add_option("--patience", o->boot.patience,
                 "Seconds of processor time that a node may compute without letting virtual time move")
      .option_text("SECONDS [60]")
      .range(1, 86'400);
  app.add_flag("--no-look-ahead", o->every_step,
               "Ask for every step of a node's clock, as a check; slower, and results are the same");
  app.add_flag("--quiet", o->quiet, "No summary at the end");
  app.add_option(
         "command", o->boot.command,
         "Script or program that every node runs, and its arguments; NODE and NODES are in its environment")
      .option_text("-- SCRIPT [ARGUMENTS...]");
  return [o] { return boot(*o); };
}

WEFT_REGISTER(Verb, {"boot", "boot Linux on nodes of a machine, in virtual time", 7, declare_boot, true});

}  // namespace

}  // namespace weft::app
