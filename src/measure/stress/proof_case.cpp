#include "measure/stress/proof_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "measure/stress/draws.hpp"
#include "network/cycle_engine.hpp"
#include "routing/verify.hpp"
#include "routing/vias.hpp"
#include "topology/dragonfly_shape.hpp"

namespace weft::measure {

namespace {

using network::Cycle;
using network::EndpointId;
using routing::kNone;
using routing::RouterId;
using routing::Routing;
using topology::Graph;

/// Routers that die together: a dragonfly's group, elsewhere a run of neighbours in number.
void draw_dead_group(Draws& draw, const Graph& graph, std::set<RouterId>& dead) {
  const auto* dragonfly = graph.shape_as<topology::DragonflyShape>();
  std::uint32_t size = dragonfly ? dragonfly->group_routers : draw.between(2, 4);
  RouterId first = draw.below(graph.routers()) / size * size;
  for (RouterId r = first; r < std::min(graph.routers(), first + size); ++r) dead.insert(r);
}

std::vector<std::string> draw_faults(Draws& draw, const Graph& graph) {
  std::set<RouterId> routers;
  std::set<std::string> cables;
  if (draw.one_in(3)) draw_dead_group(draw, graph, routers);
  if (draw.one_in(2))
    for (unsigned n = draw.between(1, 3); n > 0; --n) routers.insert(draw.below(graph.routers()));
  if (graph.cables() > 0 && draw.one_in(2))
    for (unsigned n = draw.between(1, 4); n > 0; --n)
      cables.insert(graph.port_name(graph.cable_ends(draw.below(graph.cables())).a));
  std::vector<std::string> out, names;
  for (const std::string& name : cables) names.push_back("\"" + name + "\"");
  if (!names.empty()) out.push_back(fmt::format("faults.dead_cables=[{}]", join(names, ", ")));
  names.clear();
  for (RouterId r : routers) names.push_back(std::to_string(r));
  if (!names.empty()) out.push_back(fmt::format("faults.dead_routers=[{}]", join(names, ", ")));
  return out;
}

/// Every living endpoint sends to every other one, a few times over: with the last packet all pairs have been
/// tried.
class AllPairs final : public network::Traffic {
 public:
  AllPairs(const machine::Machine& m, unsigned rounds) : rounds_(rounds), made_(m.graph->endpoints()) {
    for (EndpointId e = 0; e < m.graph->endpoints(); ++e)
      if (!m.faults->router_dead(m.graph->endpoint_router(e))) alive_.push_back(e);
    place_.assign(m.graph->endpoints(), kNone);
    for (std::uint32_t i = 0; i < alive_.size(); ++i) place_[alive_[i]] = i;
  }
  std::uint64_t packets() const {
    return rounds_ * alive_.size() * (alive_.size() - (alive_.empty() ? 0 : 1));
  }

  Cycle first(EndpointId source) override {
    return place_[source] == kNone || alive_.size() < 2 ? network::kNever : 0;
  }
  bool create(EndpointId source, Cycle now, network::NewPacket& packet, Cycle& next) override {
    std::uint32_t others = static_cast<std::uint32_t>(alive_.size()) - 1, number = made_[source]++;
    packet.destination = alive_[(place_[source] + 1 + number % others) % alive_.size()];
    packet.flits = 2;
    packet.tag = number;
    next = number + 1 < rounds_ * others ? now + 3 : network::kNever;
    return true;
  }

 private:
  std::uint32_t rounds_;
  std::vector<EndpointId> alive_;
  std::vector<std::uint32_t> place_, made_;
};

struct Count final : network::Observer {
  void delivered(const network::Delivery&) override { ++packets; }
  std::uint64_t packets = 0;
};

/// Runs all pairs; fills in what happened.
void run_all_pairs(const machine::Machine& m, ProofOutcome& out) {
  std::unique_ptr<network::CycleEngine> made;
  try {
    made = network::cycle_engine().make(m, {.largest_packet_flits = 2});
  } catch (const UserError& error) {
    out.refused = true;
    out.run = error.what();
    return;
  }
  network::CycleEngine& engine = *made;
  AllPairs traffic(m, m.routing->via_count() ? 8 : 2);
  Count count;
  const Cycle most = 4'000'000, patience = 20'000;
  while (count.packets < traffic.packets() && !engine.stalled() && engine.now() < most)
    engine.run(traffic, {&count}, engine.now() + 5000, patience);
  out.delivered = count.packets == traffic.packets();
  out.run =
      fmt::format("{} of {} delivered{}", with_commas(count.packets), count_of(traffic.packets(), "packet"),
                  engine.stalled() ? ", nothing moves any more" : "");
}

/// A search of its own for what a proof claims: can a packet come to a state without a way on, or round to
/// one it was in? Also tells where packets arrive.
class Walk {
 public:
  explicit Walk(const Routing& routing) : routing_(routing), graph_(routing.graph()) {}

