#include "network/flit/engine.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "machines.hpp"

namespace weft::network::flit {
namespace {

using test::make_machine;

/// Packets at given times: the smallest traffic there is.
class Script : public Traffic {
 public:
  struct Send {
    Cycle when;
    EndpointId source, destination;
    std::uint16_t flits = 1;
    std::uint8_t message_class = 0;
  };
  explicit Script(std::vector<Send> sends) {
    for (const Send& send : sends) by_source_[send.source].push_back(send);
  }
  Cycle first(EndpointId source) override {
    return by_source_.count(source) ? by_source_[source].front().when : kNever;
  }
  bool create(EndpointId source, Cycle, NewPacket& packet, Cycle& next) override {
    auto& list = by_source_[source];
    packet = {list.front().destination, list.front().flits, list.front().message_class};
    list.erase(list.begin());
    next = list.empty() ? kNever : list.front().when;
    return true;
  }

 private:
  std::map<EndpointId, std::vector<Send>> by_source_;
};

class Arrivals : public Observer {
 public:
  void delivered(const Delivery& delivery) override { all.push_back(delivery); }
  std::vector<Delivery> all;
};

Settings settings(const machine::Machine& m, Switching switching, unsigned buffer = 8,
                  unsigned cable_cycles = 1) {
  Settings s;
  s.channels = m.description.router.channels;
  s.buffer_flits = buffer;
  s.switching = switching;
  s.cable_cycles.assign(m.graph->cables(), static_cast<std::uint16_t>(cable_cycles));
  s.cable_interval.assign(m.graph->cables(), 256);
  return s;
}

std::vector<Delivery> deliver(const machine::Machine& m, const Settings& s, std::vector<Script::Send> sends) {
  Engine engine(*m.graph, *m.routing, s);
  Script script(sends);
  Arrivals arrivals;
  for (Cycle until = 10; arrivals.all.size() < sends.size() && until < 10'000; until += 10) {
    engine.run(script, {&arrivals}, until);
    engine.check_conservation();
  }
  EXPECT_EQ(arrivals.all.size(), sends.size());
  EXPECT_EQ(engine.counters().packets_created, sends.size());
  return arrivals.all;
}

/// A packet alone: one cycle to leave the source, one to its router, then for each router its pipeline and
/// for each cable its flight, one to the destination, and a cycle for each further flit.
Cycle alone(unsigned routers, unsigned pipeline, unsigned cable, unsigned flits) {
  return 3 + routers * pipeline + (routers - 1) * cable + flits - 1;
}

TEST(FlitEngine, APacketAloneTakesTheSumOfItsParts) {
  machine::Machine m = make_machine("mesh", {"dims=[5]"}, "dimension-order", {}, 2);
  for (Switching switching : {Switching::Wormhole, Switching::CutThrough})
    for (unsigned cable : {1u, 2u, 7u})
      for (std::uint16_t flits : {std::uint16_t{1}, std::uint16_t{5}})
        for (EndpointId to : {0u, 1u, 4u}) {
          Settings s = settings(m, switching, 8, cable);
          auto arrived = deliver(m, s, {{7, 0, to, flits}});
          ASSERT_EQ(arrived.size(), 1u);
          EXPECT_EQ(arrived[0].hops, to + 1);
          EXPECT_EQ(arrived[0].delivered - arrived[0].created, alone(to + 1, 4, cable, flits)) << "to " << to;
        }
}

TEST(FlitEngine, EveryPipelineDepthAddsUp) {
  machine::Machine m = make_machine("mesh", {"dims=[3]"}, "dimension-order", {}, 1);
  struct Depth {
    unsigned route, allocate, traverse;
  };
  for (Depth depth : {Depth{0, 0, 1}, Depth{0, 1, 1}, Depth{1, 1, 1}, Depth{1, 1, 2}, Depth{1, 1, 9}}) {
    Settings s = settings(m, Switching::CutThrough);
    s.route_cycles = depth.route;
    s.allocate_cycles = depth.allocate;
    s.traverse_cycles = depth.traverse;
    // The last router's traversal ends at the destination's doorstep, as every other's ends at the cable's.
    unsigned pipeline = depth.route + depth.allocate + depth.traverse;
    EXPECT_EQ(deliver(m, s, {{0, 0, 2, 3}})[0].delivered, alone(3, pipeline, 1, 3));
  }
}

TEST(FlitEngine, TwoPacketsForOneOutputShareIt) {
  // Both want router 1's endpoint at once; one wins, the other's one flit follows a cycle later.
  machine::Machine m = make_machine("mesh", {"dims=[3]"}, "dimension-order", {}, 2);
  auto arrived = deliver(m, settings(m, Switching::Wormhole), {{0, 0, 1, 1}, {0, 2, 1, 1}});
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[0].delivered, alone(2, 4, 1, 1));
  EXPECT_EQ(arrived[1].delivered, alone(2, 4, 1, 1) + 1);
}

TEST(FlitEngine, OneChannelSerialisesWholePackets) {
  // With one channel the second packet waits for the first one's last flit. The channel changes hands in the
  // cycle after it won the switch; at the next router the second packet stands behind the first and starts a
  // cycle late again.
  machine::Machine m = make_machine("mesh", {"dims=[2]", "endpoints_per_router=2"}, "dimension-order", {}, 1);
  auto arrived = deliver(m, settings(m, Switching::Wormhole), {{0, 0, 2, 6}, {0, 1, 2, 6}});
  ASSERT_EQ(arrived.size(), 2u);
  Cycle first = alone(2, 4, 1, 6);
  EXPECT_EQ(arrived[0].delivered, first);
  EXPECT_EQ(arrived[1].delivered, first + 6 + 2);
}

TEST(FlitEngine, WormholeAndCutThroughDifferWhereTheNextBufferIsShort) {
  // Buffers of two flits: a worm of six stretches over routers; cut-through needs six.
  machine::Machine m = make_machine("mesh", {"dims=[5]"}, "dimension-order", {}, 1);
  auto worm = deliver(m, settings(m, Switching::Wormhole, 2), {{0, 0, 4, 6}});
  auto roomy = deliver(m, settings(m, Switching::Wormhole, 16), {{0, 0, 4, 6}});
  EXPECT_GT(worm[0].delivered, roomy[0].delivered) << "credits limit the worm";
  auto cut = deliver(m, settings(m, Switching::CutThrough, 6), {{0, 0, 4, 6}});
  EXPECT_EQ(cut[0].delivered, alone(5, 4, 1, 6));
}

TEST(FlitEngine, SlowerCablesSpaceFlitsOut) {
  machine::Machine m = make_machine("mesh", {"dims=[2]"}, "dimension-order", {}, 1);
  Settings s = settings(m, Switching::CutThrough, 32);
  // Flits after the first need no routing and no channel, two cycles the first one spent at the second
  // router.
  s.cable_interval.assign(m.graph->cables(), 256 * 3);
  EXPECT_EQ(deliver(m, s, {{0, 0, 1, 5}})[0].delivered, alone(2, 4, 1, 1) + 4 * 3 - 2);
  s.cable_interval.assign(m.graph->cables(), 256 * 3 / 2);
  EXPECT_EQ(deliver(m, s, {{0, 0, 1, 5}})[0].delivered, alone(2, 4, 1, 1) + 6 - 2);
}

TEST(FlitEngine, MessageClassesDoNotBlockEachOther) {
  // A long request holds the only channel of its class; what follows in the same class waits for all of it, a
  // response on its own channel does not.
  machine::Machine m = make_machine("mesh", {"dims=[2]", "endpoints_per_router=2"}, "dimension-order", {}, 1);
  Settings s = settings(m, Switching::Wormhole, 4);
  s.message_classes = 2;
  for (std::uint8_t message_class : {std::uint8_t{0}, std::uint8_t{1}}) {
    auto arrived = deliver(m, s, {{0, 0, 2, 60, 0}, {5, 1, 3, 1, message_class}});
    ASSERT_EQ(arrived.size(), 2u);
    EXPECT_EQ(arrived[0].flits, message_class == 0 ? 60 : 1);
  }
}

TEST(FlitEngine, TheLeastLoadedWayUpWins) {
  // Two ways up from each leaf router. While a long packet fills one, the next packet takes the other and
  // meets nobody.
  machine::Machine m =
      make_machine("fat-tree", {"children=[2,2]", "parents=[1,2]"}, "fat-tree", {"candidates=0"}, 1);
  auto arrived = deliver(m, settings(m, Switching::Wormhole, 64), {{0, 0, 2, 50}, {20, 1, 3, 1}});
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[0].flits, 1);
  EXPECT_EQ(arrived[0].delivered - arrived[0].created, alone(3, 4, 1, 1));
}

