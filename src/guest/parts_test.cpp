// The small parts of Linux nodes: rings, consoles, captures and what is seen on the wire.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "guest/archive.hpp"
#include "guest/console.hpp"
#include "guest/pcapng.hpp"
#include "guest/terminal.hpp"
#include "guest/test_guest.hpp"
#include "guest/traffic.hpp"

namespace weft::guest {
namespace {

using test::TestRing;

class VirtqueueTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBase = 0x4000;
  VirtqueueTest() : memory(8192), ring(memory, kBase, 0, 16) {
    guest.add(kBase, memory.data(), memory.size());
    queue.set_size(16);
    queue.set_place(guest, ring.descriptors(), ring.used(), ring.available());
  }
  std::vector<std::uint8_t> memory;
  TestRing ring;
  GuestMemory guest;
  Virtqueue queue;
  Chain chain;
};

TEST_F(VirtqueueTest, ChainsComeInOrderAndGoBack) {
  ring.describe(3, kBase + 4096, 100, 1, 4);
  ring.describe(4, kBase + 5000, 50, 2);
  ring.offer(3);
  ASSERT_TRUE(queue.pop(guest, chain));
  EXPECT_EQ(chain.head, 3);
  EXPECT_EQ(chain.readable_bytes(), 100u);
  EXPECT_EQ(chain.writable_bytes(), 50u);
  EXPECT_EQ(chain.readable[0].bytes, &memory[4096]);
  EXPECT_FALSE(queue.pop(guest, chain));
  queue.push(3, 50);
  auto used = ring.take_used();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].head, 3u);
  EXPECT_EQ(used[0].written, 50u);
}

TEST_F(VirtqueueTest, WhatWasTakenCanBePutBack) {
  ring.describe(0, kBase, 8, 0);
  ring.offer(0);
  ASSERT_TRUE(queue.pop(guest, chain));
  queue.unpop(1);
  EXPECT_TRUE(queue.pop(guest, chain));
}

TEST_F(VirtqueueTest, InterruptsAreTheDriversWish) {
  EXPECT_TRUE(queue.wants_interrupt());
  ring.want_interrupts(false);
  EXPECT_FALSE(queue.wants_interrupt());
}

TEST_F(VirtqueueTest, EveryNonsenseBreaksTheRingWithAReason) {
  struct Case {
    const char* why;
    std::uint64_t address;
    std::uint32_t length;
    std::uint16_t flags, next;
  };
  for (const Case& c : {Case{"no memory", kBase - 8, 16, 0, 0},
                        {"no memory", kBase + 8190, 4, 0, 0},
                        {"no memory", ~std::uint64_t{0} - 3, 8, 0, 0},
                        {"no memory", kBase, 0xffffffff, 0, 0},
                        {"beyond", kBase, 8, 1, 16},
                        {"no end", kBase, 8, 1, 0},
                        {"indirect", kBase, 16, 4, 0}}) {
    SetUp();
    TestRing fresh(memory, kBase, 0, 16);
    std::fill(memory.begin(), memory.end(), 0);
    queue.reset();
    queue.set_size(16);
    ASSERT_TRUE(queue.set_place(guest, fresh.descriptors(), fresh.used(), fresh.available()));
    fresh.describe(0, c.address, c.length, c.flags, c.next);
    fresh.offer(0);
    EXPECT_FALSE(queue.pop(guest, chain)) << c.why;
    EXPECT_NE(queue.broken().find(c.why), std::string::npos) << queue.broken();
    EXPECT_FALSE(queue.ready());
  }
}

TEST_F(VirtqueueTest, RingsOutsideOfMemoryAreRefused) {
  EXPECT_FALSE(queue.set_size(0));
  EXPECT_FALSE(queue.set_size(24));
  EXPECT_FALSE(queue.set_size(2048));
  ASSERT_TRUE(queue.set_size(16));
  EXPECT_FALSE(queue.set_place(guest, kBase + 8000, ring.used(), ring.available()));
  EXPECT_FALSE(queue.set_place(guest, ring.descriptors(), 0, ring.available()));
}

TEST(Console, LinesAreWholeAndHaveTheirNodesName) {
  Console console("node7");
  std::string out;
  auto print = [&](std::string_view line) { out += line; };
  console.take("one\r\ntw");
  console.pass_on(print);
  EXPECT_EQ(out, "node7: one\n");
  console.take("o\nthree");
  console.pass_on(print);
  EXPECT_EQ(out, "node7: one\nnode7: two\n");
  console.pass_on(print, true);
  EXPECT_EQ(out, "node7: one\nnode7: two\nnode7: three\n");
  EXPECT_EQ(console.last_lines().size(), 3u);
}

TEST(Archive, IsWhatCpioUnpacks) {
  const std::string folder = testing::TempDir() + "/archive-test";
  std::filesystem::create_directories(folder);
  Archive archive;
  archive.folders_above("a/b/file");
  archive.folders_above("a/b/other");
  archive.file("a/b/file", "text\n", 0755);
  archive.link("a/link", "b/file");
  std::ofstream(folder + "/all.cpio", std::ios::binary) << archive.finish();
  EXPECT_EQ(std::system(("cd " + folder +
                         " && busybox cpio -id <all.cpio 2>/dev/null && a/../a/b/file 2>/dev/null; "
                         "[ \"$(cat a/link)\" = text ] && [ -x a/b/file ]")
                            .c_str()),
            0);
  std::filesystem::remove_all(folder);
}

