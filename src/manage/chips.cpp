#include "manage/chips.hpp"

#include <algorithm>

namespace weft::manage {

namespace {

using namespace abi::registers;
using nic::Status;
using What = Chips::Target::What;

constexpr Time kGivenUp{100'000'000};  // a request without an answer

constexpr Spot kIdentityNode = spot("chip.identity.node"), kIdentityRouter = spot("chip.identity.router");
constexpr Spot kIsRouter = spot("chip.kind.router"), kLinks = spot("chip.kind.links");
constexpr Spot kEndpoints = spot("chip.machine.endpoints"), kRouters = spot("chip.machine.routers");
constexpr Spot kManager = spot("chip.manager"), kManagerNode = spot("chip.manager.node"),
               kSuccessor = spot("chip.manager.successor");
constexpr Spot kNumber = spot("chip.number.value"), kHome = spot("chip.number.home");
constexpr Spot kNode = spot("interface.node.number"), kHeld = spot("interface.sending.held"),
               kTable = spot("interface.sending.table");
constexpr Spot kUp = spot("link.state.up"), kNeighbour = spot("link.neighbour"),
               kSeenKind = spot("link.neighbour.kind"), kSeenPort = spot("link.neighbour.port"),
               kSeenNumber = spot("link.neighbour.number");
constexpr Spot kValid = spot("route.entry.valid"), kChoices = spot("route.entry.choices"),
               kOut = spot("route.entry.port"), kClass = spot("route.entry.channel_class");
constexpr Spot kStandby = spot("standby.entry"), kCopy = spot("copy.tables");
constexpr Spot kWayValid = spot("way.port.valid"), kWayPort = spot("way.port.number");
constexpr std::uint64_t kMostWays = std::uint64_t{1} << 32;  // numbers that managers may give
constexpr std::uint64_t kMostClasses = 256;                  // of channels that tables may tell apart

std::uint64_t encode(const RouteEntry& e) {
  if (e.port == kNoPort) return 0;
  return kOut.in(kClass.in(kChoices.in(kValid.in(0, 1), e.choices), e.channel_class), e.port);
}

RouteEntry decode(std::uint64_t value) {
  if (!kValid.of(value)) return {};
  return {static_cast<std::uint16_t>(kOut.of(value)), static_cast<std::uint8_t>(kClass.of(value)),
          static_cast<std::uint8_t>(std::min<std::uint64_t>(kChoices.of(value), 255))};
}

std::uint64_t seen(const Graph& graph, const Plug& plug) {
  switch (plug.kind) {
    case Plug::Kind::Router:
      return kSeenKind.in(
          kSeenPort.in(kSeenNumber.in(0, graph.port_router(plug.number)), graph.port_index(plug.number)),
          kRouterSeen);
    case Plug::Kind::Interface:
      return kSeenKind.in(kSeenNumber.in(0, plug.number), kInterfaceSeen);
    case Plug::Kind::Unknown:
      return kSeenKind.in(0, kStrangerSeen);
    case Plug::Kind::Nothing:
      break;
  }
  return kSeenKind.in(0, kNobodySeen);
}

}  // namespace

Chips::Chips(const machine::Machine& machine, const Wiring& wiring, EndpointId manager)
    : machine_(machine),
      wiring_(wiring),
      node_(manager),
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

/// There and back; false where a request or its answer comes nowhere.
bool Chips::walk(const Target& target, Place& place, Time& taken) const {
  const Graph& graph = *machine_.graph;
  RouterId at = start_;
  auto go = [&](std::uint16_t port) {
    const PortId out = graph.port(at, port);
    const Plug plug = wiring_.at(out);
    if (plug.kind != Plug::Kind::Router) return false;
    taken = taken + hop_time(out);
    place.came_by = graph.port_index(plug.number);
    at = graph.port_router(plug.number);
    return true;
  };
  for (std::size_t hops = 0; target.what != What::Own && routers_[at].number != target.chip; ++hops) {
    const std::vector<Way>& ways = routers_[at].ways;
    auto way = std::lower_bound(ways.begin(), ways.end(), target.chip,
                                [](const Way& w, ChipNumber number) { return w.to < number; });
    if (way == ways.end() || way->to != target.chip || hops > routers_.size() || !go(way->port)) return false;
  }
  if ((target.what == What::BeyondPort || target.what == What::Interface) &&
      target.port >= graph.port_count(at))
    return false;
  if (target.what == What::BeyondPort && !go(target.port)) return false;
  place.router = at;
  if (target.what == What::Interface) {
    const Plug plug = wiring_.at(graph.port(at, target.port));
    if (plug.kind != Plug::Kind::Interface) return false;
    place.interface = plug.number;
  }
  const std::uint16_t came_by = place.came_by;
  bool back = true;
  if (target.what == What::BeyondPort && at != start_) back = go(came_by);
  for (std::size_t hops = 0; back && at != start_; ++hops)
    back = hops <= routers_.size() && routers_[at].home != kNoPort && go(routers_[at].home);
  place.came_by = came_by;
  return back;
}

std::optional<Chips::Place> Chips::reach(const Target& target) {
  const machine::NicParameters& nic = machine_.description.nic;
  Place place;
  Time taken = nic.send_latency + nic.receive_latency;
  if (target.what != What::Own) taken = taken + nic.send_latency + nic.receive_latency;
  const bool reached = walk(target, place, taken);
  time_ = time_ + (reached ? taken : kGivenUp);
  if (!reached) return std::nullopt;
  return place;
}

bool Chips::find(const Place& place, std::uint64_t offset, Word& word) const {
  const Graph& graph = *machine_.graph;
  const bool router = place.interface == kNone;
  const auto blocks = [&](std::uint64_t block) -> std::uint64_t {
    if (!router) return 1;
    if (block == kWayValid.offset) return kMostWays;
    const std::uint64_t ports = graph.port_count(place.router);
    if (block != kValid.offset && block != kStandby.offset) return ports;
    return (1 + ports * kMostClasses) * graph.endpoints();
  };
  return find_word(router, offset, blocks, word);
}

std::uint64_t Chips::manager_of(const Place& place) const {
  return place.interface == kNone ? routers_[place.router].manager : interfaces_[place.interface].manager;
}

Status Chips::read(const Target& target, std::uint64_t offset, std::span<std::uint64_t> values) {
  ++reads_;
  const auto place = reach(target);
  if (!place) return Status::Unreachable;
  if (values.size() > kMostAtOnce) return Status::BadLength;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Word word;
    if (!find(*place, offset + 8 * i, word)) return Status::BadRange;
    values[i] = value(*place, word) & word.rights->readable;
  }
  return Status::Ok;
}

