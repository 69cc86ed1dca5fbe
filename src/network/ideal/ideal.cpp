// The ideal engine: every packet takes the time its way takes an undisturbed packet. A source sends one
// packet after the other; inside the network nobody waits for anybody. For tests, and for "how much is the
// network to blame".
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/virtual_time.hpp"
#include "config/registry.hpp"
#include "event/event_queue.hpp"
#include "network/groups.hpp"
#include "network/network.hpp"

namespace weft::network {

namespace {

using topology::kNone;
using topology::PortId;
using topology::RouterId;

/// What an undisturbed packet meets between two routers, both included.
struct Way {
  Time latency{0};
  std::int64_t slowest = 0;  // bits per second; 0: there is no way
};

class Ideal : public Network {
 public:
  explicit Ideal(const machine::Machine& machine) : machine_(machine), free_at_(machine.graph->endpoints()) {
    const topology::Graph& graph = *machine.graph;
    for (topology::CableId c = 0; c < graph.cables(); ++c)
      fastest_ = std::max(fastest_, graph.cable_type(c).rate().value);
    const auto& router = machine.description.router;
    if (router.clock.value > 0) fastest_ = router.clock.value * router.flit.value * 8;
    if (fastest_ == 0) fastest_ = graph.cable_types().front().rate().value;
    multicasts_ =
        machine.description.router_kind->model(machine.description.router_parameters.get()).multicast;
  }

  bool idle() const override { return queue_.empty(); }
  bool multicasts() const override { return multicasts_; }
  GroupNumber group(std::span<const EndpointId> members) override {
    WEFT_CHECK(multicasts_, "a packet for many is sent only where routers copy it");
    return groups_.number(members);
  }

 private:
  void accept(const Packet& packet, Time at) override {
    Time start = std::max(at, free_at_[packet.source]);
    Time left = later(start, transfer_time(packet.bytes, fastest_));
    free_at_[packet.source] = left;
    push(left, packet.tag, Notice::Kind::Departed);
    if (packet.group == kNoGroup) return bring(packet, packet.destination, kNone, start, left);
    // Copies are in nobody's way, so each takes the time of a packet to its member alone.
    for (EndpointId member : groups_.members(packet.group))
      if (member != packet.source) bring(packet, member, member, start, left);
  }

  void bring(const Packet& packet, EndpointId to, EndpointId where, Time start, Time left) {
    const Way& way =
        way_between(machine_.graph->endpoint_router(packet.source), machine_.graph->endpoint_router(to));
    if (way.slowest == 0) {
      push(left, packet.tag, Notice::Kind::Lost, where);
    } else {
      push(later(start, way.latency + transfer_time(packet.bytes, way.slowest)), packet.tag,
           Notice::Kind::Delivered, where);
    }
  }

  void run(Time until, std::vector<Notice>& notices) override {
    if (queue_.empty()) return;
    const Time first = queue_.top().at;
    while (!queue_.empty() && queue_.top().at <= until && in_batch(first, queue_.top().at)) {
      const event::Event told = queue_.pop();
      notices.push_back({told.data, told.at, static_cast<Notice::Kind>(told.kind), told.component - 1});
    }
  }

  /// `where` of one that is not for many is kNone, and one more than that is 0.
  void push(Time at, Tag tag, Notice::Kind kind, EndpointId where = kNone) {
    queue_.push(at, where + 1, static_cast<std::uint32_t>(kind), tag);
  }

  const Way& way_between(RouterId from, RouterId to) {
    auto [at, fresh] = ways_.try_emplace(std::uint64_t{from} << 32 | to);
    if (fresh) at->second = walk(from, to);
    return at->second;
  }

  /// Follows the routing's first choice.
  Way walk(RouterId from, RouterId to) {
    const topology::Graph& graph = *machine_.graph;
    Way way{machine_.description.router.latency, fastest_};
    if (machine_.faults->router_dead(from) || machine_.faults->router_dead(to)) return {};
    routing::Hop hop{from};
    hop.target = graph.first_endpoint(to);
    for (std::uint32_t steps = 0; hop.router != to; ++steps) {
      machine_.routing->candidates(hop, candidates_);
      if (candidates_.empty() || steps > graph.routers()) return {};
      PortId out = graph.port(hop.router, candidates_[0].port);
      PortId in = graph.peer(out);
      topology::CableId cable = graph.port_cable(out);
      const topology::CableType& type = graph.cable_type(cable);
      way.latency =
          way.latency + type.flight_time(graph.cable_length(cable)) + machine_.description.router.latency;
      way.slowest = std::min(way.slowest, type.rate().value);
      hop.in_class = candidates_[0].channel_class;
      hop.router = graph.port_router(in);
      hop.in_port = graph.port_index(in);
    }
    return way;
  }

  const machine::Machine& machine_;
  std::int64_t fastest_ = 0;   // bits per second between an endpoint and its router
  std::vector<Time> free_at_;  // by endpoint
  event::EventHeap queue_;     // notices; the component is the member they are about
  bool multicasts_ = false;
  Groups groups_;
  std::unordered_map<std::uint64_t, Way> ways_;
  routing::Candidates candidates_;
};

std::unique_ptr<Network> make(const machine::Machine& machine, const EngineOptions&) {
  return std::make_unique<Ideal>(machine);
}

WEFT_REGISTER(EngineKind,
              {"ideal", "latency of the way and size over bandwidth; nobody is in anybody's way", make});

}  // namespace

}  // namespace weft::network
