#include "network/flit/link_layer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "machines.hpp"
#include "network/flit/engine.hpp"

namespace weft::network::flit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Every endpoint sends so many packets to others at random.
class RandomTraffic final : public Traffic {
 public:
  RandomTraffic(std::uint32_t endpoints, std::uint32_t packets, std::uint32_t flits, std::uint32_t spacing)
      : endpoints_(endpoints), packets_(packets), flits_(flits), spacing_(spacing), made_(endpoints) {}
  Cycle first(EndpointId source) override { return random_below(5, source, 0, spacing_); }
  bool create(EndpointId source, Cycle now, NewPacket& packet, Cycle& next) override {
    std::uint32_t n = ++made_[source];
    packet.destination = random_below(5, source, 3 * n, endpoints_);
    packet.flits = static_cast<std::uint16_t>(1 + random_below(5, source, 3 * n + 1, flits_));
    packet.tag = std::uint64_t{source} << 32 | n;
    next = n < packets_ ? now + 1 + random_below(5, source, 3 * n + 2, 2 * spacing_) : kNever;
    return true;
  }

 private:
  std::uint32_t endpoints_, packets_, flits_, spacing_;
  std::vector<std::uint32_t> made_;
};

struct Heard final : Observer {
  void delivered(const Delivery& d) override { arrivals.push_back(d); }
  void lost(const Delivery& d) override { reports.push_back(d); }
  std::vector<Delivery> arrivals, reports;
};

struct Outcome {
  std::vector<std::pair<Cycle, Tag>> arrivals;  // sorted
  std::vector<Delivery> reports;
  std::vector<TimelineEntry> timeline;
  std::vector<CableRecord> records;
  std::uint64_t made = 0, corrupted = 0, taken_back = 0;
  std::string routing;
  bool says(const std::string& what) const {
    return std::any_of(timeline.begin(), timeline.end(),
                       [&](const TimelineEntry& e) { return e.what.find(what) != std::string::npos; });
  }
};

Outcome run(const machine::Machine& m, const std::string& script, std::uint32_t packets, Cycle cycles,
            unsigned threads = 1, std::uint32_t flits = 6, std::uint32_t spacing = 40) {
  Settings settings = settings_for(m, flits);
  settings.threads = threads;
  std::vector<link::FaultEvent> events;
  if (!script.empty()) events = link::read_faults(script, *m.graph);
  std::unique_ptr<LinkLayer> links;
  if (LinkLayer::needed(m, events)) links = std::make_unique<LinkLayer>(m, settings, events);
  Engine engine(*m.graph, *m.routing, settings, links.get());
  RandomTraffic traffic(m.graph->endpoints(), packets, flits, spacing);
  std::vector<Heard> heard(engine.settings().threads);
  std::vector<Observer*> observers;
  for (Heard& h : heard) observers.push_back(&h);
  while (engine.now() < cycles && !engine.stalled()) {
    engine.run(traffic, observers, std::min<Cycle>(cycles, engine.now() + 997));
    engine.check_conservation();
  }
  EXPECT_FALSE(engine.stalled());
  Outcome out;
  for (const Heard& h : heard) {
    for (const Delivery& d : h.arrivals) out.arrivals.emplace_back(d.delivered, d.tag);
    out.reports.insert(out.reports.end(), h.reports.begin(), h.reports.end());
  }
  std::sort(out.arrivals.begin(), out.arrivals.end());
  out.made = engine.counters().packets_created;
  EXPECT_EQ(out.made, out.arrivals.size() + out.reports.size()) << "every packet is accounted for";
  if (links) {
    out.timeline = links->timeline();
    out.records = links->records();
    out.corrupted = links->corrupted();
    out.taken_back = links->taken_back();
    out.routing = links->routing_name();
  }
  EXPECT_EQ(out.corrupted, 0u);
  return out;
}

const test::Settings kQuick{"rerouting.report=100ns",         "rerouting.compute=500ns",
                            "rerouting.write_per_router=5ns", "rerouting.quiet=300ns",
                            "cable.default.heartbeat=100ns",  "cable.default.training_time=200ns"};

machine::Machine torus(test::Settings more = {}) {
  test::Settings all = kQuick;
  all.insert(all.end(), more.begin(), more.end());
  return test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 4, all);
}