Status Chips::write(const Target& target, std::uint64_t offset, std::span<const std::uint64_t> values) {
  ++writes_;
  const auto place = reach(target);
  if (!place) return Status::Unreachable;
  if (values.empty() || values.size() > kMostAtOnce) return Status::BadLength;
  const bool near = place->interface == kNone ? place->router == start_ : place->interface == node_;
  const Who asker = who(node_, near, manager_of(*place));
  Word first, last;
  if (!find(*place, offset, first) || !find(*place, offset + 8 * (values.size() - 1), last))
    return Status::BadRange;
  if (first.block == last.block && (first.block == kValid.offset || first.block == kStandby.offset)) {
    // A row of a table: all of it alike.
    if (!may_write(first, asker, 0, ~std::uint64_t{0})) return Status::NoRight;
    store_routes(tables_[first.block == kStandby.offset][place->router], first.index, values);
    return Status::Ok;
  }
  for (bool checked : {false, true})
    for (std::size_t i = 0; i < values.size(); ++i) {
      Word word;
      if (!find(*place, offset + 8 * i, word)) return Status::BadRange;
      if (!checked && !may_write(word, asker, value(*place, word), values[i])) return Status::NoRight;
      if (checked) store(*place, word, values[i]);
    }
  return Status::Ok;
}

std::uint64_t Chips::link_value(RouterId router, const Word& word) const {
  const Graph& graph = *machine_.graph;
  const Plug& plug = wiring_.at(graph.port(router, static_cast<topology::PortIndex>(word.index)));
  if (word.offset == kNeighbour.offset) return seen(graph, plug);
  return kUp.in(0, plug.kind != Plug::Kind::Nothing);
}

