#include "network/flit/traffic_classes.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "base/fair_shares.hpp"
#include "base/random.hpp"
#include "machines.hpp"
#include "network/flit/engine.hpp"

namespace weft::network::flit {
namespace {

using test::make_machine;

/// Sources that always have a packet more in each of their classes.
class Saturating : public Traffic {
 public:
  struct Stream {
    EndpointId source, destination;
    std::uint8_t message_class;
    std::uint16_t flits;
  };
  explicit Saturating(std::vector<Stream> streams) : streams_(std::move(streams)) {}
  Cycle first(EndpointId source) override {
    for (const Stream& s : streams_)
      if (s.source == source) return 0;
    return kNever;
  }
  bool create(EndpointId source, Cycle now, NewPacket& packet, Cycle& next) override {
    next = now + 1;
    std::vector<const Stream*> own;
    for (const Stream& s : streams_)
      if (s.source == source) own.push_back(&s);
    const Stream& s = *own[now % own.size()];
    packet = {s.destination, s.flits, s.message_class};
    return true;
  }

 private:
  std::vector<Stream> streams_;
};

class Arrivals : public Observer {
 public:
  void delivered(const Delivery& d) override {
    flits[d.message_class] += d.flits;
    all.emplace_back(d.delivered, d.source, d.destination, d.message_class, d.created, d.injected);
  }
  std::array<std::uint64_t, 8> flits = {};
  std::vector<std::tuple<Cycle, EndpointId, EndpointId, std::uint8_t, Cycle, Cycle>> all;
};

machine::RouterModel model_of(const std::string& kind) {
  const auto* found = config::Registry<machine::RouterKind>::find(kind);
  return found->model(found->section.make().get());
}

Settings settings(const machine::Machine& m, std::vector<unsigned> weights,
                  Switching switching = Switching::CutThrough, const std::string& kind = "input-queued") {
  Settings s;
  s.router = model_of(kind);
  s.channels = m.description.router.channels;
  s.message_classes = static_cast<unsigned>(weights.size());
  s.class_weights = std::move(weights);
  s.buffer_flits = 32;
  s.inner_own_flits = switching == Switching::CutThrough ? 16 : 1;
  if (s.router.inner_stages > 0) s.route_cycles = s.allocate_cycles = 0;
  s.switching = switching;
  s.source_queue = 4;
  s.cable_cycles.assign(m.graph->cables(), 1);
  s.cable_interval.assign(m.graph->cables(), 256);
  return s;
}

/// Flits that arrive of each class, in shares of a link's cycles.
std::vector<double> shares(const machine::Machine& m, const Settings& s,
                           const std::vector<Saturating::Stream>& streams) {
  constexpr Cycle kWarm = 2'000, kCycles = 40'000;
  Engine engine(*m.graph, *m.routing, s);
  Saturating traffic(streams);
  Arrivals arrivals;
  engine.run(traffic, {&arrivals}, kWarm);
  const auto before = arrivals.flits;
  engine.run(traffic, {&arrivals}, kWarm + kCycles);
  engine.check_conservation();
  std::vector<double> out;
  for (unsigned c = 0; c < s.message_classes; ++c)
    out.push_back(static_cast<double>(arrivals.flits[c] - before[c]) / kCycles);
  return out;
}

// A channel is idle for some cycles between two packets: with several a class can use all of a cable.
machine::Machine two_routers(unsigned channels = 4) {
  return make_machine("mesh", {"dims=[2]", "endpoints_per_router=2"}, "dimension-order", {}, channels);
}

TEST(FairShares, WhoWasSilentIsNotPaidForIt) {
  FairShares shares({1, 1}, 1);
  for (int i = 0; i < 1000; ++i) shares.charge(0, 0, 1);  // alone
  int first = 0;
  for (int i = 0; i < 100; ++i) {
    const unsigned c = shares.start(0, 1) < shares.start(0, 0) ? 1 : 0;
    first += c == 1;
    shares.charge(0, c, 1);
  }
  EXPECT_NEAR(first, 50, 1);
}

class TrafficClassesOf : public testing::TestWithParam<std::tuple<const char*, Switching>> {};

TEST_P(TrafficClassesOf, ShareASaturatedCableByTheirWeights) {
  const auto& [kind, switching] = GetParam();
  machine::Machine m = two_routers();
  // From two sources to two destinations: only the cable is shared.
  const std::vector<Saturating::Stream> streams{{0, 2, 0, 8}, {1, 3, 1, 8}};
  for (const std::vector<unsigned>& weights : {std::vector<unsigned>{1, 3}, {3, 1}, {1, 1}, {2, 7}}) {
    const double all = weights[0] + weights[1];
    const auto got = shares(m, settings(m, weights, switching, kind), streams);
    EXPECT_NEAR(got[0] + got[1], 1, 0.01) << kind;
    EXPECT_NEAR(got[0], weights[0] / all, 0.02 * weights[0] / all) << kind;
    EXPECT_NEAR(got[1], weights[1] / all, 0.02 * weights[1] / all) << kind;
  }
}

TEST_P(TrafficClassesOf, LeaveToOthersWhatTheyDoNotUse) {
  const auto& [kind, switching] = GetParam();
  machine::Machine m = two_routers();
  for (std::uint8_t c : {std::uint8_t{0}, std::uint8_t{1}}) {
    const auto got = shares(m, settings(m, {1, 9}, switching, kind), {{0, 2, c, 8}});
    EXPECT_NEAR(got[c], 1, 0.01) << kind;
    EXPECT_EQ(got[1u - c], 0) << kind;
  }
}

TEST_P(TrafficClassesOf, ShareTheWayFromOneSourceToOneDestination) {
  const auto& [kind, switching] = GetParam();
  machine::Machine m = two_routers();
  // Packets of different length: it is flits that are shared.
  const auto got = shares(m, settings(m, {1, 3}, switching, kind), {{0, 2, 0, 16}, {0, 2, 1, 3}});
  EXPECT_NEAR(got[0] + got[1], 1, 0.02) << kind;
  EXPECT_NEAR(got[0], 0.25, 0.005) << kind;
}

INSTANTIATE_TEST_SUITE_P(Kinds, TrafficClassesOf,
                         testing::Combine(testing::Values("input-queued", "virtual-output-queued"),
                                          testing::Values(Switching::CutThrough, Switching::Wormhole)));

TEST(TrafficClasses, CableIsSharedByClassesNotByHowManyUseThem) {
  // One source of class 0 against three of class 1, over one cable.
  machine::Machine m = make_machine("mesh", {"dims=[2]", "endpoints_per_router=4"}, "dimension-order", {}, 4);
  const auto got = shares(m, settings(m, {1, 1}), {{0, 4, 0, 8}, {1, 5, 1, 8}, {2, 6, 1, 8}, {3, 7, 1, 8}});
  EXPECT_NEAR(got[0], 0.5, 0.01);
  EXPECT_NEAR(got[1], 0.5, 0.01);
}

TEST(TrafficClasses, SourcesOfAClassHaveTheirTurns) {
  // Inputs that share a class get the same, whatever the other class does between their turns.
  machine::Machine m = make_machine("mesh", {"dims=[2]", "endpoints_per_router=4"}, "dimension-order", {}, 4);
  Engine engine(*m.graph, *m.routing, settings(m, {1, 1}));
  Saturating traffic({{0, 4, 0, 4}, {1, 5, 0, 4}, {2, 6, 0, 4}, {3, 7, 1, 4}});
  Arrivals arrivals;
  engine.run(traffic, {&arrivals}, 24'000);
  std::array<unsigned, 4> by_source = {};
  for (const auto& one : arrivals.all) ++by_source[std::get<1>(one)];
  for (unsigned source = 0; source < 3; ++source) EXPECT_NEAR(by_source[source], 1000, 20) << source;
  EXPECT_NEAR(by_source[3], 3000, 30);
}

TEST(TrafficClasses, ThreadsDoNotChangeWhatArrives) {
  machine::Machine m =
      make_machine("torus", {"dims=[4,4]", "endpoints_per_router=2"}, "dimension-order", {}, 2);
  const auto run = [&](unsigned threads) {
    Settings s = settings(m, {1, 3});
    s.threads = threads;
    Engine engine(*m.graph, *m.routing, s);
    std::vector<Saturating::Stream> streams;
    for (EndpointId e = 0; e < m.graph->endpoints(); ++e)
      for (std::uint8_t c : {std::uint8_t{0}, std::uint8_t{1}})
        streams.push_back({e, static_cast<EndpointId>(random_bits(7, e, c) % m.graph->endpoints()), c,
                           static_cast<std::uint16_t>(1 + e % 9)});
    Saturating traffic(streams);
    std::vector<Arrivals> arrivals(threads);
    std::vector<Observer*> observers;
    for (Arrivals& a : arrivals) observers.push_back(&a);
    engine.run(traffic, observers, 4'000);
    engine.check_conservation();
    auto all = arrivals.front().all;
    for (unsigned t = 1; t < threads; ++t)
      all.insert(all.end(), arrivals[t].all.begin(), arrivals[t].all.end());
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto one = run(1);
  EXPECT_GT(one.size(), 5'000u);
  EXPECT_EQ(one, run(2));
}

}  // namespace
}  // namespace weft::network::flit
