// Memory that is named by one number, locks of ports, and notifications without data: what EXTOLL's RMA unit
// has.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic::test {
namespace {

constexpr std::uint32_t kOpen = kRemoteRead | kRemoteWrite | kRemoteAtomic | kHasLogical;

Descriptor logical(const Bench& b, Operation operation, std::uint64_t length, std::uint64_t local,
                   std::uint64_t remote, std::uint16_t flags = 0) {
  Descriptor d = b.to(1, operation, length, static_cast<std::uint16_t>(flags | kLogical));
  d.local_offset = local;
  d.remote_offset = remote;
  return d;
}

TEST(LogicalAddress, NamesMemoryWithoutAKey) {
  Bench b(torus(), 2);
  const std::uint64_t here = b.region(0, 0, 4096, kOpen), there = b.region(1, 100, 4096, kOpen);
  for (std::size_t i = 0; i < 4096; ++i) b.host.memory[0][i] = static_cast<std::uint8_t>(i * 3);
  b.post(0, logical(b, Operation::Put, 1000, logical_address(here, 7), logical_address(there, 50),
                    kNotifyRemote));
  ASSERT_TRUE(b.settle());
  EXPECT_TRUE(std::equal(b.host.memory[0].begin() + 7, b.host.memory[0].begin() + 1007,
                         b.host.memory[1].begin() + 150));
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].kind, EventKind::Arrived);
}

// Only memory that has such addresses, only what is in it, only of the port that is named.
TEST(LogicalAddress, ReachesNothingElse) {
  Bench b(torus(), 2);
  const std::uint64_t here = b.region(0, 0, 4096, kOpen), plain = b.region(1, 0, 4096, kRemoteWrite);
  const std::uint64_t read_only = b.region(1, 8192, 4096, kRemoteRead | kHasLogical);
  const std::uint64_t there = b.region(1, 16384, 4096, kOpen);
  PortNo second = 0;
  ASSERT_EQ(b.fabric->open(1, 1, false, second), Status::Ok);
  struct Case {
    std::uint64_t remote;
    std::uint32_t port;
    Status status;
  };
  const Case cases[] = {
      {logical_address(plain, 0), b.ports[1].port, Status::BadKey},
      {logical_address(read_only, 0), b.ports[1].port, Status::NoRight},
      {logical_address(there, 4090), b.ports[1].port, Status::BadRange},
      {logical_address(there, 0), second, Status::BadKey},
      {4096, b.ports[1].port, Status::BadKey},
      {~std::uint64_t{0}, b.ports[1].port, Status::BadKey},
  };
  for (const Case& c : cases) {
    Descriptor d = logical(b, Operation::Put, 8, logical_address(here, 0), c.remote);
    d.port = c.port;
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].kind, EventKind::Failed);
    EXPECT_EQ(b.events(0)[0].status, c.status);
    EXPECT_EQ(b.events(0)[0].spare[1], 1u) << "found at the target";
    b.events(0).clear();
  }
  b.post(0, logical(b, Operation::Put, 8, logical_address(here, 4090), logical_address(there, 0)));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::BadRange);
  EXPECT_EQ(b.events(0)[0].spare[1], 0u) << "found here";
  b.events(0).clear();
  Descriptor both =
      logical(b, Operation::Put, 8, logical_address(here, 0), logical_address(there, 0), kPhysical);
  b.post(0, both);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_NE(b.events(0)[0].status, Status::Ok);
  for (std::uint8_t byte : b.host.memory[1]) EXPECT_EQ(byte, 0);
}

TEST(LogicalAddress, AGetTellsOfItsRequestToo) {
  Bench b(torus(), 2);
  const std::uint64_t here = b.region(0, 0, 4096, kOpen), there = b.region(1, 0, 4096, kOpen);
  b.post(0, logical(b, Operation::Get, 3000, logical_address(here, 0), logical_address(there, 0),
                    kNotifyLocal | kNotifyRemote | kNotifyDone));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 2u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Local);
  EXPECT_EQ(b.events(0)[1].kind, EventKind::Done);
  EXPECT_LT(b.events(0)[0].time, b.events(0)[1].time);
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].kind, EventKind::Responded);
}