// A bit error rate so low that nothing ever happens gives every cable a link layer.
TEST(LinkLayer, WithoutErrorsACableHasTheTimingOfADirectOne) {
  const std::vector<test::Settings> machines{{},
                                             {"router.switching=wormhole"},
                                             {"router.shared_flits=6", "router.buffer_flits=8"},
                                             {"router.clock=1GHz"},  // cables slower than routers
                                             {"cable.default.length=40m", "router.allocator=age"}};
  for (const test::Settings& settings : machines) {
    Outcome direct = run(torus(settings), "", 300, 40'000, 1, 6, 12);
    test::Settings with_link_layer = settings;
    with_link_layer.push_back("cable.default.bit_error_rate=1e-30");
    Outcome through = run(torus(with_link_layer), "", 300, 40'000, 1, 6, 12);
    EXPECT_EQ(direct.records.size(), 0u);
    EXPECT_EQ(through.records.size(), 32u);
    EXPECT_EQ(direct.arrivals, through.arrivals) << join(settings, " ");
  }
}

// Two channels of an output granted in the same cycle must not both take the last of what they share.
TEST(LinkLayer, ChannelsThatShareABufferNeverTakeMoreThanThereIs) {
  for (const char* shared : {"router.shared_flits=1", "router.shared_flits=3"})
    run(test::make_machine("torus", {"dims=[4,4]", "endpoints_per_router=2"}, "up-down", {}, 4,
                           {"router.buffer_flits=6", shared}),
        "", 600, 200'000, 1, 6, 8);
}

TEST(LinkLayer, ErrorsAreRepairedOnTheWay) {
  Outcome out = run(torus({"cable.default.bit_error_rate=1e-5"}), "", 300, 60'000);
  std::uint64_t errors = 0, again = 0;
  for (const CableRecord& r : out.records) errors += r.counters.refused, again += r.counters.sent_again;
  EXPECT_GT(errors, 20u);
  EXPECT_GT(again, errors);
  EXPECT_TRUE(out.reports.empty());
}

TEST(LinkLayer, ACutCableIsFoundDeadRoutedAroundAndTakenBackIntoUse) {
  Outcome out = run(torus(), "at 3us cut r5.p0; at 20us restore r5.p0", 400, 60'000);
  EXPECT_TRUE(out.says("cut r5.p0"));
  EXPECT_TRUE(out.says("r5.p0 declares its link dead"));
  EXPECT_TRUE(out.says("r6.p1 declares its link dead")) << "the other end finds out by itself";
  EXPECT_TRUE(out.says("new routes in every table: fault-avoiding over dimension-order; nobody cut off"));
  EXPECT_TRUE(out.says("r5.p0 is up with 4 of 4 lanes"));
  EXPECT_TRUE(out.says("new routes in every table: dimension-order; nobody cut off"));
  EXPECT_EQ(out.routing, "dimension-order");
  EXPECT_GT(out.taken_back, 0u);
  EXPECT_TRUE(out.reports.empty()) << "nobody was cut off, so everything arrives";
}

TEST(LinkLayer, PacketsOfADeadRouterAreReportedByName) {
  Outcome out = run(torus(), "at 3us kill router 6", 400, 60'000);
  EXPECT_TRUE(out.says("cut off: e6"));
  EXPECT_FALSE(out.reports.empty());
  for (const Delivery& d : out.reports)
    EXPECT_TRUE(d.source == 6 || d.destination == 6) << "e" << d.source << " -> e" << d.destination;
  // After the new routes are known, nothing to or from it is delivered.
  for (const auto& [when, tag] : out.arrivals) EXPECT_FALSE(when > 30'000 && tag >> 32 == 6);
}

TEST(LinkLayer, ARouterThatComesBackIsUsedAgain) {
  Outcome out = run(torus(), "at 3us kill router 6; at 20us restore router 6", 1200, 90'000);
  EXPECT_EQ(out.routing, "dimension-order");
  EXPECT_FALSE(out.reports.empty());
  auto from_6 = [](const auto& a) { return a.second >> 32 == 6; };
  EXPECT_TRUE(from_6(*std::find_if(out.arrivals.rbegin(), out.arrivals.rend(), from_6)));
  EXPECT_GT(std::find_if(out.arrivals.rbegin(), out.arrivals.rend(), from_6)->first, 20'000u);
}

TEST(LinkLayer, ARouterThatDiesAloneIsMissedToo) {
  // Its cables are dead already, so no link can tell that it dies.
  machine::Machine m =
      test::make_machine("torus", {"dims=[4,4]", "endpoints_per_router=2"}, "dimension-order", {}, 4, kQuick);
  Outcome out =
      run(m,
          "at 1us cut r5.p0; at 1us cut r5.p1; at 1us cut r5.p2; at 1us cut r5.p3; at 9us kill router 5; "
          "at 30us restore router 5",
          1500, 160'000);
  EXPECT_TRUE(out.says("cut off: e10, e11"));
  bool between = false;
  for (const Delivery& d : out.reports)
    between |= d.source + d.destination == 21 && d.source != d.destination;
  EXPECT_TRUE(between) << "not even its own endpoints reach each other";
}

TEST(LinkLayer, APacketOlderThanTheLimitEndsTheRunHereToo) {
  machine::Machine m = torus({"cable.default.missed_beats=1000"});  // nobody finds the link dead
  Settings settings = settings_for(m, 6);
  settings.age_limit = 1'000;
  LinkLayer links(m, settings, link::read_faults("at 1us stall r5.p0 for 1ms", *m.graph));
  Engine engine(*m.graph, *m.routing, settings, &links);
  RandomTraffic traffic(m.graph->endpoints(), 400, 6, 40);
  Heard heard;
  engine.run(traffic, {&heard}, 100'000);
  EXPECT_TRUE(engine.stalled());
  auto why = engine.explain_stall();
  ASSERT_EQ(why.size(), 1u);
  EXPECT_THAT(why[0].reason, HasSubstr("more than the 1000 allowed"));
}

TEST(LinkLayer, AStuckLaneNarrowsTheCableAndNothingElse) {
  Outcome out = run(torus({"cable.default.max_retries=3"}), "at 2us lane r5.p0 1 stuck", 400, 60'000);
  EXPECT_TRUE(out.says("r5.p0 tests its lanes"));
  EXPECT_TRUE(out.says("r5.p0 is up with 3 of 4 lanes"));
  EXPECT_TRUE(out.says("r6.p1 is up with 3 of 4 lanes"));
  EXPECT_TRUE(out.reports.empty());
  ASSERT_EQ(out.records.size(), 1u);
  EXPECT_NEAR(out.records[0].rate_share, 0.75, 0.003);
}

TEST(LinkLayer, AFlippedBitIsSeenOnce) {
  Outcome out = run(torus(), "at 1us flip r5.p0 packet 2 bit 9; at 4us stall r5.p0 for 50ns", 200, 30'000);
  ASSERT_EQ(out.records.size(), 1u);
  EXPECT_EQ(out.records[0].bits_damaged, 1u);
  EXPECT_EQ(out.records[0].counters.refused, 1u);
}

TEST(LinkLayer, HeaderFooterLinksFlagWhatTheyDoNotRepair) {
  machine::Machine m = torus({"cable.default.retry=header-footer", "cable.default.bit_error_rate=3e-5"});
  Outcome out = run(m, "", 400, 100'000);
  std::uint64_t flagged = 0;
  for (const CableRecord& r : out.records) flagged += r.counters.damaged_packets;
  EXPECT_GT(flagged, 20u);
}

TEST(LinkLayer, ThreadsDoNotMatter) {
  const std::string script =
      "at 3us cut r5.p0; at 4us kill router 9; at 6us lane r0.p0 2 stuck; at 15us restore r5.p0; at 16us "
      "restore "
      "router 9; at 20us stall r3.p0 for 1us";
  machine::Machine m = torus({"cable.default.bit_error_rate=3e-6", "cable.default.max_retries=4"});
  Outcome one = run(m, script, 150, 25'000, 1);
  for (unsigned threads : {2u, 3u}) {
    Outcome more = run(m, script, 150, 25'000, threads);
    EXPECT_EQ(one.arrivals, more.arrivals) << threads << " threads";
    ASSERT_EQ(one.timeline.size(), more.timeline.size());
    for (std::size_t i = 0; i < one.timeline.size(); ++i) {
      EXPECT_EQ(one.timeline[i].at, more.timeline[i].at);
      EXPECT_EQ(one.timeline[i].what, more.timeline[i].what);
    }
  }
}

}  // namespace
}  // namespace weft::network::flit
