#include "manage/chips.hpp"

#include <algorithm>

namespace weft::manage {

namespace {

constexpr Time kGivenUp{100'000'000};  // a request without an answer

}  // namespace

Chips::Chips(const machine::Machine& machine, const Wiring& wiring, EndpointId manager)
    : machine_(machine),
      wiring_(wiring),
      start_(machine.graph->endpoint_router(manager)),
      routers_(machine.graph->routers()),
      interfaces_(machine.graph->endpoints()) {
  for (auto& tables : tables_) tables.resize(machine.graph->routers());
}

Time Chips::hop_time(PortId port) const {
  const Graph& graph = *machine_.graph;
  Time time = machine_.description.router.latency;
  // A plug in a wrong socket has brought its cable along; one cable is as good as another here.
  if (graph.peer(port) != kNone)
    time = time +
           graph.cable_type(graph.port_cable(port)).flight_time(graph.cable_length(graph.port_cable(port)));
  return time;
}

std::optional<RouterId> Chips::walk(ChipNumber chip, std::uint16_t beyond, Time& taken) {
  const Graph& graph = *machine_.graph;
  RouterId at = start_;
  PortId came_by = kNone;
  auto go = [&](std::uint16_t port) {
    const PortId out = graph.port(at, port);
    const Plug plug = wiring_.at(out);
    if (plug.kind != Plug::Kind::Router) return false;
    taken = taken + hop_time(out);
    came_by = plug.number;
    at = graph.port_router(plug.number);
    return true;
  };
  for (std::size_t hops = 0; routers_[at].number != chip; ++hops) {
    const std::vector<Way>& ways = routers_[at].ways;
    auto way = std::lower_bound(ways.begin(), ways.end(), chip,
                                [](const Way& w, ChipNumber number) { return w.to < number; });
    if (way == ways.end() || way->to != chip || hops > routers_.size() || !go(way->port)) return std::nullopt;
  }
  if (beyond != kNoPort) {
    if (beyond >= graph.port_count(at) || !go(beyond)) return std::nullopt;
    routers_[at].home = graph.port_index(came_by);
  }
  const RouterId reached = at;
  for (std::size_t hops = 0; at != start_; ++hops)
    if (hops > routers_.size() || routers_[at].home == kNoPort || !go(routers_[at].home)) return std::nullopt;
  return reached;
}

std::optional<RouterId> Chips::reach(ChipNumber chip, std::uint16_t beyond) {
  const machine::NicParameters& nic = machine_.description.nic;
  Time taken = nic.send_latency + nic.receive_latency + nic.send_latency + nic.receive_latency;
  auto reached = walk(chip, beyond, taken);
  time_ = time_ + (reached ? taken : kGivenUp);
  return reached;
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

std::optional<std::uint64_t> Chips::read_links(ChipNumber chip) {
  ++reads_;
  auto at = reach(chip);
  const Graph& graph = *machine_.graph;
  if (!at) return std::nullopt;
  std::uint64_t up = 0;
  for (std::uint32_t port = 0; port < graph.port_count(*at); ++port)
    if (wiring_.at(graph.port(*at, static_cast<topology::PortIndex>(port))).kind != Plug::Kind::Nothing)
      up += (up + port + 1) * 0x9e3779b97f4a7c15ull;
  return up;
}

bool Chips::write_number(ChipNumber before, std::uint16_t port, ChipNumber number) {
  ++writes_;
  auto at = reach(before, port);
  if (!at) return false;
  routers_[*at].number = number;
  routers_[*at].ways.clear();
  return true;
}

void Chips::write_own_number(ChipNumber number) {
  ++writes_;
  routers_[start_] = {{}, number, kNoPort};
  time_ = time_ + machine_.description.nic.send_latency + machine_.description.nic.receive_latency;
}

Chips::Interface* Chips::interface_at(ChipNumber chip, std::uint16_t port) {
  auto at = reach(chip);
  if (!at) return nullptr;
  const Plug plug = wiring_.at(machine_.graph->port(*at, port));
  return plug.kind == Plug::Kind::Interface ? &interfaces_[plug.number] : nullptr;
}

bool Chips::write_node(ChipNumber chip, std::uint16_t port, std::uint32_t node) {
  ++writes_;
  Interface* found = interface_at(chip, port);
  if (found) found->node = node;
  return found;
}

std::optional<Chips::Sending> Chips::read_sending(ChipNumber chip, std::uint16_t port) {
  ++reads_;
  const Interface* found = interface_at(chip, port);
  if (!found) return std::nullopt;
  return Sending{found->held, found->table};
}

bool Chips::write_sending(ChipNumber chip, std::uint16_t port, Sending sending) {
  ++writes_;
  Interface* found = interface_at(chip, port);
  if (!found) return false;
  found->held = sending.held;
  found->table = static_cast<std::uint8_t>(sending.table);
  return true;
}

bool Chips::write_copy(ChipNumber chip, unsigned from_table) {
  ++writes_;
  auto at = reach(chip);
  if (!at) return false;
  tables_[1 - from_table][*at] = tables_[from_table][*at];
  return true;
}

bool Chips::write_routes(ChipNumber chip, unsigned table, std::uint64_t first,
                         std::span<const RouteEntry> entries) {
  ++writes_;
  auto at = reach(chip);
  if (!at || entries.size() > kMostAtOnce) return false;
  std::vector<RouteEntry>& written = tables_[table][*at];
  if (written.size() < first + entries.size()) written.resize(first + entries.size());
  std::copy(entries.begin(), entries.end(), written.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

EndpointId Chips::deliver(EndpointId from, EndpointId to, std::array<unsigned, 2> classes) const {
  const Graph& graph = *machine_.graph;
  if (interfaces_[from].held) return kNone;
  const unsigned table = interfaces_[from].table;
  RouterId at = graph.endpoint_router(from);
  std::uint64_t input = 0;
  for (std::uint32_t hops = 0; hops <= graph.routers(); ++hops) {
    const std::uint64_t index = input * graph.endpoints() + to;
    if (index >= tables_[table][at].size()) return kNone;
    const RouteEntry& entry = tables_[table][at][index];
    if (entry.port == kNoPort) return kNone;
    const Plug plug = wiring_.at(graph.port(at, entry.port));
    if (plug.kind == Plug::Kind::Interface) return plug.number;
    if (plug.kind != Plug::Kind::Router) return kNone;
    at = graph.port_router(plug.number);
    if (classes[table]) input = row(graph.port_index(plug.number), entry.channel_class, classes[table]);
  }
  return kNone;
}

}  // namespace weft::manage
