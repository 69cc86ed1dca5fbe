// `weft run`: ordinary programs on a machine, in virtual time.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "app/verb.hpp"
#include "host/simulation.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

struct Options {
  MachineOptions machine;
  host::RunOptions run;
  std::string engine, cores = "auto", compute;
  unsigned threads = 1;
  bool quiet = false;
};

volatile sig_atomic_t interrupts = 0;

std::string library_path() {
  std::error_code failed;
  fs::path program = fs::read_symlink("/proc/self/exe", failed);
  fs::path library = program.parent_path() / "libweft.so";
  if (failed || !fs::exists(library, failed))
    throw UserError(fmt::format("{}: the library that programs need is not there", library.string()));
  return library.string();
}

const network::EngineKind& engine_named(const std::string& name) {
  using Engines = config::Registry<network::EngineKind>;
  // The most exact there is, unless asked otherwise.
  std::string wanted = !name.empty() ? name : Engines::find("flit") ? "flit" : "ideal";
  if (const network::EngineKind* engine = Engines::find(wanted)) return *engine;
  throw UserError(fmt::format("there is no engine '{}'{}; there are {}", wanted,
                              did_you_mean(wanted, Engines::names()), join(Engines::names(), ", ")));
}

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
  problems.throw_if_any();
}

int run(Options& o) {
  if (!o.compute.empty()) o.machine.settings.push_back("host.compute=" + o.compute);
  machine::Machine machine = machine::build(o.machine.describe());
  check(o, machine);
  const network::EngineKind& engine = engine_named(o.engine);
  auto network = engine.make(machine, {o.run.seed, o.threads});
  o.run.library = library_path();
  o.run.cores = o.cores == "one" ? host::Cores::One : o.cores == "all" ? host::Cores::All : host::Cores::Auto;
  host::find_program(o.run.command.front());

  struct sigaction action {};
  action.sa_handler = [](int) { interrupts = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);

  host::RunResult result;
  {
    host::Simulation simulation(machine, *network, o.run);
    simulation.interrupted = [] { return interrupts != 0; };
    result = simulation.run();
  }
  if (!result.fine) {
    fmt::print(stderr, "weft: {}\n", result.failure);
    for (const std::string& line : result.details) fmt::print(stderr, "  {}\n", line);
    return 1;
  }
  if (!o.quiet)
    fmt::print(stderr, "weft: {} on {} ({} engine): {} of virtual time\n", count_of(o.run.ranks, "rank"),
               machine.description.identity.name, engine.name, host::time_text(result.end));
  return 0;
}

std::function<int()> declare_run(CLI::App& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("-n,--ranks", o->run.ranks, "Processes to start")
      ->option_text("N [1]")
      ->check(CLI::Range(1, 16'384));
  app.add_option("--per-node", o->run.per_node, "Processes on each node")
      ->option_text("K [1]")
      ->check(CLI::Range(1, 1024));
  std::vector<std::string> engines;
  for (const auto& [name, kind] : config::Registry<network::EngineKind>::all())
    engines.push_back(fmt::format("{}: {}", name, kind.about));
  app.add_option("--engine", o->engine, "How the network is simulated. " + join(engines, "; "))
      ->option_text("NAME [flit]");
  app.add_option("--compute", o->compute,
                 "Time of computing between calls: none, measured or fixed (host.compute)")
      ->option_text("HOW");
  app.add_option(
         "--cores", o->cores,
         "Cores for simulator and ranks: one is fastest where ranks wait for each other, all where they "
         "compute; auto: one unless computing is measured. Results are the same")
      ->option_text("one|all|auto [auto]")
      ->check(CLI::IsMember({"one", "all", "auto"}));
  app.add_flag("--label", o->run.output.label, "Each line of output begins with its rank");
  app.add_option("--output", o->run.output.folder, "Folder for the output: rank-N.out and rank-N.err")
      ->option_text("DIR");
  app.add_option("--seed", o->run.seed, "Two runs with the same seed are the same")->option_text("N [1]");
  app.add_option("--threads", o->threads, "Threads of the engine; results are the same")
      ->option_text("N [1]")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--quiet", o->quiet, "No summary at the end");
  app.add_option("command", o->run.command, "Program and its arguments, after --")
      ->required()
      ->option_text("-- PROGRAM [ARGUMENTS...]");
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb, {"run", "run ordinary programs on a machine, in virtual time", 6, declare_run});

}  // namespace

}  // namespace weft::app