TEST(Pace, IsNoFasterThanTheUsersClockAndMakesUpForNothing) {
  using namespace std::chrono_literals;
  Pace pace;
  const auto begin = Pace::Clock::now();
  const Time second{1'000'000'000'000};
  EXPECT_EQ(pace.wait(begin, Time{0}, second), 1s);
  EXPECT_EQ(pace.wait(begin + 300ms, Time{0}, second), 1s);  // lost time is not made up for
  EXPECT_EQ(pace.wait(begin + 800ms, second, second + second), 1500ms);
  EXPECT_EQ(pace.wait(begin + 9s, second, second), 0s);
}

TEST(Capture, IsPcapngWithVirtualTime) {
  const std::string path = testing::TempDir() + "/capture.pcapng";
  {
    Capture capture(path, "node0", 1000);
    const std::uint8_t frame[] = {1, 2, 3, 4, 5};
    capture.add(true, Time{2'500}, frame);
    capture.close();
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(path);
  auto word = [&](std::size_t at) {
    std::uint32_t value;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  // Blocks follow each other, with their length at both ends.
  std::vector<std::uint32_t> kinds;
  std::size_t at = 0;
  for (; at + 12 <= bytes.size(); at += word(at + 4)) {
    kinds.push_back(word(at));
    ASSERT_EQ(word(at + word(at + 4) - 4), word(at + 4));
    if (word(at) == 6) {
      const std::uint64_t stamp = std::uint64_t{word(at + 12)} << 32 | word(at + 16);
      EXPECT_EQ(stamp, 1000'000'000'003u);  // rounded up to a nanosecond
      EXPECT_EQ(word(at + 20), 5u);
      EXPECT_EQ(bytes.substr(at + 28, 5), "\1\2\3\4\5");
    }
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(kinds, (std::vector<std::uint32_t>{0x0a0d0d0a, 1, 6}));
}

std::vector<std::uint8_t> segment(std::uint32_t sequence, std::uint32_t bytes) {
  std::vector<std::uint8_t> frame(14 + 40 + bytes);
  MacAddress to = mac_of(1);
  std::copy(to.begin(), to.end(), frame.begin());
  frame[12] = 8;
  frame[14] = 0x45;
  frame[16] = static_cast<std::uint8_t>((40 + bytes) >> 8);
  frame[17] = static_cast<std::uint8_t>(40 + bytes);
  frame[23] = 6;
  for (int i = 0; i < 4; ++i) frame[14 + 20 + 4 + i] = static_cast<std::uint8_t>(sequence >> (24 - 8 * i));
  frame[14 + 20 + 12] = 5 << 4;
  return frame;
}

TEST(Slices, GrowWithTheTimeAndLoseNothing) {
  Slices slices(2);
  std::uint64_t all = 0;
  for (std::int64_t at = 1; at < 4'000'000'000'000; at *= 3) {
    slices.add(1, Time{at}, static_cast<std::uint64_t>(at % 7));
    all += static_cast<std::uint64_t>(at % 7);
  }
  slices.add(1, Time{0}, 5);  // not in order
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < Slices::kSlices; ++i) {
    sum += slices.in(1, i);
    EXPECT_EQ(slices.in(0, i), 0u);
  }
  EXPECT_EQ(sum, all + 5);
  EXPECT_GE(slices.width().value * Slices::kSlices, 3'000'000'000'000);
}

TEST(Traffic, FramesAreDescribedInWords) {
  EXPECT_EQ(describe_frame(segment(1, 100)), "TCP 0.0.0.0:0 > 0.0.0.0:0, 100 bytes");
  std::vector<std::uint8_t> frame(60);
  frame[12] = 8, frame[13] = 6;
  EXPECT_EQ(describe_frame(frame), "ARP");
  // Cut anywhere, it is still words.
  std::vector<std::uint8_t> whole = segment(1, 8);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(describe_frame(std::span(whole).first(length)).empty());
}

TEST(Traffic, CountsBytesAndWhatTcpSendsAgain) {
  Traffic traffic(2);
  for (std::uint32_t sequence : {0xfffffff0u, 0x54u, 0xb8u, 0x54u, 0xb8u, 0x11cu})
    traffic.sent(0, Time{1'000'000'000}, segment(sequence, 100));
  traffic.sent(0, Time{1'000'000'000}, segment(0x180, 0));  // an acknowledgement carries nothing
  EXPECT_EQ(traffic.sent_again(0), 2u);
  const Slices& over_time = traffic.sent_again_over_time();
  EXPECT_EQ(over_time.in(0, static_cast<unsigned>(1'000'000'000 / over_time.width().value)), 2u);
  EXPECT_EQ(traffic.bytes(0, 1), 6u * 154 + 54);
  EXPECT_EQ(traffic.bytes(1, 0), 0u);
  std::vector<std::uint8_t> all(60, 0xff);
  traffic.sent(1, Time{0}, all);
  EXPECT_EQ(traffic.broadcast(), 60u);
}

}  // namespace
}  // namespace weft::guest
