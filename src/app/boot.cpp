// `weft boot`: Linux nodes on a machine, in virtual time.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/run_place.hpp"
#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "guest/cluster.hpp"
#include "guest/pcapng.hpp"
#include "guest/traffic.hpp"
#include "host/call_log.hpp"
#include "workload/placement.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

struct Options {
  MachineOptions machine;
  guest::BootOptions boot;
  unsigned nodes = 2, threads = 1;
  std::string engine, place = "linear", fault, out, memory = "64MiB", kernel, capture;
  bool quiet = false;
};

volatile sig_atomic_t interrupts = 0;

fs::path program_folder() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed).parent_path();
}

const network::EngineKind& engine_named(const std::string& name) {
  using Engines = config::Registry<network::EngineKind>;
  std::string wanted = name.empty() ? "flit" : name;
  if (const network::EngineKind* engine = Engines::find(wanted)) return *engine;
  throw UserError(fmt::format("there is no engine '{}'{}; there are {}", wanted,
                              did_you_mean(wanted, Engines::names()), join(Engines::names(), ", ")));
}

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
  const fs::path tool = program_folder().parent_path() / "tools/build-linux";
  if (access(tool.c_str(), X_OK) != 0)
    throw UserError(fmt::format("{}: what builds the kernel of Linux nodes is not there; --kernel names one",
                                tool.string()));
  int code = 0;
  std::string kernel = line_of(fmt::format("'{}'", tool.string()), code);
  if (kernel.empty())
    throw UserError("there is no kernel for Linux nodes, and it cannot be built here; see above");
  return kernel;
}

