// Contracts every registered topology and routing keeps. New ones are covered by registering.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "machines.hpp"
#include "routing/distances.hpp"
#include "routing/states.hpp"
#include "routing/verify.hpp"

namespace weft::test {
namespace {

using routing::Candidate;
using routing::Candidates;
using routing::Routing;
using routing::Verdict;
using topology::EndpointId;
using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

/// Builds the pair, or nothing where the routing says why it cannot run there.
std::optional<machine::Machine> try_machine(const std::string& topology, const Settings& size,
                                            const std::string& routing, const Settings& variant,
                                            const Settings& more = {}) {
  try {
    return make_machine(topology, size, routing, variant, 64, more);
  } catch (const UserError& error) {
    bool refused = std::string(error.what()).find("routing.kind: ") != std::string::npos;
    EXPECT_TRUE(refused) << name_of(topology, size, routing, variant) << "\n" << error.what();
    return std::nullopt;
  }
}

TEST(Contract, EveryTopologyHasThreeExamplesThatBuildAndMatchTheirPredictedSize) {
  for (const auto& [name, kind] : topology::Topologies::all()) {
    EXPECT_GE(kind.examples.size(), 3u) << name;
    for (const Settings& size : kind.examples) {
      machine::Machine m = make_machine(name, size, "up-down", {});
      topology::Size predicted = kind.size(m.description.topology_parameters.get());
      EXPECT_EQ(predicted.routers, m.graph->routers()) << name;
      EXPECT_EQ(predicted.endpoints, m.graph->endpoints()) << name;
      EXPECT_EQ(predicted.ports, m.graph->ports()) << name;
    }
  }
}

TEST(Contract, GraphsAreSymmetricAndEveryPortIsUsedOnce) {
  for (const auto& [name, kind] : topology::Topologies::all())
    for (const Settings& size : kind.examples) {
      machine::Machine m = make_machine(name, size, "up-down", {});
      const Graph& g = *m.graph;
      std::uint64_t ends = 0;
      for (PortId p = 0; p < g.ports(); ++p) {
        if (g.peer(p) == kNone) continue;
        ++ends;
        EXPECT_EQ(g.peer(g.peer(p)), p);
        EXPECT_EQ(g.port_cable(p), g.port_cable(g.peer(p)));
        EXPECT_EQ(g.port_endpoint(p), kNone);
        EXPECT_NE(g.port_router(p), g.port_router(g.peer(p)));
      }
      EXPECT_EQ(ends, 2u * g.cables());
      for (EndpointId e = 0; e < g.endpoints(); ++e) EXPECT_EQ(g.port_endpoint(g.endpoint_port(e)), e);
    }
}

TEST(Contract, EveryRoutingThatClaimsItIsProvedDeadlockFreeOnEveryTopology) {
  std::map<std::string, int> proved;
  for_every_machine([&](auto& topology, auto& size, auto& routing, auto& variant) {
    auto m = try_machine(topology, size, routing, variant);
    if (!m) return;
    routing::VerifyOptions options;
    options.channels = m->description.router.channels;
    Verdict v = routing::verify(*m->routing, options);
    EXPECT_TRUE(v.exact());
    EXPECT_TRUE(v.connected()) << name_of(topology, size, routing, variant);
    EXPECT_EQ(v.detours, 0u) << name_of(topology, size, routing, variant);
    if (!m->routing->claims_deadlock_free()) return;
    EXPECT_TRUE(v.deadlock_free()) << name_of(topology, size, routing, variant);
    ++proved[routing];
  });
  for (const auto& [routing, kind] : routing::Routings::all())
    EXPECT_GE(proved[routing], 3) << routing << " was proved on too few machines";
}

/// Everything packets can do, found the slow way: every endpoint as destination, every state by its full
/// name.
struct Reference {
  using Channel = std::pair<PortId, unsigned>;  // receiving port, class
  std::set<std::pair<Channel, Channel>> dependencies;
  std::set<std::pair<Channel, Channel>> escape_dependencies;

