#include "manage/recovery.hpp"

#include <gtest/gtest.h>

namespace weft::manage {
namespace {

struct Booted {
  explicit Booted(const std::string& profile, const std::vector<std::string>& settings = {})
      : machine(machine::build(machine::describe(profile, settings))),
        wiring(*machine.graph, *machine.faults),
        chips(with_successor(machine, wiring)),
        found(discover(*machine.graph, chips)),
        tables(write_tables(machine, found, chips, 100'000)),
        manager(machine, chips, found) {}

  static Chips with_successor(const machine::Machine& machine, const Wiring& wiring) {
    Chips out(machine, wiring, 0);
    out.name_successor(9 % machine.graph->endpoints());
    return out;
  }

  machine::Machine machine;
  Wiring wiring;
  Chips chips;
  Discovery found;
  TableReport tables;
  RecoveringManager manager;
};

const std::vector<std::string> kSmall{"topology.dims=[4,4]", "router.channels=4"};

TEST(Recovery, BringsNewRoutesToEveryRouter) {
  for (const char* profile : {"torus", "mesh", "fat-tree", "extoll-r1", "jellyfish"}) {
    Booted b(profile, std::string(profile) == "torus" ? kSmall : std::vector<std::string>{});
    ASSERT_EQ(b.tables.undelivered, 0u) << profile;
    PortId cut = b.machine.graph->port_begin(1);
    while (b.machine.graph->peer(cut) == kNone) ++cut;
    b.wiring.unplug(cut);
    Recovery r = b.manager.recover(100'000);
    EXPECT_TRUE(r.complete) << profile << " " << r.routing;
    EXPECT_EQ(r.tables.undelivered, 0u) << profile;
    EXPECT_EQ(r.tables.failed, 0u) << profile;
    EXPECT_GT(r.detect.value, 0);
    EXPECT_GT(r.write.value, 0);
  }
}

// Only what changes is written where the new tables have the rows of the old ones.
TEST(Recovery, CostsLessThanBooting) {
  Booted b("exanest-track1");
  PortId cut = b.machine.graph->port_begin(5);
  while (b.machine.graph->peer(cut) == kNone) ++cut;
  b.wiring.unplug(cut);
  Recovery r = b.manager.recover(1000);
  ASSERT_TRUE(r.complete);
  EXPECT_LT(r.tables.entries, b.tables.entries / 2);
}

TEST(Recovery, ASecondFailureIsServedToo) {
  Booted b("torus", kSmall);
  b.wiring.unplug(b.machine.graph->port(1, 0));
  ASSERT_TRUE(b.manager.recover(1000).complete);
  b.wiring.unplug(b.machine.graph->port(10, 1));
  Recovery r = b.manager.recover(100'000);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.tables.undelivered, 0u);
}

// Wherever the manager dies, pairs that are not served are told, and another one finishes.
TEST(Recovery, AnotherManagerFinishes) {
  Booted whole("torus", kSmall);
  whole.wiring.unplug(whole.machine.graph->port(1, 0));
  const std::uint64_t all = whole.manager.recover(1000).writes;
  unsigned served_old = 0, told = 0;
  for (std::uint64_t writes = 0; writes < all; writes += 1 + all / 40) {
    Booted b("torus", kSmall);
    b.wiring.unplug(b.machine.graph->port(1, 0));
    Recovery r = b.manager.recover(100'000, writes);
    if (r.complete) break;
    EXPECT_EQ(r.lost.empty(), r.tables.undelivered == 0) << writes;
    // The rest goes by the old routes, or waits; nothing comes to a wrong place or goes round.
    served_old += r.tables.undelivered < r.tables.pairs / 2;
    told += r.tables.undelivered > 0;
    b.manager.take_over(9);
    Recovery second = b.manager.recover(100'000);
    EXPECT_TRUE(second.complete) << writes;
    EXPECT_EQ(second.tables.undelivered, 0u) << writes;
  }
  EXPECT_GT(served_old, 10u);
  EXPECT_GT(told, 10u);
}

// Only the one that the manager has named: another finds that it may not even number its own router.
TEST(Recovery, NobodyElseTakesOver) {
  Booted b("torus", kSmall);
  b.manager.take_over(10);
  Recovery r = b.manager.recover(100'000);
  EXPECT_FALSE(r.complete);
  b.manager.take_over(9);
  EXPECT_TRUE(b.manager.recover(100'000).complete);
}

}  // namespace
}  // namespace weft::manage