std::string find_init() {
  const fs::path init = program_folder() / "weft-init";
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

std::vector<std::size_t> captured_nodes(const Options& o, Diagnostics& problems) {
  std::vector<std::size_t> out;
  if (o.capture.empty()) return out;
  if (o.out.empty()) problems.add({}, "--capture", "needs --out, the folder that captures are written into");
  if (o.capture == "all") {
    for (unsigned i = 0; i < o.nodes; ++i) out.push_back(i);
    return out;
  }
  for (const std::string& part : split(o.capture, ',')) {
    bool number =
        !part.empty() && part.size() < 7 && part.find_first_not_of("0123456789") == std::string::npos;
    if (!number || std::stoul(part) >= o.nodes) {
      problems.add({}, "--capture", fmt::format("'{}' is no node: 0 to {}, or all", part, o.nodes - 1));
    } else {
      out.push_back(std::stoul(part));
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
  find_job(o.boot.command, problems);
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

nlohmann::ordered_json result_json(const Options& o, const guest::BootResult& result,
                                   const guest::Traffic& traffic, const machine::Machine& machine,
                                   const std::string& engine) {
  using Json = nlohmann::ordered_json;
  Json out{{"version", WEFT_VERSION},   {"machine", machine.description.identity.name},
           {"engine", engine},          {"seed", o.boot.seed},
           {"failure", result.failure}, {"end_ps", result.end.value},
           {"rounds", result.rounds},   {"broadcast_bytes", traffic.broadcast()}};
  Json nodes = Json::array();
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const guest::NodeResult& node = result.nodes[i];
    Json sent = Json::array();
    for (std::size_t to = 0; to < result.nodes.size(); ++to) sent.push_back(traffic.bytes(i, to));
    nodes.push_back(Json{{"name", node.name},
                         {"node", node.node},
                         {"exit_code", node.code},
                         {"failure", node.failure},
                         {"network_up_ps", node.network_up.value},
                         {"end_ps", node.end.value},
                         {"frames_sent", node.ethernet.frames_sent},
                         {"bytes_sent", node.ethernet.bytes_sent},
                         {"frames_received", node.ethernet.frames_received},
                         {"bytes_received", node.ethernet.bytes_received},
                         {"lost_no_room", node.ethernet.no_room},
                         {"lost_in_network", node.ethernet.unsent},
                         {"lost_damaged", node.ethernet.damaged},
                         {"interrupts", node.ethernet.interrupts},
                         {"tcp_sent_again", traffic.sent_again(i)},
                         {"bytes_to", sent}});
  }
  out["nodes"] = std::move(nodes);
  return out;
}

int worst_code(const guest::BootResult& result) {
  int worst = result.failure.empty() ? 0 : 1;
  for (const guest::NodeResult& node : result.nodes)
    worst = std::max(worst, node.failure.empty() ? node.code : std::max(node.code, 1));
  return worst;
}

void tell_failures(const guest::BootResult& result) {
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

int boot(Options& o) {
  o.machine.settings.insert(o.machine.settings.begin(), "node.device.eth0.kind=ethernet");
  machine::Machine machine = machine::build(o.machine.describe());
  Diagnostics problems;
  check(o, machine, problems);
  const std::vector<std::size_t> captured = captured_nodes(o, problems);
  problems.throw_if_any();
  o.boot.place = place_ranks(machine, o.nodes, 1, o.place, o.boot.seed);
  check_places(o);
  const network::EngineKind& engine = engine_named(o.engine);
  auto network = engine.make(machine, {o.boot.seed, o.threads, faults_of(o, engine, machine)});
  o.boot.init = find_init();
  o.boot.kernel = find_kernel(o);
  if (!o.out.empty()) {
    std::error_code failed;
    fs::create_directories(o.out, failed);
    if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", o.out, failed.message()));
  }
  std::vector<std::unique_ptr<guest::Capture>> captures(o.nodes);
  for (std::size_t i : captured)
    captures[i] =
        std::make_unique<guest::Capture>(fmt::format("{}/{}.pcapng", o.out, guest::Cluster::name_of(i)),
                                         guest::Cluster::name_of(i), o.boot.date);
  catch_signals();

  guest::Traffic traffic(o.nodes);
  guest::BootResult result;
  {
    guest::Cluster cluster(machine, *network, o.boot);
    cluster.interrupted = [] { return interrupts != 0; };
    cluster.on_line = [](std::string_view line) {
      if (int error = write_all(STDOUT_FILENO, line))
        throw UserError(fmt::format("standard output: {}", std::strerror(error)));
    };
    cluster.on_frame = [&](std::size_t node, bool sent, Time at, std::span<const std::uint8_t> frame) {
      if (sent) traffic.sent(node, frame);
      if (captures[node]) captures[node]->add(sent, at, frame);
    };
    if (!o.quiet)
      cluster.on_progress = [](Time now) {
        fmt::print(stderr, "weft: {} of virtual time so far\n", host::time_text(now));
      };
    result = cluster.run();
  }
  for (auto& capture : captures)
    if (capture) capture->close();
  if (!o.out.empty())
    write_file(o.out + "/result.json", result_json(o, result, traffic, machine, engine.name).dump(1) + "\n");
  if (!o.quiet)
    for (const network::Network::Incident& incident : network->incidents())
      fmt::print(stderr, "weft: at {} {}\n", host::time_text(incident.at), incident.what);
  tell_failures(result);
  if (!o.quiet)
    fmt::print(stderr, "weft: {} on {} ({} engine): {} of virtual time\n", count_of(o.nodes, "Linux node"),
               machine.description.identity.name, engine.name, host::time_text(result.end));
  return worst_code(result);
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
  app.add_option("--out", o->out, "Folder for the results: result.json and captures").option_text("DIR");
  app.add_option("--capture", o->capture,
                 "Nodes whose frames are written to --out, as nodeN.pcapng: 0,2 or all")
      .option_text("NODES");
  app.add_option("--kernel", o->kernel,
                 "Another User Mode Linux kernel than the one that tools/build-linux makes")
      .option_text("FILE");
  app.add_flag("--quiet", o->quiet, "No summary at the end");
  app.add_option(
         "command", o->boot.command,
         "Script or program that every node runs, and its arguments; NODE and NODES are in its environment")
      .required()
      .option_text("-- SCRIPT [ARGUMENTS...]");
  return [o] { return boot(*o); };
}

WEFT_REGISTER(Verb, {"boot", "boot Linux on nodes of a machine, in virtual time", 7, declare_boot, true});

}  // namespace

}  // namespace weft::app
