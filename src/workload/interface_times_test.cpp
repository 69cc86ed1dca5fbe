#include "workload/interface_times.hpp"

#include <gtest/gtest.h>

#include "collective/sequences.hpp"
#include "nic/test_host.hpp"
#include "workload/collectives.hpp"
#include "workload/executor.hpp"
#include "workload/replay.hpp"

namespace weft::workload {
namespace {

using collective::Part;
using nic::test::Bench;
using nic::test::TestHost;

/// Nodes on one router, all as far from each other; packets without bytes, so none is in another's way.
std::string one_router(unsigned nodes, unsigned arity, const char* tree) {
  return nic::test::torus(
             "triggers = 8\nunits = 64\noccupancy = \"7ns\"\ntrigger_time = \"20ns\"\nheader = "
             "\"0B\"\ntranslation = "
             "\"none\"",
             "", "[1]\nendpoints_per_router = " + std::to_string(nodes)) +
         "[mpi]\ntree_arity = " + std::to_string(arity) + "\ntree = \"" + tree + "\"\n";
}

/// A packet without bytes from one node to another.
Time network_time(const machine::Machine& m) {
  ProgramBuilder p(2);
  p.interface_send(0, p.interface_delay(0, {}, Time{1}), 1, 0, 0);
  p.await(1, p.interface_receive(1, 0, 0, 0));
  p.wait(1);
  Program program = std::move(p).finish("one");
  auto network = make_engine("ideal", m, {1, 1});
  event::EventQueue events;
  return execute(program, {0, 1}, *network, events, {}).rank_end[1] - Time{1};
}

struct Case {
  unsigned nodes, arity;
  const char* tree;
};
const Case kCases[] = {{2, 2, "k-ary"},  {4, 3, "k-ary"},     {13, 3, "k-ary"},   {64, 4, "k-ary"},
                       {64, 0, "k-ary"}, {64, 2, "k-nomial"}, {27, 3, "k-nomial"}};

TEST(InterfaceTimes, ASkeletonsBarrierTakesTheClosedForm) {
  for (const Case& c : kCases) {
    machine::Machine m =
        machine::build(machine::describe_text(one_router(c.nodes, c.arity, c.tree), "test", {}));
    const InterfaceTimes t = interface_times(m.description);
    ProgramBuilder p(c.nodes);
    p.interfaces = &t;
    std::vector<Rank> all;
    for (Rank r = 0; r < c.nodes; ++r) all.push_back(r);
    barrier(p, all);
    Program program = std::move(p).finish("barrier");
    check(program);
    auto network = make_engine("ideal", m, {1, 1});
    event::EventQueue events;
    ExecutionResult result = execute(program, all, *network, events, {});
    ASSERT_TRUE(result.finished);
    EXPECT_EQ(result.completion, barrier_time(t, c.nodes, network_time(m)))
        << c.nodes << " " << c.arity << c.tree;
  }
}

/// Ranks in groups that are no neighbours by number: fewer packets leave a group, and the time is that of the
/// tree of two levels.
TEST(InterfaceTimes, ASkeletonsBarrierInTwoLevelsTakesTheClosedForm) {
  for (const Case& c : kCases) {
    machine::Machine m =
        machine::build(machine::describe_text(one_router(c.nodes, c.arity, c.tree), "test", {}));
    InterfaceTimes t = interface_times(m.description);
    for (Rank r = 0; r < c.nodes; ++r) t.group_of_rank.push_back(r % 5);
    ProgramBuilder p(c.nodes);
    p.interfaces = &t;
    std::vector<Rank> all;
    for (Rank r = 0; r < c.nodes; ++r) all.push_back(r);
    barrier(p, all);
    Program program = std::move(p).finish("barrier");
    check(program);
    auto network = make_engine("ideal", m, {1, 1});
    event::EventQueue events;
    ExecutionResult result = execute(program, all, *network, events, {});
    ASSERT_TRUE(result.finished);
    std::vector<std::uint32_t> order(all);
    const collective::Tree tree = tree_of(t, order);
    EXPECT_EQ(order[0], 0u);
    unsigned across = 0;
    for (collective::Place place = 1; place < c.nodes; ++place)
      across += order[place] % 5 != order[tree.parent(place)] % 5;
    EXPECT_EQ(across, std::min(c.nodes, 5u) - 1) << "as few as can be";
    EXPECT_EQ(result.completion, barrier_time(t, tree, network_time(m)))
        << c.nodes << " " << c.arity << c.tree;
  }
}

TEST(InterfaceTimes, TheInterfacesTakeTheClosedForm) {
  for (const Case& c : kCases) {
    Bench b(one_router(c.nodes, c.arity, c.tree), c.nodes);
    const machine::Description& d = b.machine.description;
    const InterfaceTimes t = interface_times(d);
    const collective::Tree tree = tree_of(t, c.nodes);
    std::vector<collective::Member> members;
    for (std::uint32_t i = 0; i < c.nodes; ++i) members.push_back({i, b.ports[i].port, 0});
    for (std::uint32_t i = 0; i < c.nodes; ++i) {
      const std::uint64_t key = b.region(i, 0, 1 << 16);
      for (std::uint16_t part = 0; part < 2; ++part) {
        collective::Sequence s = collective::sequence_for(tree, members, i, static_cast<Part>(part));
        std::uint8_t* at = b.host.memory[i].data() + part * 4096;
        std::memcpy(at, &s.image, sizeof s.image);
        std::memcpy(at + sizeof s.image, s.targets.data(), s.targets.size() * sizeof(nic::TriggerTarget));
        nic::Descriptor arm;
        arm.operation = nic::Operation::Arm;
        arm.tag = part;
        arm.local_key = key;
        arm.local_offset = part * 4096u;
        arm.length = sizeof s.image + s.targets.size() * sizeof(nic::TriggerTarget);
        b.post(i, arm);
      }
    }
    ASSERT_TRUE(b.settle());
    for (std::uint32_t i = 0; i < c.nodes; ++i) {
      ASSERT_EQ(b.events(i).size(), 2u);
      EXPECT_EQ(b.events(i)[0].kind, nic::EventKind::Armed);
      b.events(i).clear();
    }
    const Time start = b.fabric->now();
    for (std::uint32_t i = 0; i < c.nodes; ++i) {
      nic::Descriptor post;
      post.operation = nic::Operation::Trigger;
      post.node = i;
      post.port = b.ports[i].port;
      b.post(i, post);
    }
    ASSERT_TRUE(b.settle());
    std::int64_t last = 0;
    for (std::uint32_t i = 0; i < c.nodes; ++i) {
      ASSERT_EQ(b.events(i).size(), 1u);
      last = std::max(last, b.events(i)[0].time);
    }
    // What the processors do before and after is not the interface's.
    const Time processors =
        d.mpi.send_cost + d.host.post_cost + d.host.memory_read + d.host.receive_cost + d.mpi.receive_cost;
    EXPECT_EQ(last, (start + barrier_time(t, c.nodes, network_time(b.machine)) - processors).value)
        << c.nodes << " " << c.arity << c.tree;
  }
}

}  // namespace
}  // namespace weft::workload