  bool can_fail(RouterId from, std::uint32_t target, bool via_leg, bool second_leg,
                std::set<RouterId>* arrivals = nullptr) {
    target_ = target, via_leg_ = via_leg, second_leg_ = second_leg, arrivals_ = arrivals;
    done_.clear(), open_.clear();
    return fails({from, routing::kInjected, 0});
  }

 private:
  struct State {
    RouterId router;
    routing::PortIndex port;
    routing::ChannelClass channel_class;
    auto operator<=>(const State&) const = default;
  };

  bool arrived(RouterId r) const {
    return via_leg_ ? routing_.via_reached(r, target_) : r == graph_.endpoint_router(target_);
  }

  bool fails(State s) {
    if (arrived(s.router)) {
      if (arrivals_) arrivals_->insert(s.router);
      return false;
    }
    if (open_.contains(s)) return true;
    if (!done_.insert(s).second) return false;
    open_.insert(s);
    routing::Candidates ways;
    routing_.candidates({s.router, s.port, s.channel_class, via_leg_, target_, second_leg_}, ways);
    bool bad = ways.empty();
    for (const routing::Candidate& way : ways) {
      topology::PortId in = graph_.peer(graph_.port(s.router, way.port));
      bad |= fails({graph_.port_router(in), graph_.port_index(in), way.channel_class});
    }
    open_.erase(s);
    return bad;
  }

  const Routing& routing_;
  const Graph& graph_;
  std::uint32_t target_ = 0;
  bool via_leg_ = false, second_leg_ = false;
  std::set<RouterId>* arrivals_ = nullptr;
  std::set<State> done_, open_;
};

/// Is a pair that a proof calls broken truly without a way that always ends?
bool is_broken(const Routing& routing, const routing::BrokenPair& pair) {
  Walk walk(routing);
  auto by_way_of = [&](std::uint32_t via) {
    std::set<RouterId> arrivals;
    bool bad = walk.can_fail(pair.source, via, true, false, &arrivals);
    for (RouterId r : arrivals) bad |= walk.can_fail(r, pair.destination, false, true);
    return bad;
  };
  if (pair.via != kNone) return by_way_of(pair.via);
  if (!walk.can_fail(pair.source, pair.destination, false, false)) return false;
  if (!routing.vias()) return true;
  // Nothing is said to serve it: neither the direct way nor any place.
  for (std::uint32_t via = 0; via < routing.via_count(); ++via)
    if (!routing.via_reached(pair.source, via) &&
        routing.vias()->serves(pair.source, via, routing.graph().endpoint_router(pair.destination)))
      return false;
  return true;
}

std::string compare(const machine::Machine& m, const routing::Verdict& v, const ProofOutcome& out) {
  if (out.refused) return v.enough_channels ? "the proof passes a machine that the engine refuses" : "";
  if (!v.enough_channels) return "the proof says that channels are too few, and the engine runs";
  if (v.holds()) return out.delivered ? "" : "the proof holds, and the run does not end well";
  if (v.detours > 0) return "routes are longer than claimed";
  if (!out.delivered) return "";
  // A packet may have been lucky: a circle need not close, an adaptive choice need not come to the dead end.
  for (const routing::BrokenPair& pair : v.broken)
    if (!is_broken(*m.routing, pair))
      return fmt::format("the proof calls r{} -> e{} broken, and its packets always arrive", pair.source,
                         pair.destination);
  return "";
}

}  // namespace

ProofCase make_proof_case(std::uint64_t seed, std::uint64_t number) {
  Draws draw(seed, number);
  DrawnMachine drawn = draw_machine(draw);
  ProofCase out;
  // Sometimes fewer channels than the routing asks for.
  unsigned channels = draw.one_in(8) ? draw.between(1, 3) : draw.of<unsigned>({4, 8, 16, 32});
  out.machine =
      drawn.text() + fmt::format("[router]\nchannels = {}\nbuffer_flits = 8\nlatency = \"10ns\"\n", channels);
  out.settings = drawn.settings;
  machine::Machine m = machine::build_graph(machine::describe_text(out.machine, "case", out.settings));
  if (!draw.one_in(10))
    for (std::string& fault : draw_faults(draw, *m.graph)) out.settings.push_back(std::move(fault));
  return out;
}

ProofOutcome run_proof_case(const ProofCase& one) {
  machine::Machine m = machine::build(machine::describe_text(one.machine, "case", one.settings));
  routing::VerifyOptions how;
  how.channels = m.description.router.channels;
  how.threads = 1;
  routing::Verdict v = routing::verify(*m.routing, how);
  ProofOutcome out;
  out.holds = v.holds();
  out.broken_pairs = v.broken_pairs;
  out.proof = fmt::format("{}{}, {}, {}", v.connected() ? "connected" : "",
                          v.connected() ? "" : fmt::format("{} broken", count_of(v.broken_pairs, "pair")),
                          v.deadlock_free() ? "no deadlock" : "deadlock possible",
                          v.enough_channels ? "enough channels" : "too few channels");
  run_all_pairs(m, out);
  out.problem = compare(m, v, out);
  return out;
}

}  // namespace weft::measure
