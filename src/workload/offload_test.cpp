#include "workload/offload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "machine/machine.hpp"
#include "nic/test_host.hpp"
#include "workload/collective_spans.hpp"
#include "workload/executor.hpp"
#include "workload/replay.hpp"
#include "workload/trace.hpp"

namespace weft::workload {
namespace {

using testing::HasSubstr;
using Kind = Operation::Kind;

/// Nodes on one router, all as far from each other; packets without bytes, so none is in another's way.
machine::Machine one_router(unsigned nodes, const std::string& more = "") {
  return machine::build(machine::describe_text(
      nic::test::torus("triggers = 8\nunits = 64\noccupancy = \"7ns\"\ntrigger_time = \"20ns\"\nheader = "
                       "\"0B\"\ntranslation = \"none\"\n" +
                           more,
                       "", "[1]\nendpoints_per_router = " + std::to_string(nodes)),
      "test", {}));
}

/// Steps of a rank, one after the other, as recordings have them.
class Script {
 public:
  Script(Program& p, Rank rank) : p_(p), first_(p.operations.size()), rank_(rank) {}
  ~Script() { p_.begin.push_back(p_.operations.size()); }

  void compute(std::uint64_t time, std::uint32_t of = 0) {
    last_ = add({Kind::Compute, false, 0, 0, time}, of);
  }
  void send(Rank to, std::uint64_t bytes, std::uint32_t tag, std::uint32_t of = 0) {
    add({Kind::Send, false, to, tag, bytes}, of);
  }
  void receive(Rank from, std::uint64_t bytes, std::uint32_t tag, std::uint32_t of = 0) {
    const Step last = std::exchange(last_, kNone);
    heard_.push_back(add({Kind::Receive, false, from, tag, bytes}, of));
    last_ = last;
  }
  void wait(std::uint32_t of = 0) {
    const Step step = add({}, of);
    for (Step s : std::exchange(heard_, {})) p_.dependencies.push_back({s});
    p_.dependency_begin.back() = p_.dependencies.size();
    last_ = step;
  }
  /// What a library might do: everyone tells the next, which takes it half a microsecond.
  void ring(Rank ranks, std::uint64_t bytes, std::uint32_t tag, std::uint32_t of) {
    wait(of);
    compute(500'000, of);
    send((rank_ + 1) % ranks, bytes, tag, of);
    receive((rank_ + ranks - 1) % ranks, bytes, tag, of);
    wait(of);
    wait(of);
  }

 private:
  static constexpr Step kNone = ~Step{0};
  Step add(Operation o, std::uint32_t of) {
    p_.operations.push_back(o);
    p_.collective_of.push_back(of);
    if (last_ != kNone) p_.dependencies.push_back({last_});
    p_.dependency_begin.push_back(p_.dependencies.size());
    return static_cast<Step>(p_.operations.size() - 1 - first_);
  }

  Program& p_;
  const std::uint64_t first_;
  const Rank rank_;
  Step last_ = kNone;
  std::vector<Step> heard_;
};

std::vector<Rank> ranks_up_to(Rank n) {
  std::vector<Rank> all;
  for (Rank r = 0; r < n; ++r) all.push_back(r);
  return all;
}

/// So many collectives of all ranks, each after computing for a microsecond.
Program recorded(Rank ranks, unsigned count, const Collective& like) {
  Program p;
  p.groups.push_back(ranks_up_to(ranks));
  p.collectives.assign(count, like);
  for (Rank r = 0; r < ranks; ++r) {
    Script s(p, r);
    for (std::uint32_t i = 0; i < count; ++i) {
      s.compute(1'000'000);
      s.ring(ranks, like.bytes, i, i + 1);
    }
  }
  return p;
}

Time run(const Program& p, const machine::Machine& m) {
  auto network = make_engine("ideal", m, {1, 1});
  event::EventQueue events;
  const ExecutionResult result = execute(p, ranks_up_to(p.ranks()), *network, events, {});
  EXPECT_TRUE(result.finished) << (result.stall.empty() ? "" : result.stall[0]);
  return result.completion;
}

/// A packet without bytes from one node to another.
Time network_time(const machine::Machine& m) {
  ProgramBuilder p(2);
  p.interface_send(0, p.interface_delay(0, {}, Time{1}), 1, 0, 0);
  p.await(1, p.interface_receive(1, 0, 0, 0));
  p.wait(1);
  return run(std::move(p).finish("one"), m) - Time{1};
}

TEST(Offload, BarriersOfARecordingTakeTheClosedForm) {
  for (Rank ranks : {2u, 5u, 16u, 40u}) {
    const machine::Machine m = one_router(ranks);
    const InterfaceTimes t = interface_times(m.description);
    Program p = recorded(ranks, 7, {});
    check(p);
    const Time by_messages = run(p, m);
    EXPECT_EQ(p.messages(), 7 * ranks);
    const OffloadCounts counts = offload_collectives(p, t);
    EXPECT_EQ(counts.named, 7u);
    EXPECT_EQ(counts.replaced, 7u);
    check(p);
    EXPECT_EQ(p.messages(), 7 * 2 * (ranks - 1)) << "up and down every edge of the tree";
    EXPECT_TRUE(p.collectives.empty());
    // All members are told at other times than the last: what they compute next overlaps.
    const Time by_interfaces = run(p, m), one = barrier_time(t, ranks, network_time(m));
    EXPECT_GE(by_interfaces, Time{1'000'000} + one);
    EXPECT_LE(by_interfaces, Time{7 * (1'000'000 + one.value)});
    EXPECT_GT(by_messages.value, 7 * 1'500'000);
    Program single = recorded(ranks, 1, {});
    offload_collectives(single, t);
    EXPECT_EQ(run(single, m), Time{1'000'000} + one);
  }
}

/// Whoever the root is: one packet more where it is not the tree's.
TEST(Offload, RootsThatAreNotTheTreesGiveAndGetByOnePacketMore) {
  const machine::Machine m = one_router(16, "operation_units = 2");
  const InterfaceTimes t = interface_times(m.description);
  for (Collective::Kind kind : {Collective::Kind::Broadcast, Collective::Kind::Reduce}) {
    Time at_first{0};
    for (std::uint32_t root = 0; root < 16; ++root) {
      Program p = recorded(16, 1, {kind, true, true, 0, root, 8});
      EXPECT_EQ(offload_collectives(p, t).replaced, 1u);
      check(p);
      EXPECT_EQ(p.messages(), root ? 16u : 15u);
      const Time took = run(p, m);
      if (root == 0)
        at_first = took;
      else
        EXPECT_GT(took, at_first) << root;
      EXPECT_LT(took, at_first + at_first);
    }
  }
}

TEST(Offload, WhatStaysSaysWhy) {
  const machine::Machine plain = one_router(4), able = one_router(4, "operation_units = 2");
  const InterfaceTimes none = interface_times(plain.description), units = interface_times(able.description);
  using K = Collective::Kind;
  auto left = [](const Collective& c, const InterfaceTimes& t) {
    Program p = recorded(4, 3, c);
    const std::string before = write_trace(p);
    const OffloadCounts counts = offload_collectives(p, t);
    EXPECT_EQ(counts.replaced, 0u);
    EXPECT_EQ(p.messages(), 12u);
    for (std::size_t why = 0; why < counts.left.size(); ++why)
      if (counts.left[why] == 3) return static_cast<Left>(why);
    return Left::Count;
  };
  EXPECT_EQ(left({K::Broadcast, true, true, 0, 0, 1 << 20}, units), Left::TooLong);
  EXPECT_EQ(left({K::AllReduce, true, true, 0, 0, 8}, none), Left::NoUnits);
  EXPECT_EQ(left({K::AllReduce, false, true, 0, 0, 8}, units), Left::NotCombined);
  EXPECT_EQ(left({K::Barrier, true, false, 0, 0, 0}, units), Left::NotWhole);
}

/// A message of others that arrives during a collective is still waited for, and one that is sent then still
/// goes, after what its sender had heard.
TEST(Offload, WhatHappenedMeanwhileIsKept) {
  const machine::Machine m = one_router(2);
  Program p;
  p.groups = {{0, 1}};
  p.collectives.resize(1);
  {
    Script s(p, 0);
    s.wait(1);
    s.send(1, 0, 0, 1);
    s.receive(1, 0, 0, 1);
    s.receive(1, 64, 7);  // of a send that rank 1 begins after five microseconds
    s.wait(1);
    s.send(1, 16, 8);  // an answer to it, within the collective's call
    s.wait(1);
    s.compute(10);
  }
  {
    Script s(p, 1);
    s.compute(5'000'000);
    s.send(0, 64, 7);
    s.wait(1);
    s.send(0, 0, 0, 1);
    s.receive(0, 0, 0, 1);
    s.wait(1);
    s.receive(0, 16, 8);
    s.wait();
  }
  check(p);
  EXPECT_EQ(offload_collectives(p, interface_times(m.description)).replaced, 1u);
  check(p);
  EXPECT_EQ(p.messages(), 4u) << "two of interfaces, and the two of others";
  EXPECT_EQ(p.bytes_sent(), 64u + 16u);
  auto network = make_engine("ideal", m, {1, 1});
  event::EventQueue events;
  const ExecutionResult result = execute(p, {0, 1}, *network, events, {});
  ASSERT_TRUE(result.finished);
  EXPECT_GT(result.rank_end[0], Time{5'000'000} + network_time(m));
  EXPECT_GT(result.rank_end[1], result.rank_end[0]) << "the answer comes after the message";
}

TEST(Offload, TracesKeepTheNamesOfCollectives) {
  const Program p = recorded(5, 4, {Collective::Kind::Reduce, false, true, 0, 3, 24});
  const std::string bytes = write_trace(p);
  const Program again = parse_trace(bytes, "test");
  EXPECT_EQ(again.groups, p.groups);
  EXPECT_EQ(again.collectives, p.collectives);
  EXPECT_EQ(again.collective_of, p.collective_of);
  EXPECT_EQ(write_trace(again), bytes);
  Program unnamed = p;
  unnamed.collectives.clear();
  unnamed.collective_of.clear();
  EXPECT_EQ(write_trace(unnamed)[8], 1) << "who names none writes what was always written";
  EXPECT_EQ(bytes[8], 2);
  EXPECT_TRUE(parse_trace(write_trace(unnamed), "test").collectives.empty());
}

TEST(Offload, StepsThatDoNotFitTheirCollectivesAreRefused) {
  auto refused = [](Program p) {
    try {
      CollectiveSpans spans(p);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Program good = recorded(3, 2, {});
  EXPECT_EQ(refused(good), "");
  Program p = good;
  for (std::uint64_t i = p.begin[1]; i < p.begin[2]; ++i)
    if (p.collective_of[i] == 2) p.collective_of[i] = 1;
  EXPECT_THAT(refused(p), HasSubstr("collective 1 has no beginning or no end in rank 1"));
  p.groups[0] = {0, 2};
  EXPECT_THAT(refused(p), HasSubstr("of which the rank is no member"));
  p = good;
  std::fill(p.collective_of.begin(), p.collective_of.end(), 0);
  EXPECT_THAT(refused(p), HasSubstr("no beginning or no end"));
}

// Whatever a trace says of its collectives: it is refused, or what comes of it is described or runs.
TEST(Offload, DamagedTracesAreRefusedOrSound) {
  const machine::Machine m = one_router(6, "operation_units = 2");
  const InterfaceTimes t = interface_times(m.description);
  Program program = recorded(6, 3, {Collective::Kind::AllReduce, true, true, 0, 2, 16});
  program.collectives[1].kind = Collective::Kind::Broadcast;
  const std::string good = write_trace(program), body = good.substr(0, good.size() - 8);
  int refused = 0, ran = 0, stalled = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    std::string text = body;
    for (std::uint32_t k = 0; k < 1 + seed % 3; ++k) {
      // Half of them in what follows the ranks.
      const auto size = static_cast<std::uint32_t>(text.size()), tail = 24u;
      const std::uint32_t at =
          seed % 2 ? size - 1 - random_below(2, seed, k, tail) : 9 + random_below(2, seed, k, size - 9);
      text[at] = static_cast<char>(random_bits(3, seed, k) % (seed % 5 ? 40 : 256));
    }
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(hash >> (8 * i)));
    try {
      Program p = parse_trace(text, "t");
      check(p);
      offload_collectives(p, t);
      check(p);
      if (p.ranks() != 6) continue;
      auto network = make_engine("ideal", m, {1, 1});
      event::EventQueue events;
      const ExecutionResult result = execute(p, ranks_up_to(6), *network, events, {});
      ++(result.finished ? ran : stalled);
      EXPECT_EQ(result.finished, result.stall.empty());
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(ran, 500);
}

}  // namespace
}  // namespace weft::workload
