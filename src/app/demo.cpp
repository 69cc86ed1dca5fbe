// `weft demo`: an ordinary MPI program, compiled as anybody would, on sixteen nodes of a machine.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "app/verb.hpp"
#include "base/own_files.hpp"
#include "machine/machine.hpp"
#include "machine/networks.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;
using topology::EndpointId;
using topology::RouterId;

constexpr std::size_t kRanks = 16;
constexpr const char* kProgram = "mpi_tour";

struct Options {
  MachineOptions machine;
  std::string out;
};

std::string source_file() {
  const std::string name = fmt::format("examples/{}.c", kProgram);
  if (const fs::path file = own_data(name); !file.empty()) return file.string();
  throw UserError(fmt::format("{} is neither above {} nor in a share/weft there", name,
                              own_program().parent_path().string()));
}

/// Cables between the router of the first node and every other router.
std::vector<std::uint32_t> distances(const topology::Graph& graph, RouterId from) {
  std::vector<std::uint32_t> out(graph.routers(), topology::kNone);
  std::vector<RouterId> queue{from};
  out[from] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (std::uint32_t p = 0; p < graph.port_count(queue[i]); ++p) {
      topology::PortId peer = graph.peer(graph.port_begin(queue[i]) + p);
      if (peer == topology::kNone || out[graph.port_router(peer)] != topology::kNone) continue;
      out[graph.port_router(peer)] = out[queue[i]] + 1;
      queue.push_back(graph.port_router(peer));
    }
  return out;
}

struct Nodes {
  std::vector<EndpointId> chosen;                                // the first node, then others by distance
  std::map<std::uint32_t, std::pair<unsigned, unsigned>> ranks;  // by routers crossed: the first and the last
};

/// Nodes at every distance from the first, as even as possible.
Nodes choose_nodes(const machine::Machine& machine) {
  const topology::Graph& graph = *machine.graph;
  auto usable = [&](EndpointId e) { return !machine.faults->router_dead(graph.endpoint_router(e)); };
  EndpointId first = 0;
  while (first < graph.endpoints() && !usable(first)) ++first;
  if (first == graph.endpoints()) throw UserError("every node of this machine is dead");
  std::vector<std::uint32_t> distance = distances(graph, graph.endpoint_router(first));
  std::map<std::uint32_t, std::vector<EndpointId>> at;
  for (EndpointId e = first + 1; e < graph.endpoints(); ++e)
    if (std::uint32_t d = distance[graph.endpoint_router(e)]; usable(e) && d != topology::kNone)
      at[d].push_back(e);
  Nodes nodes{{first}, {}};
  // One more of each distance in turn, until there are enough.
  std::map<std::uint32_t, std::size_t> take;
  for (std::size_t left = kRanks - 1, before = 0; left > 0 && left != before;) {
    before = left;
    for (const auto& [d, all] : at)
      if (left > 0 && take[d] < all.size()) ++take[d], --left;
  }
  for (const auto& [d, all] : at) {
    if (take[d] == 0) continue;
    auto begin = static_cast<unsigned>(nodes.chosen.size());
    for (std::size_t i = 0; i < take[d]; ++i) nodes.chosen.push_back(all[i * all.size() / take[d]]);
    nodes.ranks[d + 1] = {begin, static_cast<unsigned>(nodes.chosen.size() - 1)};
  }
  if (nodes.chosen.size() < 2) throw UserError("a machine of two nodes at least is needed");
  return nodes;
}

/// Shows a command and runs it.
int command(const std::vector<std::string>& words, const std::string& shown) {
  fmt::print("$ {}\n", shown);
  std::fflush(stdout);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ))
    throw UserError(
        fmt::format("{}: {}{}", words.front(), std::strerror(error),
                    words.front() == "mpicc.openmpi" ? " (Debian's package libopenmpi-dev has it)" : ""));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

std::string distances_text(const Nodes& nodes) {
  std::vector<std::string> parts;
  for (const auto& [routers, ranks] : nodes.ranks)
    parts.push_back(fmt::format("{} to {}", routers,
                                ranks.first == ranks.second
                                    ? fmt::format("rank {}", ranks.first)
                                    : fmt::format("ranks {}-{}", ranks.first, ranks.second)));
  return join(parts, ", ");
}

int run(const Options& o) {
  machine::Machine machine = machine::build(o.machine.describe());
  machine::refuse_networks(machine.description, "weft demo");
  const std::string& name = machine.description.identity.name;
  Nodes nodes = choose_nodes(machine);
  std::string out = o.out.empty() ? "weft-demo-" + name : o.out, program = out + "/" + kProgram;
  std::error_code failed;
  fs::create_directories(out, failed);
  if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", out, failed.message()));

  fmt::print("{}: {}\n", name, wrap(machine.description.identity.about, 100, 0));
  fmt::print("{} MPI ranks on {} of its {} nodes. Routers from rank 0: {}\n\n", nodes.chosen.size(),
             nodes.chosen.size(), with_commas(machine.graph->endpoints()), distances_text(nodes));
  std::string source = source_file();
  if (command({"mpicc.openmpi", "-O2", "-o", program, source},
              fmt::format("mpicc.openmpi -O2 -o {} examples/{}.c", program, kProgram)) != 0)
    return 1;
  std::vector<std::string> places;
  for (EndpointId node : nodes.chosen) places.push_back(std::to_string(node));
  std::vector<std::string> words{own_program().string(), "run", o.machine.machine};
  std::string settings;
  for (const std::string& setting : o.machine.settings) {
    words.insert(words.end(), {"--set", setting});
    settings += fmt::format(" --set '{}'", setting);
  }
  std::string ranks = std::to_string(nodes.chosen.size());
  words.insert(words.end(), {"-n", ranks, "--place", join(places, ","), "--out", out, "--", program});
  int code = command(words, fmt::format("weft run {}{} -n {} --place {} --out {} -- {}", o.machine.machine,
                                        settings, ranks, join(places, ","), out, program));
  if (code != 0) return code;
  fmt::print("\nreport     {}/report.html: who waited when, for whom, and over which links\n", out);
  fmt::print("next       weft run {} -n 4 -- ./your_mpi_program    (compiled with mpicc.openmpi, as it is)\n",
             o.machine.machine);
  return 0;
}

std::function<int()> declare_demo(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.machine = "tianhe2";
  o->machine.declare(app);
  app.get_option("machine").required(false);
  app.add_option("--out", o->out, "Folder for the program and its report")
      .option_text("DIR [weft-demo-MACHINE]");
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb,
              {"demo", "compile an MPI program and run it on sixteen nodes of a machine", 0, declare_demo});

}  // namespace

}  // namespace weft::app