std::uint64_t Chips::router_value(const Place& place, const Word& word) const {
  const Router& router = routers_[place.router];
  switch (word.block) {
    case kUp.offset:
      return link_value(place.router, word);
    case kValid.offset:
    case kStandby.offset: {
      const std::vector<RouteEntry>& table = tables_[word.block == kStandby.offset][place.router];
      return word.index < table.size() ? encode(table[word.index]) : 0;
    }
    case kWayValid.offset: {
      for (const Way& way : router.ways)
        if (way.to == word.index) return kWayPort.in(kWayValid.in(0, 1), way.port);
      return 0;
    }
    default:
      if (word.offset == kNumber.offset) return kHome.in(kNumber.in(0, router.number), router.home);
      return 0;
  }
}

std::uint64_t Chips::value(const Place& place, const Word& word) const {
  const Graph& graph = *machine_.graph;
  const bool is_router = place.interface == kNone;
  switch (word.offset) {
    case kIdentityNode.offset:
      return kIdentityRouter.in(kIdentityNode.in(0, is_router ? 0 : place.interface), place.router);
    case kIsRouter.offset:
      return kIsRouter.in(kLinks.in(0, is_router ? graph.port_count(place.router) : 1), is_router);
    case kEndpoints.offset:
      return kRouters.in(kEndpoints.in(0, graph.endpoints()), graph.routers());
    case kManager.offset:
      return manager_of(place);
    default:
      break;
  }
  if (is_router) return router_value(place, word);
  const Interface& interface = interfaces_[place.interface];
  if (word.offset == kNode.offset) return interface.node;
  if (word.offset == kHeld.offset) return kTable.in(kHeld.in(0, interface.held), interface.table);
  return 0;
}

void Chips::store(const Place& place, const Word& word, std::uint64_t value) {
  if (place.interface != kNone) {
    Interface& interface = interfaces_[place.interface];
    if (word.offset == kManager.offset) interface.manager = value;
    if (word.offset == kNode.offset) interface.node = static_cast<std::uint32_t>(value);
    if (word.offset == kHeld.offset) {
      interface.held = kHeld.of(value);
      interface.table = static_cast<std::uint8_t>(kTable.of(value));
    }
    return;
  }
  Router& router = routers_[place.router];
  if (word.offset == kManager.offset) router.manager = value;
  if (word.offset == kNumber.offset) {
    router.number = static_cast<ChipNumber>(kNumber.of(value));
    router.home = place.router == start_ ? kNoPort : place.came_by;
    router.ways.clear();
  }
  if (word.offset == kCopy.offset && (value == 1 || value == 2))
    tables_[value - 1][place.router] = tables_[2 - value][place.router];
  if (word.block != kWayValid.offset) return;
  const auto to = static_cast<ChipNumber>(word.index);
  auto at = std::lower_bound(router.ways.begin(), router.ways.end(), to,
                             [](const Way& w, ChipNumber number) { return w.to < number; });
  const Way way{to, static_cast<std::uint16_t>(kWayPort.of(value))};
  if (at != router.ways.end() && at->to == to)
    *at = way;
  else
    router.ways.insert(at, way);
}

void Chips::store_routes(std::vector<RouteEntry>& table, std::uint64_t first,
                         std::span<const std::uint64_t> values) {
  if (table.size() < first + values.size()) table.resize(first + values.size());
  for (std::size_t i = 0; i < values.size(); ++i) table[first + i] = decode(values[i]);
}

bool Chips::write_one(const Target& target, std::uint64_t offset, std::uint64_t value) {
  return write(target, offset, {&value, 1}) == Status::Ok;
}

/// Says who the manager is, before anything else is written there.
bool Chips::claim(const Target& target) {
  const std::uint64_t next = successor_ == kNone ? 0 : std::uint64_t{successor_} + 1;
  return write_one(target, kManager.offset, kSuccessor.in(kManagerNode.in(0, node_), next));
}