  explicit Reference(const Routing& routing) {
    if (routing.via_count() > 0) {
      follow_legs(routing);
      return;
    }
    const Graph& g = routing.graph();
    for (EndpointId to = 0; to < g.endpoints(); ++to) {
      std::set<Channel> seen;
      for (RouterId r = 0; r < g.routers(); ++r)
        if (g.endpoint_count(r) > 0 && r != g.endpoint_router(to)) walk(routing, to, r, std::nullopt, seen);
      for (const Channel& held : seen)
        if (routing.is_escape(static_cast<routing::ChannelClass>(held.second))) {
          std::set<Channel> passed;
          follow_adaptive(routing, to, held, held, passed);
        }
    }
  }

  /// Every source via every place to every destination, and to it directly.
  void follow_legs(const Routing& routing) {
    const Graph& g = routing.graph();
    std::set<std::pair<RouterId, Channel>> ends;  // of first legs
    for (std::uint32_t via = 0; via < routing.via_count(); ++via) {
      std::set<Channel> seen;
      for (RouterId r = 0; r < g.routers(); ++r)
        if (g.endpoint_count(r) > 0 && !routing.via_reached(r, via))
          walk_leg(routing, {.via_leg = true, .target = via}, r, std::nullopt, seen, &ends);
    }
    for (EndpointId to = 0; to < g.endpoints(); ++to) {
      std::set<Channel> seen, direct;
      for (const auto& [r, channel] : ends)
        walk_leg(routing, {.target = to, .second_leg = true}, r, std::nullopt, seen, nullptr, channel);
      for (RouterId r = 0; r < g.routers(); ++r)
        if (g.endpoint_count(r) > 0) walk_leg(routing, {.target = to}, r, std::nullopt, direct, nullptr);
    }
  }

  /// `held`: the channel a packet still holds as it starts.
  void walk_leg(const Routing& routing, routing::Hop leg, RouterId at, std::optional<Channel> in,
                std::set<Channel>& seen, std::set<std::pair<RouterId, Channel>>* ends,
                std::optional<Channel> held = std::nullopt) {
    const Graph& g = routing.graph();
    bool there = leg.via_leg ? routing.via_reached(at, leg.target) : at == g.endpoint_router(leg.target);
    if (there) {
      if (ends && in) ends->emplace(at, *in);
      return;
    }
    leg.router = at;
    leg.in_port = in ? g.port_index(in->first) : routing::kInjected;
    leg.in_class = static_cast<routing::ChannelClass>(in ? in->second : 0);
    Candidates out;
    routing.candidates(leg, out);
    for (const Candidate& c : out) {
      Channel next{g.peer(g.port(at, c.port)), c.channel_class};
      if (in) dependencies.emplace(*in, next);
      if (held) dependencies.emplace(*held, next);
      if (seen.insert(next).second) walk_leg(routing, leg, g.port_router(next.first), next, seen, ends);
    }
  }

  static std::vector<Channel> ways(const Routing& routing, EndpointId to, RouterId at,
                                   std::optional<Channel> in) {
    const Graph& g = routing.graph();
    if (at == g.endpoint_router(to)) return {};
    routing::Hop hop;
    hop.router = at;
    hop.target = to;
    if (in) {
      hop.in_port = g.port_index(in->first);
      hop.in_class = static_cast<routing::ChannelClass>(in->second);
    }
    Candidates out;
    routing.candidates(hop, out);
    std::vector<Channel> channels;
    for (const Candidate& c : out) channels.emplace_back(g.peer(g.port(at, c.port)), c.channel_class);
    return channels;
  }

  void walk(const Routing& routing, EndpointId to, RouterId at, std::optional<Channel> in,
            std::set<Channel>& seen) {
    for (const Channel& next : ways(routing, to, at, in)) {
      if (in) dependencies.emplace(*in, next);
      if (!seen.insert(next).second) continue;
      walk(routing, to, routing.graph().port_router(next.first), next, seen);
    }
  }

