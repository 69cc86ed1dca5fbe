#include "manage/chips.hpp"

#include <algorithm>

namespace weft::manage {

Chips::Chips(const machine::Machine& machine, const Wiring& wiring, EndpointId manager)
    : machine_(machine),
      wiring_(wiring),
      start_(machine.graph->endpoint_router(manager)),
      routers_(machine.graph->routers()),
      nodes_(machine.graph->endpoints(), kNone),
      tables_(machine.graph->routers()) {}

Time Chips::hop_time(PortId port) const {
  const Graph& graph = *machine_.graph;
  Time time = machine_.description.router.latency;
  // A plug in a wrong socket has brought its cable along; one cable is as good as another here.
  if (graph.peer(port) != kNone)
    time = time +
           graph.cable_type(graph.port_cable(port)).flight_time(graph.cable_length(graph.port_cable(port)));
  return time;
}

std::optional<RouterId> Chips::reach(ChipNumber chip) {
  const Graph& graph = *machine_.graph;
  const machine::NicParameters& nic = machine_.description.nic;
  Time taken = nic.send_latency + nic.receive_latency;
  RouterId at = start_;
  PortId came_by = kNone;
  while (routers_[at].number != chip) {
    const std::vector<Way>& ways = routers_[at].ways;
    auto way = std::lower_bound(ways.begin(), ways.end(), chip,
                                [](const Way& w, ChipNumber number) { return w.to < number; });
    if (way == ways.end() || way->to != chip) {
      // The first request a chip ever gets is for itself; the manager's own router is 0.
      if (routers_[at].number != kNone || (came_by == kNone && chip != 0)) return std::nullopt;
      break;
    }
    const Plug plug = wiring_.at(graph.port(at, way->port));
    if (plug.kind != Plug::Kind::Router) return std::nullopt;
    taken = taken + hop_time(graph.port(at, way->port));
    came_by = plug.number;
    at = graph.port_router(plug.number);
  }
  Router& reached = routers_[at];
  if (reached.home == kNoPort && came_by != kNone) reached.home = graph.port_index(came_by);
  for (RouterId back = at; back != start_;) {
    const PortId out = graph.port(back, routers_[back].home);
    const Plug plug = wiring_.at(out);
    if (plug.kind != Plug::Kind::Router) return std::nullopt;
    taken = taken + hop_time(out);
    back = graph.port_router(plug.number);
  }
  time_ = time_ + taken + nic.send_latency + nic.receive_latency;
  return at;
}

std::optional<Chips::Identity> Chips::read_identity(ChipNumber chip) {
  ++reads_;
  auto at = reach(chip);
  if (!at) return std::nullopt;
  return Identity{*at, machine_.graph->port_count(*at)};
}

std::optional<Neighbour> Chips::read_neighbour(ChipNumber chip, std::uint16_t port) {
  ++reads_;
  auto at = reach(chip);
  const Graph& graph = *machine_.graph;
  if (!at || port >= graph.port_count(*at)) return std::nullopt;
  const Plug plug = wiring_.at(graph.port(*at, port));
  if (plug.kind == Plug::Kind::Router)
    return Neighbour{plug.kind, graph.port_router(plug.number), graph.port_index(plug.number)};
  return Neighbour{plug.kind, plug.number, 0};
}

bool Chips::write_way(ChipNumber chip, ChipNumber to, std::uint16_t port) {
  ++writes_;
  auto at = reach(chip);
  if (!at) return false;
  std::vector<Way>& ways = routers_[*at].ways;
  auto place = std::lower_bound(ways.begin(), ways.end(), to,
                                [](const Way& w, ChipNumber number) { return w.to < number; });
  if (place != ways.end() && place->to == to)
    place->port = port;
  else
    ways.insert(place, {to, port});
  return true;
}

bool Chips::write_number(ChipNumber chip, ChipNumber number) {
  ++writes_;
  auto at = reach(chip);
  if (!at) return false;
  routers_[*at].number = number;
  return true;
}

bool Chips::write_node(ChipNumber chip, std::uint16_t port, std::uint32_t node) {
  ++writes_;
  auto at = reach(chip);
  if (!at) return false;
  const Plug plug = wiring_.at(machine_.graph->port(*at, port));
  if (plug.kind != Plug::Kind::Interface) return false;
  nodes_[plug.number] = node;
  return true;
}

bool Chips::write_routes(ChipNumber chip, std::uint64_t first, std::span<const RouteEntry> entries) {
  ++writes_;
  auto at = reach(chip);
  if (!at || entries.size() > kMostAtOnce) return false;
  std::vector<RouteEntry>& table = tables_[*at];
  if (table.size() < first + entries.size()) table.resize(first + entries.size());
  std::copy(entries.begin(), entries.end(), table.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

std::optional<RouteEntry> Chips::read_route(ChipNumber chip, std::uint64_t index) {
  ++reads_;
  auto at = reach(chip);
  if (!at) return std::nullopt;
  return index < tables_[*at].size() ? tables_[*at][index] : RouteEntry{};
}

EndpointId Chips::deliver(RouterId from, EndpointId to, unsigned classes) const {
  const Graph& graph = *machine_.graph;
  std::uint64_t input = 0;
  for (std::uint32_t hops = 0; hops <= graph.routers(); ++hops) {
    const std::uint64_t index = input * graph.endpoints() + to;
    if (index >= tables_[from].size()) return kNone;
    const RouteEntry& entry = tables_[from][index];
    if (entry.port == kNoPort) return kNone;
    const Plug plug = wiring_.at(graph.port(from, entry.port));
    if (plug.kind == Plug::Kind::Interface) return plug.number;
    if (plug.kind != Plug::Kind::Router) return kNone;
    from = graph.port_router(plug.number);
    if (classes) input = row(graph.port_index(plug.number), entry.channel_class, classes);
  }
  return kNone;
}

}  // namespace weft::manage