std::optional<Chips::Identity> Chips::read_identity(ChipNumber chip) {
  std::array<std::uint64_t, 2> words{};  // chip.identity and chip.kind, which follow each other
  static_assert(kIsRouter.offset == kIdentityNode.offset + 8);
  if (read({What::Router, chip}, kIdentityNode.offset, words) != Status::Ok) return std::nullopt;
  return Identity{static_cast<RouterId>(kIdentityRouter.of(words[0])),
                  static_cast<std::uint32_t>(kLinks.of(words[1]))};
}

std::optional<Neighbour> Chips::read_neighbour(ChipNumber chip, std::uint16_t port) {
  std::uint64_t word = 0;
  if (read({What::Router, chip}, kNeighbour.at(port), {&word, 1}) != Status::Ok) return std::nullopt;
  Neighbour out;
  out.number = static_cast<std::uint32_t>(kSeenNumber.of(word));
  out.port = static_cast<std::uint16_t>(kSeenPort.of(word));
  switch (kSeenKind.of(word)) {
    case kRouterSeen:
      out.kind = Plug::Kind::Router;
      break;
    case kInterfaceSeen:
      out.kind = Plug::Kind::Interface;
      break;
    case kStrangerSeen:
      out.kind = Plug::Kind::Unknown;
      break;
    default:
      break;
  }
  return out;
}

std::optional<std::uint64_t> Chips::read_links(ChipNumber chip, std::uint32_t all) {
  std::uint64_t up = 0;
  constexpr std::uint32_t kAtOnce = kMostAtOnce / 2;  // ports: each has two registers
  for (std::uint32_t first = 0; first < all; first += kAtOnce) {
    std::array<std::uint64_t, kMostAtOnce> words{};
    const std::uint32_t ports = std::min(kAtOnce, all - first);
    if (read({What::Router, chip}, kUp.at(first), {words.data(), std::size_t{ports} * 2}) != Status::Ok)
      return std::nullopt;
    for (std::uint32_t i = 0; i < ports; ++i)
      if (kUp.of(words[std::size_t{i} * 2])) up += (up + first + i + 1) * 0x9e3779b97f4a7c15ull;
  }
  return up;
}

bool Chips::write_way(ChipNumber chip, ChipNumber to, std::uint16_t port) {
  return write_one({What::Router, chip}, kWayValid.at(to), kWayPort.in(kWayValid.in(0, 1), port));
}

bool Chips::write_number(ChipNumber before, std::uint16_t port, ChipNumber number) {
  const Target there{What::BeyondPort, before, port};
  return claim(there) && write_one(there, kNumber.offset, kNumber.in(kHome.in(0, kNoPort), number));
}

bool Chips::write_own_number(ChipNumber number) {
  const Target own{What::Own};
  return claim(own) && write_one(own, kNumber.offset, kNumber.in(kHome.in(0, kNoPort), number));
}

bool Chips::write_node(ChipNumber chip, std::uint16_t port, std::uint32_t node) {
  const Target there{What::Interface, chip, port};
  return claim(there) && write_one(there, kNode.offset, node);
}

std::optional<Chips::Sending> Chips::read_sending(ChipNumber chip, std::uint16_t port) {
  std::uint64_t word = 0;
  if (read({What::Interface, chip, port}, kHeld.offset, {&word, 1}) != Status::Ok) return std::nullopt;
  return Sending{kHeld.of(word) != 0, static_cast<unsigned>(kTable.of(word))};
}

bool Chips::write_sending(ChipNumber chip, std::uint16_t port, Sending sending) {
  return write_one({What::Interface, chip, port}, kHeld.offset,
                   kTable.in(kHeld.in(0, sending.held), sending.table));
}

bool Chips::write_copy(ChipNumber chip, unsigned from_table) {
  return write_one({What::Router, chip}, kCopy.offset, from_table == 1 ? 1 : 2);
}

bool Chips::write_routes(ChipNumber chip, unsigned table, std::uint64_t first,
                         std::span<const RouteEntry> entries) {
  std::array<std::uint64_t, kMostAtOnce> words{};
  if (entries.size() > kMostAtOnce) return false;
  std::transform(entries.begin(), entries.end(), words.begin(), encode);
  const Spot& start = table ? kStandby : kValid;
  return write({What::Router, chip}, start.at(first), {words.data(), entries.size()}) == Status::Ok;
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
