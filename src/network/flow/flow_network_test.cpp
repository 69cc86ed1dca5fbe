// The flow engine through the interface of all engines: times, order at the source, what is lost.
#include "network/flow/flow_network.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"

namespace weft::network::flow {

namespace {

machine::Machine line_of(unsigned routers, const std::string& more = "",
                         const std::vector<std::string>& settings = {}) {
  return machine::build(
      machine::describe_text("[topology]\nkind = \"mesh\"\ndims = [" + std::to_string(routers) +
                                 "]\n[routing]\nkind = \"dimension-order\"\n[router]\nlatency = "
                                 "\"60ns\"\nclock = \"500MHz\"\nflit = \"16B\"\n"
                                 "[cable.default]\ndelay = \"80ns\"\nlength = \"0m\"\nlane_rate = "
                                 "\"64Gbps\"\nlanes = 1\ncoding = \"none\"\n" +
                                 more,
                             "test", settings));
}

std::vector<Notice> all_notices(Network& network) {
  std::vector<Notice> out;
  while (!network.idle()) network.advance(kForever, out);
  return out;
}

// 8 bytes a nanosecond.
constexpr std::int64_t way(int routers) { return routers * 60'000 + (routers - 1) * 80'000 + 2 * 2'000; }

TEST(FlowNetwork, AnEmptyNetworkTakesTheWaysDelayAndTheBytesTime) {
  machine::Machine m = line_of(4);
  FlowNetwork network(m);
  network.send({0, 3, 8000, 0, 42}, {7'000});
  auto notices = all_notices(network);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].kind, Notice::Kind::Departed);
  EXPECT_EQ(notices[0].at.value, 7'000 + 1'000'000);
  EXPECT_EQ(notices[1].kind, Notice::Kind::Delivered);
  EXPECT_EQ(notices[1].at.value, 7'000 + 1'000'000 + way(4));
  EXPECT_EQ(notices[1].tag, 42u);
}

TEST(FlowNetwork, ClassesOfTrafficShareByTheirWeights) {
  machine::Machine m = line_of(3, "", {"router.class_weights=[1,3]"});
  // Beside each other on a link, and from one source: bytes as the weights, so both end together.
  for (EndpointId other : {EndpointId{1}, EndpointId{0}}) {
    FlowNetwork network(m);
    network.send({0, 2, 8000, 0, 1}, {0});
    network.send({other, 2, 24'000, 1, 2}, {0});
    for (const Notice& notice : all_notices(network)) {
      if (notice.kind == Notice::Kind::Departed) EXPECT_EQ(notice.at.value, 4'000'000) << notice.tag;
    }
    network.fluid().check_conservation();
  }
  // Alone, a class has all of it.
  FlowNetwork network(m);
  network.send({0, 2, 8000, 0, 1}, {0});
  EXPECT_EQ(all_notices(network).front().at.value, 1'000'000);
}

TEST(FlowNetwork, WireTimeCountsWholeFlits) {
  machine::Machine m = line_of(2);
  FlowNetwork network(m);
  network.send({0, 1, 1, 0, 1}, {0});
  EXPECT_EQ(all_notices(network).back().at.value, 2'000 + way(2));
}

TEST(FlowNetwork, ASourceSendsOneAfterTheOtherAndTwoSourcesShareALink) {
  machine::Machine m = line_of(3);
  FlowNetwork network(m);
  network.send({0, 2, 8000, 0, 1}, {0});
  network.send({0, 2, 8000, 0, 2}, {0});
  network.send({1, 2, 8000, 0, 3}, {0});
  std::map<Tag, std::int64_t> departed, delivered;
  for (const Notice& n : all_notices(network))
    (n.kind == Notice::Kind::Departed ? departed : delivered)[n.tag] = n.at.value;
  // The first and the third share the last cable at half rate, then the second has it for itself.
  EXPECT_EQ(departed[1], 2'000'000);
  EXPECT_EQ(departed[3], 2'000'000);
  EXPECT_EQ(departed[2], 3'000'000);
  EXPECT_EQ(delivered[3], 2'000'000 + way(2));
  EXPECT_EQ(delivered[2], 3'000'000 + way(3));
}

TEST(FlowNetwork, StopsAtTheTimeItIsGivenAndAtTheFirstNotice) {
  machine::Machine m = line_of(2);
  FlowNetwork network(m);
  std::vector<Notice> notices;
  network.advance({500}, notices);
  EXPECT_EQ(network.now().value, 500);
  network.send({0, 1, 8000, 0, 1}, {600});
  network.advance({1'000}, notices);
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ(network.now().value, 1'000);
  network.advance(kForever, notices);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(network.now(), notices[0].at);
  EXPECT_FALSE(network.idle());
}

TEST(FlowNetwork, WhatCannotArriveIsReportedLostAndTheRestGoesOn) {
  machine::Machine m = line_of(4, "[faults]\ndead_cables = [\"r1.p0\"]\n");
  FlowNetwork network(m);
  network.send({0, 3, 800, 0, 1}, {0});
  network.send({0, 1, 800, 0, 2}, {0});
  int lost = 0, delivered = 0;
  for (const Notice& n : all_notices(network)) {
    lost += n.kind == Notice::Kind::Lost && n.tag == 1;
    delivered += n.kind == Notice::Kind::Delivered && n.tag == 2;
  }
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(delivered, 1);
}

TEST(FlowNetwork, EveryPacketDepartsAndArrivesOnceInTheOrderOfTime) {
  machine::Machine m = machine::build(machine::describe("dragonfly", {}));
  FlowNetwork network(m);
  constexpr std::uint32_t kPackets = 3000;
  for (std::uint32_t i = 0; i < kPackets; ++i)
    network.send({random_below(1, i, 0, m.graph->endpoints()), random_below(1, i, 1, m.graph->endpoints()),
                  random_below(1, i, 2, 100'000), 0, i},
                 {random_below(1, i, 3, 5'000'000)});
  std::vector<int> departed(kPackets), delivered(kPackets);
  Time last{0};
  for (const Notice& n : all_notices(network)) {
    EXPECT_GE(n.at, last);
    last = n.at;
    ++(n.kind == Notice::Kind::Departed ? departed : delivered)[n.tag];
  }
  EXPECT_EQ(departed, std::vector<int>(kPackets, 1));
  EXPECT_EQ(delivered, std::vector<int>(kPackets, 1));
}

}  // namespace

}  // namespace weft::network::flow
