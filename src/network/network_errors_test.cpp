// The flit engine as a Network over cables with errors: whoever is above it notices only the time.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "machines.hpp"
#include "network/network.hpp"

namespace weft::network {
namespace {

struct Outcome {
  std::vector<std::pair<Tag, Time>> delivered;
  Time last{0};
  bool operator==(const Outcome&) const = default;
};

/// Random packets on a mesh of 16; checks that each is told of once and that each pair keeps its order: with
/// one way and one channel none may overtake.
Outcome run(const test::Settings& settings, std::uint64_t seed) {
  test::Settings all{"cable.default.heartbeat=100ns", "cable.default.training_time=200ns"};
  all.insert(all.end(), settings.begin(), settings.end());
  machine::Machine m = test::make_machine("mesh", {"dims=[4,4]"}, "dimension-order", {}, 1, all);
  EngineOptions options;
  options.seed = seed;
  auto network = config::Registry<EngineKind>::find("flit")->make(m, options);
  constexpr Tag kPackets = 2000;
  std::vector<Packet> sent(kPackets);
  for (Tag tag = 0; tag < kPackets; ++tag) {
    Packet& packet = sent[tag];
    packet.source = random_below(seed, tag, 0, 16);
    packet.destination = random_below(seed, tag, 1, 16);
    packet.bytes = 1 + random_below(seed, tag, 2, 300);
    packet.tag = tag;
    network->send(packet, Time{static_cast<std::int64_t>(tag * 5'000)});
  }
  Outcome out;
  std::set<Tag> departed, delivered;
  std::map<std::pair<EndpointId, EndpointId>, Tag> newest;
  std::vector<Notice> notices;
  while (!network->idle()) {
    notices.clear();
    network->advance(network->now() + Time{1'000'000'000}, notices);
    for (const Notice& notice : notices) {
      EXPECT_NE(notice.kind, Notice::Kind::Lost) << notice.tag;
      if (notice.kind == Notice::Kind::Departed) {
        EXPECT_TRUE(departed.insert(notice.tag).second) << notice.tag << " departed twice";
        continue;
      }
      EXPECT_TRUE(delivered.insert(notice.tag).second) << notice.tag << " delivered twice";
      EXPECT_TRUE(departed.count(notice.tag)) << notice.tag;
      const Packet& packet = sent[notice.tag];
      auto [at, first] = newest.try_emplace({packet.source, packet.destination}, notice.tag);
      EXPECT_TRUE(first || at->second < notice.tag) << notice.tag << " was overtaken";
      at->second = notice.tag;
      out.delivered.emplace_back(notice.tag, notice.at);
      out.last = notice.at;
    }
  }
  EXPECT_EQ(departed.size(), kPackets);
  EXPECT_EQ(delivered.size(), kPackets);
  return out;
}

TEST(NetworkErrors, EverythingIsDeliveredOnceAndInOrder) {
  Outcome clean = run({}, 1);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Outcome errors = run({"cable.default.bit_error_rate=2e-5", "cable.default.error_burst=20"}, seed);
    EXPECT_EQ(errors, run({"cable.default.bit_error_rate=2e-5", "cable.default.error_burst=20"}, seed));
    if (seed == 1) {
      EXPECT_NE(errors, clean) << "errors there were, and they took time";
    }
  }
}

TEST(NetworkErrors, AlsoScrambledAndOverLanesThatCrossAndFail) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run({"cable.default.bit_error_rate=1e-5", "cable.default.scrambler=true",
         "cable.default.lane_order=[2,0,3,1]", "cable.default.fallback_rates=[\"3Gbps\"]",
         "cable.default.lane_fail_rate=[0.2,0.01]", "cable.default.clock_ppm=300"},
        seed);
  }
}

TEST(NetworkErrors, CrossedLanesCostTheTimeOfTheirTestAlone) {
  Outcome straight = run({}, 5), crossed = run({"cable.default.lane_order=[3,2,1,0]"}, 5);
  ASSERT_FALSE(crossed.delivered.empty());
  EXPECT_GE(crossed.last, straight.last);
  EXPECT_LT(crossed.last.value, straight.last.value + 5'000'000);
}

}  // namespace
}  // namespace weft::network
