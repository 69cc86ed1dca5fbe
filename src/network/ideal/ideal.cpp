// The ideal engine: every packet takes the time its way takes an undisturbed packet. A source sends one
// packet after the other; inside the network nobody waits for anybody. For tests, and for "how much is the
// network to blame".
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/virtual_time.hpp"
#include "config/registry.hpp"
#include "event/event_queue.hpp"
#include "machine/router_reduction.hpp"
#include "network/network.hpp"
#include "network/reduction.hpp"

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

class Ideal : public Network, public Reducer {
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

  bool reduces() const override { return machine::router_reduction(machine_.description).there_is(); }
  GroupNumber reduction(std::span<const EndpointId> members, EndpointId root, unsigned rounds) override;
  /// Routers of this engine have room for all.
  void end_reduction(GroupNumber) override {}
  void take_round(GroupNumber number, std::uint64_t which, std::vector<Tag>& tags) override {
    Reduction& r = reductions_[number & ~kReductionBit];
    Round& round = r.rounds[which % r.rounds.size()];
    tags.insert(tags.end(), round.tags.begin(), round.tags.end());
    round = Round(r.members.size());
  }
  const routing::FoldOrder& order(GroupNumber number) const override {
    return reductions_[number & ~kReductionBit].order;
  }

 private:
  struct Round {
    explicit Round(std::size_t members) : tags(members), at(members), begun(members) {}
    std::uint64_t which = 0, bytes = 0;
    std::vector<Tag> tags;    // by member
    std::vector<Time> at;     // when it started to send
    std::vector<bool> begun;  // it has
    std::size_t count = 0;
  };
  struct Reduction {
    std::vector<EndpointId> members;
    routing::ReductionTree tree;
    routing::FoldOrder order;
    std::vector<Round> rounds;
  };

  void contribute(const Packet& packet, Time start, Time left);
  Time round_time(const Reduction& reduction, const Round& round) const;
  void accept(const Packet& packet, Time at) override {
    Time start = std::max(at, free_at_[packet.source]);
    Time left = later(start, transfer_time(packet.bytes, fastest_));
    free_at_[packet.source] = left;
    push(left, packet.tag, Notice::Kind::Departed);
    if (is_reduction(packet.group)) return contribute(packet, start, left);
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
  std::vector<Reduction> reductions_;
  std::unordered_map<std::uint64_t, Way> ways_;
  routing::Candidates candidates_;
};

GroupNumber Ideal::reduction(std::span<const EndpointId> members, EndpointId root, unsigned rounds) {
  const routing::MulticastTrees trees(*machine_.graph, *machine_.faults);
  routing::ReductionTree tree = routing::grow_reduction(*machine_.graph, trees, members, root);
  if (!tree.whole) return kNoGroup;
  const auto number = static_cast<GroupNumber>(reductions_.size());
  routing::FoldOrder order = tree.order();
  reductions_.push_back({{members.begin(), members.end()},
                         std::move(tree),
                         std::move(order),
                         std::vector<Round>(rounds, Round(members.size()))});
  return number | kReductionBit;
}

/// When all members have sent a round it is known when its packets join, and when what is left is there.
void Ideal::contribute(const Packet& packet, Time start, Time left) {
  Reduction& r = reductions_[packet.group & ~kReductionBit];
  const auto member = static_cast<std::size_t>(
      std::lower_bound(r.members.begin(), r.members.end(), packet.source) - r.members.begin());
  WEFT_CHECK(member < r.members.size() && r.members[member] == packet.source,
             "a member of the reduction it sends to");
  Round& round = r.rounds[packet.destination % r.rounds.size()];
  if (round.begun[member] || (round.count && round.which != packet.destination))
    return push(left, packet.tag, Notice::Kind::Lost);
  round.which = packet.destination;
  round.bytes = std::max(round.bytes, packet.bytes);
  round.begun[member] = true;
  round.tags[member] = packet.tag;
  round.at[member] = start;
  if (++round.count < r.members.size()) return;
  // What the network tells is never before what it has told.
  push(std::max(left, round_time(r, round)), round.tags[0], Notice::Kind::Delivered);
}

/// A joint sends when all are there as a whole, and its units have taken their time.
Time Ideal::round_time(const Reduction& reduction, const Round& round) const {
  const topology::Graph& graph = *machine_.graph;
  const Time units = machine::router_reduction(machine_.description).time;
  struct Head {
    Time at{0};            // its first bit
    std::int64_t slowest;  // of what it has crossed since the last joint
  };
  std::vector<Head> heads(reduction.tree.stops.size());  // on the way out of each stop
  for (std::size_t s = 0; s < reduction.tree.stops.size(); ++s) {
    const routing::ReductionStop& stop = reduction.tree.stops[s];
    std::vector<Head> in;
    for (std::uint32_t member : stop.members) in.push_back({round.at[member], fastest_});
    for (std::uint32_t child : stop.children) {
      const topology::CableId cable = graph.port_cable(reduction.tree.stops[child].out);
      const topology::CableType& type = graph.cable_type(cable);
      in.push_back({later(heads[child].at, type.flight_time(graph.cable_length(cable))),
                    std::min(heads[child].slowest, type.rate().value)});
    }
    Head& out = heads[s];
    out = in.front();
    if (stop.joins()) {
      out = {Time{0}, fastest_};
      for (const Head& head : in)
        out.at = std::max(out.at, later(head.at, transfer_time(round.bytes, head.slowest)));
      out.at = later(out.at, units);
    }
    out.at = later(out.at, machine_.description.router.latency);
  }
  return later(heads.back().at, transfer_time(round.bytes, heads.back().slowest));
}

std::unique_ptr<Network> make(const machine::Machine& machine, const EngineOptions&) {
  return std::make_unique<Ideal>(machine);
}

WEFT_REGISTER(EngineKind,
              {"ideal", "latency of the way and size over bandwidth; nobody is in anybody's way", make});

}  // namespace

}  // namespace weft::network
