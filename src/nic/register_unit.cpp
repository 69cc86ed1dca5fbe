#include "nic/register_unit.hpp"

#include <algorithm>
#include <cstring>

namespace weft::nic {

namespace {

using namespace abi::registers;
using topology::kNone;
using topology::PortId;
using topology::PortIndex;
using PortState = network::Network::PortState;

constexpr Spot kIdentityNode = spot("chip.identity.node"), kIdentityRouter = spot("chip.identity.router");
constexpr Spot kIsRouter = spot("chip.kind.router"), kCounts = spot("chip.kind.counts"),
               kLinks = spot("chip.kind.links"), kConnected = spot("chip.kind.connected");
constexpr Spot kEndpoints = spot("chip.machine.endpoints"), kRouters = spot("chip.machine.routers");
constexpr Spot kDone = spot("chip.accesses.done"), kRefused = spot("chip.accesses.refused");
constexpr Spot kManager = spot("chip.manager"), kMark = spot("chip.mark"), kScratch = spot("chip.scratch"),
               kClear = spot("chip.clear");
constexpr Spot kPortsAvailable = spot("interface.ports.available"), kPortsOpen = spot("interface.ports.open");
constexpr Spot kPayload = spot("interface.limits.payload"), kMessage = spot("interface.limits.message");
constexpr Spot kUp = spot("link.state.up"), kLanes = spot("link.state.lanes"),
               kRate = spot("link.state.rate");
constexpr Spot kSeenKind = spot("link.neighbour.kind"), kSeenPort = spot("link.neighbour.port"),
               kSeenNumber = spot("link.neighbour.number");
constexpr Spot kValid = spot("route.entry.valid"), kChoices = spot("route.entry.choices"),
               kOut = spot("route.entry.port"), kClass = spot("route.entry.channel_class");
constexpr Spot kStandby = spot("standby.entry"), kWay = spot("way.port"), kCopy = spot("copy.tables");
constexpr Spot kNumber = spot("chip.number"), kHeld = spot("interface.sending"),
               kNodeNumber = spot("interface.node");

std::uint64_t neighbour(std::uint64_t kind, std::uint64_t number, PortIndex port) {
  return kSeenKind.in(kSeenPort.in(kSeenNumber.in(0, number), port), kind);
}

}  // namespace

RegisterUnit::File& RegisterUnit::file(ChipNumber chip) {
  if (chip == kInterfaceChip) return own_;
  return routers_.try_emplace(router_of(chip), File{.manager = context_.nic.manager}).first->second;
}

Status RegisterUnit::check_chip(ChipNumber chip) const {
  if (chip == kInterfaceChip) return Status::Ok;
  if (context_.chips.node_of(chip) != node()) return Status::BadKey;
  const topology::Graph& graph = *context_.machine.graph;
  const topology::RouterId router = router_of(chip);
  if (graph.endpoint_count(router)) return Status::Ok;
  for (std::uint32_t p = 0; p < graph.port_count(router); ++p)
    if (port_up(graph.port(router, static_cast<PortIndex>(p)))) return Status::Ok;
  return Status::Unreachable;  // no cable of it is up
}

/// While a machine runs its routes are the run's to change (rerouting.by): what a manager writes of them
/// before is read only.
bool RegisterUnit::is_kept(const Word& word) {
  return word.offset == kManager.offset || word.offset == kMark.offset || word.offset == kScratch.offset ||
         word.offset == kClear.offset;
}

/// Classes of channels that the routing in force tells apart by input.
std::uint64_t RegisterUnit::table_classes() const {
  const routing::Routing* changed = context_.network.routes_in_force();
  const routing::Routing& routing = changed ? *changed : *context_.machine.routing;
  return routing.uses_input() ? routing.classes() : 1;
}

/// How many blocks of a kind a chip has.
std::uint64_t RegisterUnit::indices(ChipNumber chip, std::uint64_t block) const {
  const topology::Graph& graph = *context_.machine.graph;
  const std::uint64_t ports = chip ? graph.port_count(router_of(chip)) : 1;
  if (block == kValid.offset) return (ports * table_classes() + 1) * graph.endpoints();
  return block == kStandby.offset || block == kWay.offset ? 0 : ports;  // before a machine runs
}

Status RegisterUnit::find(const Header& request, std::uint64_t offset, Word& word) const {
  const bool router = request.remote_key != kInterfaceChip;
  const auto blocks = [&](std::uint64_t block) { return indices(request.remote_key, block); };
  return find_word(router, offset, blocks, word) ? Status::Ok : Status::BadRange;
}

Time RegisterUnit::serve(const Header& request, Time ready) {
  File& of = file(request.remote_key);
  of.free = std::max(of.free, ready + way_back(request)) +
            Time{context_.nic.register_access.value * static_cast<std::int64_t>(request.length / 8)};
  return of.free;
}

/// Of the node that a request comes from.
Who RegisterUnit::asker(const Header& request) {
  const topology::EndpointId node_of = context_.nodes[request.from];
  const topology::Graph& graph = *context_.machine.graph;
  const bool near = request.remote_key ? graph.endpoint_router(node_of) == router_of(request.remote_key)
                                       : node_of == node();
  return who(node_of, near, file(request.remote_key).manager);
}

Status RegisterUnit::read(const Header& request, std::vector<std::uint8_t>& values) {
  if (Status status = check_chip(request.remote_key); status != Status::Ok) return status;
  File& of = file(request.remote_key);
  values.resize(request.length);
  for (std::uint64_t at = 0; at < request.length; at += 8) {
    Word word;
    if (Status status = find(request, request.remote_offset + at, word); status != Status::Ok) {
      ++of.refused;
      return status;
    }
    const std::uint64_t read = value(request.remote_key, word) & word.rights->readable;
    std::memcpy(values.data() + at, &read, 8);
    ++of.done;
  }
  return Status::Ok;
}

Status RegisterUnit::write(const Header& request, std::span<const std::uint8_t> values) {
  if (Status status = check_chip(request.remote_key); status != Status::Ok) return status;
  File& of = file(request.remote_key);
  for (bool checked : {false, true}) {  // all of it, or nothing
    for (std::uint64_t at = 0; at + 8 <= values.size(); at += 8) {
      Word word;
      Status status = find(request, request.remote_offset + at, word);
      std::uint64_t wanted = 0;
      std::memcpy(&wanted, values.data() + at, 8);
      if (status == Status::Ok && !checked) {
        if (!may_write(word, asker(request), value(request.remote_key, word), wanted))
          status = Status::NoRight;
        else if (!is_kept(word))
          status = Status::BadOperation;
      }
      if (status != Status::Ok) {
        ++of.refused;
        return status;
      }
      if (!checked) continue;
      store(request.remote_key, word, wanted);
      ++of.done;
    }
  }
  return Status::Ok;
}

void RegisterUnit::store(ChipNumber chip, const Word& word, std::uint64_t value) {
  File& of = file(chip);
  switch (word.offset) {
    case kManager.offset:
      of.manager = value;
      break;
    case kMark.offset:
      of.mark = value;
      break;
    case kScratch.offset:
      of.scratch = value;
      break;
    case kClear.offset:
      if (value & 1) clear_counters(chip);
      break;
    default:
      WEFT_CHECK(false, "a register that software writes and nobody keeps");
  }
}

void RegisterUnit::clear_counters(ChipNumber chip) {
  File& of = file(chip);
  if (chip == kInterfaceChip) {
    of.cleared = counters_;
    return;
  }
  const topology::Graph& graph = *context_.machine.graph;
  of.cleared_links.clear();
  for (std::uint32_t p = 0; p < graph.port_count(router_of(chip)); ++p)
    of.cleared_links.push_back(port_state(graph.port(router_of(chip), static_cast<PortIndex>(p))));
}

std::uint64_t RegisterUnit::value(ChipNumber chip, const Word& word) {
  const auto port = static_cast<PortIndex>(word.index);
  switch (word.block) {
    case kIdentityNode.offset:
      return chip_value(chip, word.offset);
    case kPortsAvailable.offset:
      return interface_value(word.offset);
    case kUp.offset:
      return link_value(chip, word.offset, port);
    case kValid.offset:
      return route_value(chip, word.index);
    case kCopy.offset:
      return 0;
    default:
      return traffic_value(chip, word.offset, port);
  }
}

std::uint64_t RegisterUnit::chip_value(ChipNumber chip, std::uint64_t offset) {
  const topology::Graph& graph = *context_.machine.graph;
  const topology::RouterId router = chip ? router_of(chip) : graph.endpoint_router(node());
  const File& of = file(chip);
  switch (offset) {
    case kIdentityNode.offset:
      return kIdentityRouter.in(kIdentityNode.in(0, node()), router);
    case kIsRouter.offset: {
      std::uint64_t connected = chip ? 0 : 1;
      const std::uint32_t ports = chip ? graph.port_count(router) : 1;
      for (std::uint32_t p = 0; chip && p < ports; ++p) {
        const PortId port = graph.port(router, static_cast<PortIndex>(p));
        connected += graph.peer(port) != kNone || graph.port_endpoint(port) != kNone;
      }
      const bool counts = chip && port_state(graph.port_begin(router)).counts;
      return kCounts.in(kIsRouter.in(kLinks.in(kConnected.in(0, connected), ports), chip != 0), counts);
    }
    case kEndpoints.offset:
      return kRouters.in(kEndpoints.in(0, graph.endpoints()), graph.routers());
    case kManager.offset:
      return of.manager;
    case kMark.offset:
      return of.mark;
    case kScratch.offset:
      return of.scratch;
    case kDone.offset:
      return kRefused.in(kDone.in(0, of.done), of.refused);
    case kNumber.offset:
      return router;
    default:
      return 0;  // chip.clear
  }
}

std::uint64_t RegisterUnit::interface_value(std::uint64_t offset) {
  const Counters &all = counters_, &gone = own_.cleared;
  switch (offset) {
    case kPortsAvailable.offset: {
      std::uint64_t open = 0;
      for (PortNo port = 0; port < ports_.size(); ++port) open += ports_.is_open(port);
      return kPortsOpen.in(kPortsAvailable.in(0, context_.nic.ports), open);
    }
    case kNodeNumber.offset:
      return node();
    case kHeld.offset:
      return 0;
    case kPayload.offset:
      return kMessage.in(kPayload.in(0, context_.payload),
                         static_cast<std::uint64_t>(context_.nic.message_limit.value));
    case spot("interface.packets_sent").offset:
      return all.packets_sent - gone.packets_sent;
    case spot("interface.packets_received").offset:
      return all.packets_received - gone.packets_received;
    case spot("interface.bytes_sent").offset:
      return all.bytes_sent - gone.bytes_sent;
    case spot("interface.bytes_received").offset:
      return all.bytes_received - gone.bytes_received;
    case spot("interface.failed").offset:
      return all.failed - gone.failed;
    case spot("interface.refused").offset:
      return all.refused - gone.refused;
    case spot("interface.retries").offset:
      return all.retries - gone.retries;
    default:
      return all.corrupted - gone.corrupted;
  }
}

PortState RegisterUnit::port_state(PortId port) const { return context_.network.port_state(port); }

bool RegisterUnit::port_up(PortId port) const {
  const topology::Graph& graph = *context_.machine.graph;
  const topology::Faults& faults = *context_.machine.faults;
  if (graph.port_endpoint(port) != kNone) return !faults.router_dead(graph.port_router(port));
  return faults.usable(graph, port) && port_state(port).up;
}

std::uint64_t RegisterUnit::link_value(ChipNumber chip, std::uint64_t offset, PortIndex index) const {
  const topology::Graph& graph = *context_.machine.graph;
  const PortId port = chip ? graph.port(router_of(chip), index) : graph.endpoint_port(node());
  const bool up = port_up(port);
  const PortId peer = graph.peer(port);
  if (offset == kUp.offset) {
    const PortState state = port_state(port);
    unsigned lanes = state.lanes;
    if (lanes == 0 && up && peer != kNone) lanes = graph.cable_type(graph.port_cable(port)).lanes;
    return kRate.in(kLanes.in(kUp.in(0, up), up ? lanes : 0),
                    up ? static_cast<std::uint64_t>(state.rate_share * 1000 + 0.5) : 0);
  }
  if (!up) return neighbour(kNobodySeen, 0, 0);
  if (!chip) return neighbour(kRouterSeen, graph.port_router(port), graph.port_index(port));
  if (graph.port_endpoint(port) != kNone) return neighbour(kInterfaceSeen, graph.port_endpoint(port), 0);
  return neighbour(kRouterSeen, graph.port_router(peer), graph.port_index(peer));
}

std::uint64_t RegisterUnit::traffic_value(ChipNumber chip, std::uint64_t offset, PortIndex index) {
  const PortState all = port_state(context_.machine.graph->port(router_of(chip), index));
  const File& of = file(chip);
  const PortState gone = of.cleared_links.empty() ? PortState{} : of.cleared_links[index];
  switch (offset) {
    case spot("traffic.sent").offset:
      return all.sent - gone.sent;
    case spot("traffic.received").offset:
      return all.received - gone.received;
    case spot("traffic.damaged").offset:
      return all.damaged - gone.damaged;
    case spot("traffic.sent_again").offset:
      return all.sent_again - gone.sent_again;
    default:
      return all.trainings - gone.trainings;
  }
}

/// What the routing answers; of one that computes its routes, what it would compute.
std::uint64_t RegisterUnit::route_value(ChipNumber chip, std::uint64_t index) const {
  const topology::Graph& graph = *context_.machine.graph;
  const topology::RouterId router = router_of(chip);
  const std::uint64_t row = index / graph.endpoints(), classes = table_classes();
  const auto target = static_cast<topology::EndpointId>(index % graph.endpoints());
  if (graph.endpoint_router(target) == router)
    return kOut.in(kChoices.in(kValid.in(0, 1), 1), graph.port_index(graph.endpoint_port(target)));
  routing::Hop hop{router};
  if (row) {
    const PortId port = graph.port(router, static_cast<PortIndex>((row - 1) / classes));
    if (graph.peer(port) == kNone && graph.port_endpoint(port) == kNone) return 0;  // nothing comes in there
    if (graph.peer(port) != kNone) {
      hop.in_port = graph.port_index(port);
      hop.in_class = static_cast<routing::ChannelClass>((row - 1) % classes);
    }
  }
  hop.target = target;
  const routing::Routing* changed = context_.network.routes_in_force();
  routing::Candidates out;
  (changed ? *changed : *context_.machine.routing).candidates(hop, out);
  if (out.empty()) return 0;
  return kOut.in(kClass.in(kChoices.in(kValid.in(0, 1), out.size()), out[0].channel_class), out[0].port);
}

}  // namespace weft::nic