TEST(Locks, AreAddedToWhileTheyAreSmallEnough) {
  Bench b(torus(), 2);
  ASSERT_NE(b.region(1, 4096, 64 * 8, kRemoteAtomic | kIsLocks), 0u);
  auto ask = [&](std::uint64_t number, std::int32_t compare, std::int32_t add) {
    Descriptor d = logical(b, Operation::BoundedAdd, 8, 0, number * 8, kNotifyRemote);
    d.remote_key = kLocksKey;
    d.compare = static_cast<std::uint64_t>(std::int64_t{compare});
    d.operand = static_cast<std::uint64_t>(std::int64_t{add});
    b.events(0).clear();
    b.events(1).clear();
    b.post(0, d);
    EXPECT_TRUE(b.settle());
  };
  ask(3, 0, 2);
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Done);
  EXPECT_EQ(b.events(0)[0].data, 0u) << "the old value";
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].data, 0u);
  EXPECT_EQ(b.events(1)[0].spare[1], 2u) << "what was added";
  ask(3, 1, 2);
  EXPECT_EQ(b.events(0)[0].data, 2u);
  EXPECT_EQ(b.host.memory[1][4096 + 24], 2) << "refused";
  // 32 bits, with a sign.
  ask(4, 0, 0x7fffffff);
  ask(4, 0x7fffffff, 1);
  ask(4, 0, 0);
  EXPECT_EQ(static_cast<std::int64_t>(b.events(0)[0].data), std::int64_t{-0x80000000ll});
  ask(64, 0, 1);
  EXPECT_EQ(b.events(0)[0].status, Status::BadRange);
}

TEST(Locks, AreThePortsOwn) {
  Bench b(torus(), 2);
  Descriptor d = logical(b, Operation::BoundedAdd, 8, 0, 0);
  d.remote_key = kLocksKey;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::BadKey) << "it has none";
}

TEST(Notification, NeedsNoMemoryAndOvertakesNone) {
  Bench b(torus(), 2);
  const std::uint64_t here = b.region(0, 0, 65536, kOpen), there = b.region(1, 0, 65536, kOpen);
  for (int i = 0; i < 5; ++i) {
    b.post(0, logical(b, Operation::Put, 60000, logical_address(here, 0), logical_address(there, 0),
                      kNotifyRemote));
    Descriptor d = logical(b, Operation::ImmediatePut, 0, 0, 0, kNotifyRemote | kNotifyLocal);
    d.operand = 1000 + static_cast<std::uint64_t>(i);
    b.post(0, d);
  }
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(1).size(), 10u);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_EQ(b.events(1)[i].operation, i % 2 ? Operation::ImmediatePut : Operation::Put) << i;
    if (i % 2) EXPECT_EQ(b.events(1)[i].data, 1000 + i / 2);
  }
}

TEST(Notification, IsRepeatedWhereItIsReliable) {
  Bench b(torus("corruption = 0.3\ntimeout = \"20us\""), 2);
  for (int i = 0; i < 20; ++i)
    b.post(0, logical(b, Operation::ImmediatePut, 0, 0, 0, kNotifyRemote | kReliable | kNotifyDone));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.events(1).size(), 20u);
}

TEST(Notification, ThatNobodyHearsOfIsRefused) {
  Bench b(torus(), 2);
  b.post(0, logical(b, Operation::ImmediatePut, 0, 0, 0));
  Descriptor d = logical(b, Operation::ImmediatePut, 0, 0, 0, kNotifyRemote);
  d.port = 77;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 2u);
  EXPECT_EQ(b.events(0)[0].status, Status::BadLength);
  EXPECT_EQ(b.events(0)[1].status, Status::NoPort);
}

}  // namespace
}  // namespace weft::nic::test
