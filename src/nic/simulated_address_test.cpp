// Memory that the interface sees at an address of the simulator's: its pages are those, wherever it lies.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic::test {
namespace {

constexpr std::uint64_t kSimulated = std::uint64_t{1} << 50, kBytes = 8000;

struct Put {
  Time took{0};
  std::uint64_t misses = 0;
};

Put put(Bench& b, std::uint64_t local, std::uint64_t remote) {
  Put out;
  Time begin = b.fabric->now();
  std::uint64_t misses = b.fabric->counters(0).translation_misses;
  Descriptor d = b.to(1, Operation::Put, kBytes, kNotifyDone);
  d.local_key = local;
  d.remote_key = remote;
  b.post(0, d);
  EXPECT_TRUE(b.settle());
  out.took = b.fabric->now() - begin;
  out.misses = b.fabric->counters(0).translation_misses - misses;
  return out;
}

// As many pages as it has bytes for, and the same time, at whatever offset in a page it really lies.
TEST(SimulatedAddress, DecidesAboutPages) {
  std::vector<Put> puts;
  for (std::uint64_t offset : {0, 16, 2500, 4080}) {
    Bench b(torus("translation = \"cache\"\npage = \"4KiB\""), 2);
    std::uint64_t local = 0, remote = b.region(1, 0, kBytes);
    ASSERT_EQ(b.fabric->register_memory(b.ports[0], TestHost::kBase + offset, kBytes, 0, local, kSimulated),
              Status::Ok);
    puts.push_back(put(b, local, remote));
    EXPECT_EQ(puts.back().misses, 2u);
    EXPECT_EQ(puts.back().took.value, puts.front().took.value);
  }
}

// To the interface it is the same memory; the bytes come from where it lies now.
TEST(SimulatedAddress, StaysWhereMemoryMoves) {
  Bench b(torus("translation = \"cache\"\npage = \"4KiB\""), 2);
  std::uint64_t local = 0, fixed = 0, remote = b.region(1, 0, kBytes);
  ASSERT_EQ(b.fabric->register_memory(b.ports[0], TestHost::kBase + 100, kBytes, 0, local, kSimulated),
            Status::Ok);
  Put first = put(b, local, remote);
  for (std::uint64_t i = 0; i < kBytes; ++i)
    b.host.memory[0][50'001 + i] = static_cast<std::uint8_t>(7 * i + 1);
  ASSERT_EQ(b.fabric->move_memory(b.ports[0], local, TestHost::kBase + 50'001), Status::Ok);
  Put second = put(b, local, remote);
  EXPECT_EQ(first.misses, 2u);
  EXPECT_EQ(second.misses, 0u);
  EXPECT_TRUE(std::equal(b.host.memory[1].begin(), b.host.memory[1].begin() + kBytes,
                         b.host.memory[0].begin() + 50'001));
  // Not another's, not memory at its own address, not out of all bounds.
  EXPECT_EQ(b.fabric->move_memory(b.ports[1], local, TestHost::kBase), Status::BadKey);
  ASSERT_EQ(b.fabric->register_memory(b.ports[0], TestHost::kBase, kBytes, 0, fixed), Status::Ok);
  EXPECT_EQ(b.fabric->move_memory(b.ports[0], fixed, TestHost::kBase + 4096), Status::BadKey);
  EXPECT_EQ(b.fabric->move_memory(b.ports[0], local, ~0ull - 100), Status::BadRange);
  EXPECT_EQ(b.fabric->unregister_memory(b.ports[0], local), Status::Ok);
}

TEST(SimulatedAddress, MustBeOne) {
  Bench b(torus(), 2);
  std::uint64_t key = 0;
  EXPECT_EQ(b.fabric->register_memory(b.ports[0], TestHost::kBase, kBytes, 0, key, ~0ull - 100),
            Status::BadRange);
}

// What could not be read or written is told by its address.
TEST(BadMemory, IsToldByItsAddress) {
  for (bool local_gone : {false, true}) {
    Bench b(torus(), 2);
    constexpr std::uint64_t kGone = 1ull << 30;
    Descriptor d = b.to(1, Operation::Put, 64, kNotifyDone);
    d.local_key = b.region(0, local_gone ? kGone : 0, 1000);
    d.remote_key = b.region(1, local_gone ? 0 : kGone, 1000);
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].status, Status::BadMemory);
    EXPECT_EQ(b.events(0)[0].data, TestHost::kBase + kGone);
  }
}

}  // namespace
}  // namespace weft::nic::test