TEST(FlitEngine, APrivateShareKeepsEveryChannelMoving) {
  // Class 0 crosses a cable a hundred times slower and fills all shared room on the way; class 1 still gets
  // through.
  machine::Machine m = make_machine("mesh", {"dims=[3]", "endpoints_per_router=2"}, "dimension-order", {}, 1);
  Settings s = settings(m, Switching::Wormhole, 1);
  s.message_classes = 2;
  s.shared_flits = 6;
  s.cable_interval[1] = 256 * 100;  // between routers 1 and 2
  auto arrived = deliver(m, s, {{0, 0, 4, 40, 0}, {200, 1, 2, 3, 1}});
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[0].message_class, 1);
  EXPECT_LT(arrived[0].delivered, 300u);
}

machine::RouterModel model_of(const std::string& kind) {
  const auto* found = config::Registry<machine::RouterKind>::find(kind);
  return found->model(found->section.make().get());
}

/// Random packets with exact bookkeeping: every one arrives once, and flits and credits add up all the way.
void soak(const std::string& topology, const test::Settings& size, const std::string& routing,
          Switching switching, unsigned shared, std::uint64_t seed,
          const std::string& kind = "input-queued") {
  machine::Machine m = make_machine(topology, size, routing, {}, 8);
  Settings s = settings(m, switching, 6);
  s.router = model_of(kind);
  s.iterations = 1 + static_cast<unsigned>(seed % 3);
  s.shared_flits = shared;
  s.seed = seed;
  Engine engine(*m.graph, *m.routing, s);
  std::vector<Script::Send> sends;
  for (EndpointId e = 0; e < m.graph->endpoints(); ++e)
    for (std::uint64_t i = 0; i < 40; ++i) {
      EndpointId to = random_below(seed, e, 2 * i, m.graph->endpoints());
      sends.push_back({3 * i, e, to, static_cast<std::uint16_t>(1 + random_below(seed, e, 2 * i + 1, 6))});
    }
  Script script(sends);
  Arrivals arrivals;
  for (Cycle until = 20; arrivals.all.size() < sends.size() && !engine.stalled() && until < 100'000;
       until += 20) {
    engine.run(script, {&arrivals}, until, 2'000);
    engine.check_conservation();
  }
  EXPECT_FALSE(engine.stalled()) << topology << " " << routing;
  EXPECT_EQ(arrivals.all.size(), sends.size()) << topology << " " << routing << " seed " << seed;
  EXPECT_EQ(engine.counters().flits_injected, engine.counters().flits_delivered);
  std::map<std::pair<EndpointId, EndpointId>, int> balance;
  for (const auto& send : sends) ++balance[{send.source, send.destination}];
  for (const Delivery& d : arrivals.all) --balance[{d.source, d.destination}];
  for (const auto& [pair, left] : balance) EXPECT_EQ(left, 0);
}

TEST(FlitEngine, NothingIsLostOnAnyTopologyOrRouting) {
  std::uint64_t seed = 11;
  for (Switching switching : {Switching::Wormhole, Switching::CutThrough})
    for (unsigned shared : {0u, 12u}) {
      soak("torus", {"dims=[4,4]"}, "dimension-order", switching, shared, seed++);
      soak("torus", {"dims=[4,3]", "parallel_cables=2"}, "dimension-order", switching, shared, seed++);
      soak("torus", {"dims=[4,4]"}, "minimal-adaptive", switching, shared, seed++);
      soak("torus", {"dims=[3,3]"}, "valiant", switching, shared, seed++);
      soak("fat-tree", {"children=[4,4]", "parents=[1,2]"}, "fat-tree", switching, shared, seed++);
      soak("dragonfly", {"routers_per_group=4", "endpoints_per_router=1", "global_cables_per_router=1"},
           "dragonfly", switching, shared, seed++);
      soak("jellyfish", {"routers=12", "degree=3"}, "minimal-adaptive", switching, shared, seed++);
      soak("jellyfish", {"routers=12", "degree=3"}, "shortest-path", switching, shared, seed++);
    }
}

TEST(FlitEngine, NothingIsLostInAnyRouter) {
  std::uint64_t seed = 101;
  for (Switching switching : {Switching::Wormhole, Switching::CutThrough})
    for (unsigned shared : {0u, 12u}) {
      for (const char* kind : {"virtual-output-queued", "tiled"}) {
        soak("torus", {"dims=[4,4]"}, "dimension-order", switching, shared, seed++, kind);
        soak("torus", {"dims=[3,3]"}, "valiant", switching, shared, seed++, kind);
        soak("fat-tree", {"children=[4,4]", "parents=[1,2]"}, "fat-tree", switching, shared, seed++, kind);
      }
      soak("torus", {"dims=[4,4]"}, "minimal-adaptive", switching, shared, seed++, "virtual-output-queued");
    }
}

TEST(FlitEngine, ATiledRouterTakesAsLongAsAnyOther) {
  machine::Machine m = make_machine("mesh", {"dims=[5]"}, "dimension-order", {}, 2);
  Settings s = settings(m, Switching::Wormhole);
  s.router = model_of("tiled");
  s.route_cycles = s.allocate_cycles = 0;
  for (unsigned latency : {3u, 4u, 9u}) {
    s.traverse_cycles = latency - 2;
    for (EndpointId to : {0u, 1u, 4u}) {
      auto arrived = deliver(m, s, {{7, 0, to, 3}});
      EXPECT_EQ(arrived[0].delivered - arrived[0].created, alone(to + 1, latency, 1, 3));
      EXPECT_EQ(arrived[0].hops, to + 1);
    }
  }
}

TEST(FlitEngine, OutputQueuesDoNotBlockEachOther) {
  // A packet for a slow cable stands at the head of the only channel; the one behind it goes elsewhere. With
  // one queue it waits, with a queue for each output it does not.
  machine::Machine m = make_machine("mesh", {"dims=[3]", "endpoints_per_router=2"}, "dimension-order", {}, 1);
  auto second_arrives = [&](const char* kind) {
    Settings s = settings(m, Switching::Wormhole, 32);
    s.router = model_of(kind);
    s.cable_interval[1] = 256 * 50;  // between routers 1 and 2
    auto arrived = deliver(m, s, {{0, 0, 4, 6}, {0, 1, 4, 6}, {0, 0, 4, 6}, {1, 0, 2, 1}});
    for (const Delivery& d : arrived)
      if (d.destination == 2) return d.delivered;
    return Cycle{0};
  };
  EXPECT_LT(second_arrives("virtual-output-queued"), 60u);
  EXPECT_GT(second_arrives("input-queued"), 300u);
}

TEST(FlitEngine, PortsThatYieldWait) {
  // Two local ports fill the same output; the one that yields gets what the other leaves.
  machine::Machine m = make_machine("mesh", {"dims=[2]", "endpoints_per_router=3"}, "dimension-order", {}, 2);
  for (unsigned yields : {0u, 1u}) {
    Settings s = settings(m, Switching::Wormhole);
    s.local_yield = {yields, 0};
    std::vector<Script::Send> sends;
    for (Cycle i = 0; i < 40; ++i) {
      sends.push_back({i, 0, 3, 1});
      sends.push_back({i, 1, 4, 1});
    }
    auto arrived = deliver(m, s, sends);
    Cycle last[2] = {};
    for (const Delivery& d : arrived) last[d.source] = std::max(last[d.source], d.delivered);
    if (yields)
      EXPECT_GT(last[0], last[1] + 20);
    else
      EXPECT_LE(last[0] > last[1] ? last[0] - last[1] : last[1] - last[0], 3u);
  }
}

TEST(FlitEngine, HeadersHaveAQueueOfTheirOwnAtLocalPorts) {
  // One source, one router, one channel. Worked out flit by flit: a header may go when the one `headers`
  // before it has left the router's input, payload when the payload flit `payload` before it has; the word of
  // that takes three cycles. A flit leaves a cycle after it was sent, a header two later and not before three
  // after the last packet's tail.
  machine::Machine m = make_machine("mesh", {"dims=[1]", "endpoints_per_router=2"}, "dimension-order", {}, 1);
  constexpr std::uint64_t kSeed = 68;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    auto draw = [&](std::uint64_t what, std::uint32_t bound) {
      return 1 + random_below(kSeed, what, trial, bound);
    };
    const unsigned headers = draw(0, 4), payload = draw(1, 6);
    std::vector<Script::Send> sends;
    std::vector<Cycle> header_leaves, payload_leaves, expected;
    Cycle sent = 0, left = 0;
    for (unsigned i = 0; i < 12; ++i) {
      sends.push_back({0, 0, 1, static_cast<std::uint16_t>(draw(2 + i, 7))});
      for (unsigned flit = 0; flit < sends.back().flits; ++flit) {
        auto& leaves = flit == 0 ? header_leaves : payload_leaves;
        const unsigned room = flit == 0 ? headers : payload;
        if (i > 0 || flit > 0) ++sent;
        if (leaves.size() >= room) sent = std::max(sent, leaves[leaves.size() - room] + 3);
        const bool first = i == 0 && flit == 0;
        left = std::max(sent + (flit == 0 ? 3 : 1), first ? 0 : left + (flit == 0 ? 3 : 1));
        leaves.push_back(left);
      }
      expected.push_back(left);
    }
    Settings s = settings(m, Switching::Wormhole, payload);
    s.local_headers = headers;
    auto arrived = deliver(m, s, sends);
    ASSERT_EQ(arrived.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(arrived[i].delivered - arrived[0].delivered, expected[i] - expected[0])
          << "seed " << kSeed << ", trial " << trial << ", packet " << i << ", " << headers << " headers, "
          << payload << " flits of payload";
  }
}

TEST(FlitEngine, APacketOlderThanTheLimitEndsTheRun) {
  machine::Machine m = make_machine("mesh", {"dims=[3]"}, "dimension-order", {}, 1);
  Settings s = settings(m, Switching::Wormhole, 2);
  s.cable_interval[1] = 256 * 200;
  s.age_limit = 1'000;
  Engine engine(*m.graph, *m.routing, s);
  Script script({{0, 0, 2, 40}});
  Arrivals arrivals;
  engine.run(script, {&arrivals}, 100'000);
  EXPECT_TRUE(engine.stalled());
  EXPECT_LT(engine.now(), 2'000u);
  auto why = engine.explain_stall();
  ASSERT_EQ(why.size(), 1u);
  EXPECT_NE(why[0].reason.find("more than the 1000 allowed"), std::string::npos) << why[0].reason;
}

TEST(FlitEngine, ADeadlockIsFoundAndPrintedAsACircle) {
  // A ring, one channel, every router sends two hops ahead: a textbook deadlock. Each packet is in the cycle
  // twice: its tail holds a channel and waits for its head to move, its head waits for a channel another tail
  // holds.
  machine::Machine m = make_machine("torus", {"dims=[6]"}, "shortest-path", {"channel_rule=one"}, 1);
  Settings s = settings(m, Switching::Wormhole, 1);
  Engine engine(*m.graph, *m.routing, s);
  std::vector<Script::Send> sends;
  for (EndpointId e = 0; e < 6; ++e) sends.push_back({0, e, (e + 2) % 6, 20});
  Script script(sends);
  Arrivals arrivals;
  engine.run(script, {&arrivals}, 100'000, 500);
  ASSERT_TRUE(engine.stalled());
  auto cycle = engine.explain_stall();
  EXPECT_EQ(cycle.size(), 12u);
  EXPECT_TRUE(engine.oldest_packet().has_value());
  engine.check_conservation();
}

TEST(FlitEngine, ThreadsDoNotChangeAnything) {
  struct Case {
    const char* routing;
    const char* kind;
    unsigned cable_cycles;
  };
  for (Case one :
       {Case{"minimal-adaptive", "input-queued", 1}, Case{"minimal-adaptive", "virtual-output-queued", 5},
        Case{"dimension-order", "input-queued", 9}, Case{"valiant", "tiled", 3}}) {
    auto run = [&](unsigned threads) {
      machine::Machine m = make_machine("torus", {"dims=[5,4]"}, one.routing, {}, 8);
      Settings s = settings(m, Switching::Wormhole, 8, one.cable_cycles);
      s.router = model_of(one.kind);
      s.threads = threads;
      Engine engine(*m.graph, *m.routing, s);
      std::vector<Script::Send> sends;
      for (EndpointId e = 0; e < 20; ++e)
        for (std::uint64_t i = 0; i < 100; ++i) sends.push_back({2 * i, e, random_below(5, e, i, 20), 4});
      Script script(sends);
      std::vector<Arrivals> arrivals(engine.settings().threads);
      std::vector<Observer*> observers;
      for (auto& a : arrivals) observers.push_back(&a);
      engine.run(script, observers, 20'000);
      std::vector<std::tuple<Cycle, EndpointId, EndpointId, Cycle>> all;
      for (auto& a : arrivals)
        for (const Delivery& d : a.all) all.emplace_back(d.delivered, d.destination, d.source, d.created);
      std::sort(all.begin(), all.end());
      return all;
    };
    auto alone = run(1);
    EXPECT_EQ(alone.size(), 2000u);
    EXPECT_EQ(alone, run(2));
    EXPECT_EQ(alone, run(3));
  }
}

}  // namespace
}  // namespace weft::network::flit
