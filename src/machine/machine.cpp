#include "machine/machine.hpp"

#include <algorithm>
#include <cstdio>

#include "base/memory_left.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "machine/networks.hpp"

namespace weft::machine {

using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

Machine::Machine() = default;
Machine::Machine(Machine&& other) noexcept = default;
Machine& Machine::operator=(Machine&& other) noexcept = default;
Machine::~Machine() = default;

namespace {

template <class Work>
void stage(Machine& machine, std::string name, Work work) {
  const Stopwatch start;
  work();
  machine.stages.push_back({std::move(name), start.seconds()});
}

[[noreturn]] void refuse(const Description& d, std::string key, std::string message) {
  throw UserError({{d.origin(key), key, std::move(message)}});
}

void check_size(const Description& d) {
  topology::Size size = d.topology->size(d.topology_parameters.get());
  if (size.ports > topology::kMaxPorts || size.routers > topology::kMaxRouters)
    refuse(d, "topology",
           fmt::format("asks for {:.4g} endpoints on {:.4g} routers with {:.4g} ports; at most {:.4g} "
                       "routers and {:.4g} "
                       "ports can be built",
                       size.endpoints, size.routers, size.ports, topology::kMaxRouters, topology::kMaxPorts));
  if (size.endpoints < 1) refuse(d, "topology", "has no endpoints");
  // The arrays of the graph, and what lists of routers take while it is looked at.
  constexpr double kPerPort = 16, kPerCable = 13, kPerEndpoint = 4, kPerRouter = 24;
  double bytes = size.ports * kPerPort + (size.ports - size.endpoints) / 2 * kPerCable +
                 size.endpoints * kPerEndpoint + size.routers * kPerRouter;
  if (bytes <= kSurelyThere) return;
  if (double left = static_cast<double>(memory_left()); bytes > left)
    refuse(
        d, "topology",
        fmt::format("asks for {:.4g} endpoints on {:.4g} routers with {:.4g} ports: about {} of memory, and "
                    "{} are left",
                    size.endpoints, size.routers, size.ports, memory_text(bytes), memory_text(left)));
}

void check_graph(const Description& d, const Graph& graph) {
  if (unsigned limit = d.router.ports)
    for (RouterId r = 0; r < graph.routers(); ++r)
      if (graph.port_count(r) > limit)
        refuse(d, "router.ports",
               fmt::format("the topology asks for {} ports on {}, the router has {}", graph.port_count(r),
                           graph.router_name(r), limit));
  if (networks_of(d)) return;  // each is whole by itself
  std::vector<bool> seen(graph.routers());
  std::vector<RouterId> queue{0};
  seen[0] = true;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (PortId p = graph.port_begin(queue[i]); p < graph.port_begin(queue[i] + 1); ++p)
      if (PortId peer = graph.peer(p); peer != kNone && !seen[graph.port_router(peer)]) {
        seen[graph.port_router(peer)] = true;
        queue.push_back(graph.port_router(peer));
      }
  if (queue.size() == graph.routers()) return;
  RouterId lost = static_cast<RouterId>(std::find(seen.begin(), seen.end(), false) - seen.begin());
  refuse(d, "topology",
         fmt::format("the network is in pieces: {} of {} cannot be reached from {}; the first is {}",
                     count_of(graph.routers() - queue.size(), "router"), with_commas(graph.routers()),
                     graph.router_name(0), graph.router_name(lost)));
}

// "r12.p3" -> the port's number.
PortId parse_port(const Description& d, const Graph& graph, const std::string& name) {
  unsigned router = 0, port = 0;
  int used = 0;
  bool shaped = std::sscanf(name.c_str(), "r%u.p%u%n", &router, &port, &used) == 2 &&
                static_cast<std::size_t>(used) == name.size();
  if (!shaped)
    refuse(d, "faults.dead_cables", fmt::format("expected a port such as \"r12.p3\", got \"{}\"", name));
  if (router >= graph.routers())
    refuse(d, "faults.dead_cables",
           fmt::format("\"{}\": there are routers r0 to r{}", name, graph.routers() - 1));
  if (port >= graph.port_count(router))
    refuse(d, "faults.dead_cables",
           fmt::format("\"{}\": router r{} has ports p0 to p{}", name, router, graph.port_count(router) - 1));
  PortId id = graph.port(router, static_cast<topology::PortIndex>(port));
  if (graph.peer(id) == kNone)
    refuse(d, "faults.dead_cables", fmt::format("\"{}\": no cable is plugged in there", name));
  return id;
}

void apply_faults(const Description& d, const Graph& graph, topology::Faults& faults) {
  for (const std::string& name : d.faults.dead_cables)
    faults.kill_cable(graph.port_cable(parse_port(d, graph, name)));
  for (std::uint32_t r : d.faults.dead_routers) {
    if (r >= graph.routers())
      refuse(d, "faults.dead_routers", fmt::format("{}: there are routers 0 to {}", r, graph.routers() - 1));
    faults.kill_router(r);
  }
}

}  // namespace

Machine build_graph(Description description) {
  Machine machine;
  machine.description = std::move(description);
  const Description& d = machine.description;
  stage(machine, "build graph", [&] {
    check_size(d);
    topology::BuildContext context{d.cables};
    machine.graph = std::make_unique<Graph>(d.topology->build(d.topology_parameters.get(), context));
    check_graph(d, *machine.graph);
    machine.faults = std::make_unique<topology::Faults>(*machine.graph);
    apply_faults(d, *machine.graph, *machine.faults);
    if (std::string why = d.routing->refusal(d.routing_parameters.get(), *machine.graph); !why.empty())
      refuse(d, "routing.kind", fmt::format("{} (this machine's topology is {})", why, d.topology->name));
  });
  return machine;
}

Machine build(Description description) {
  Machine machine = build_graph(std::move(description));
  const Description& d = machine.description;
  stage(machine, "build routes", [&] {
    machine.routing = d.routing->make(d.routing_parameters.get(), *machine.graph, *machine.faults);
  });
  return machine;
}

}  // namespace weft::machine