  // What a packet holding `held` may come to ask for among escape channels, over any adaptive channels in
  // between.
  void follow_adaptive(const Routing& routing, EndpointId to, Channel held, Channel at,
                       std::set<Channel>& passed) {
    for (const Channel& next : ways(routing, to, routing.graph().port_router(at.first), at)) {
      if (routing.is_escape(static_cast<routing::ChannelClass>(next.second)))
        escape_dependencies.emplace(held, next);
      else if (passed.insert(next).second)
        follow_adaptive(routing, to, held, next, passed);
    }
  }
};

TEST(Contract, TheProofSeesExactlyTheDependenciesAnExhaustiveSearchSees) {
  for_every_machine([&](auto& topology, auto& size, auto& routing, auto& variant) {
    auto m = try_machine(topology, size, routing, variant);
    if (!m || m->graph->endpoints() > 80) return;
    routing::VerifyOptions options;
    options.channels = m->description.router.channels;
    Verdict v = routing::verify(*m->routing, options);
    Reference reference(*m->routing);
    std::size_t expected =
        v.escape_proof ? reference.escape_dependencies.size() : reference.dependencies.size();
    EXPECT_EQ(v.dependencies, expected) << name_of(topology, size, routing, variant);
  });
}

TEST(Contract, EndpointsWithEqualKeysAreRoutedAlike) {
  for_every_machine([&](auto& topology, auto& size, auto& routing, auto& variant) {
    auto m = try_machine(topology, size, routing, variant);
    if (!m) return;
    const Graph& g = *m->graph;
    Candidates first, other;
    for (RouterId to = 0; to < g.routers(); ++to)
      for (std::uint32_t i = 1; i < g.endpoint_count(to); ++i) {
        EndpointId a = g.first_endpoint(to), b = a + i;
        if (m->routing->destination_key(a) != m->routing->destination_key(b)) continue;
        for (RouterId r = 0; r < g.routers(); ++r) {
          if (r == to) continue;
          m->routing->candidates({.router = r, .target = a}, first);
          m->routing->candidates({.router = r, .target = b}, other);
          ASSERT_TRUE(std::equal(first.begin(), first.end(), other.begin(), other.end()))
              << name_of(topology, size, routing, variant) << " at r" << r << " to e" << a << " and e" << b;
        }
      }
  });
}

/// A cable whose loss leaves the network in one piece, or nothing.
std::optional<std::string> expendable_cable(const Graph& g, std::uint64_t seed) {
  for (std::uint64_t attempt = 0; attempt < 20; ++attempt) {
    auto c = random_below(seed, 7, attempt, g.cables());
    topology::Faults faults(g);
    faults.kill_cable(c);
    std::vector<std::uint16_t> hops;
    std::vector<RouterId> queue;
    routing::distances_to(g, faults, 0, hops, queue);
    if (queue.size() == g.routers()) return g.port_name(g.cable_ends(c).a);
  }
  return std::nullopt;
}

TEST(Contract, FaultAwareRoutingsAreProvedWithADeadCable) {
  const std::vector<std::pair<std::string, Settings>> fault_aware{{"up-down", {}},
                                                                  {"up-down", {"paths=all"}},
                                                                  {"shortest-path", {}},
                                                                  {"fault-avoiding", {"base=up-down"}},
                                                                  {"fault-avoiding", {}},
                                                                  {"fault-avoiding", {"base=fat-tree"}},
                                                                  {"fault-avoiding", {"base=dragonfly"}}};
  int proved = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const auto& [topology, kind] : topology::Topologies::all())
      for (const Settings& size : kind.examples) {
        machine::Machine whole = make_machine(topology, size, "up-down", {});
        if (whole.graph->cables() == 0) continue;
        auto cable = expendable_cable(*whole.graph, seed);
        if (!cable) continue;
        for (const auto& [routing, variant] : fault_aware) {
          auto m = try_machine(topology, size, routing, variant, {"faults.dead_cables=[\"" + *cable + "\"]"});
          if (!m) continue;
          routing::VerifyOptions options;
          options.channels = 64;
          Verdict v = routing::verify(*m->routing, options);
          EXPECT_TRUE(v.holds()) << "seed " << seed << ", " << *cable << " dead, "
                                 << name_of(topology, size, routing, variant);
          ++proved;
        }
      }
  EXPECT_GT(proved, 100);
}

}  // namespace
}  // namespace weft::test
