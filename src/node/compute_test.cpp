// The compute accelerator: what its kernels compute and how long they take, copies over the bus in closed
// form, what it refuses, and its memory as a peer on the bus.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/random.hpp"
#include "lib/weft.h"
#include "node/compute_parameters.hpp"
#include "node/compute_registers.hpp"
#include "node/kernels.hpp"
#include "node/node.hpp"
#include "node/spaces.hpp"

namespace weft::node {
namespace {

static_assert(WEFT_COMPUTE_ARGUMENT == kComputeArgument && WEFT_COMPUTE_DOORBELL == kComputeDoorbell &&
              WEFT_COMPUTE_STATUS == kComputeStatus && WEFT_COMPUTE_DONE == kComputeDone &&
              WEFT_COMPUTE_TIME == kComputeTime && WEFT_COMPUTE_MEMORY == kComputeMemory &&
              WEFT_COMPUTE_SPACE == kComputeSpace && WEFT_COMPUTE_BLOCKS == kComputeBlocks &&
              WEFT_COMPUTE_USE == kComputeUse);
static_assert(WEFT_COMPUTE_COPY_OUT == kComputeCopyOut && WEFT_COMPUTE_FILL == kComputeFill &&
              WEFT_COMPUTE_STREAM == kComputeStream && WEFT_COMPUTE_AXPY == kComputeAxpy &&
              WEFT_COMPUTE_DOT == kComputeDot && WEFT_COMPUTE_MULTIPLY == kComputeMultiply &&
              WEFT_COMPUTE_FORCES == kComputeForces && WEFT_COMPUTE_PUT == kComputePut &&
              WEFT_COMPUTE_GET == kComputeGet && WEFT_COMPUTE_WAIT == kComputeWait &&
              WEFT_COMPUTE_SEND == kComputeSend && WEFT_COMPUTE_RECEIVE == kComputeReceive);
static_assert(WEFT_COMPUTE_DONE_WELL == kComputeDoneWell && WEFT_COMPUTE_BAD_COMMAND == kComputeBadCommand &&
              WEFT_COMPUTE_BAD_SPACE == kComputeBadSpace && WEFT_COMPUTE_BAD_MEMORY == kComputeBadMemory &&
              WEFT_COMPUTE_QUEUE_FULL == kComputeQueueFull && WEFT_COMPUTE_NO_PORT == kComputeNoPort &&
              WEFT_COMPUTE_FAILED == kComputeFailed);
static_assert(WEFT_BUS_SPACE == kBusSpace);

constexpr std::int64_t kBusRate = 80'000'000'000;  // 10 bytes in a nanosecond
constexpr Time kWrite{100'000}, kRead{250'000}, kInterrupt{2'000'000};

BusParameters plain_bus() {
  return {.payload = {4096},
          .read_request = {4096},
          .tags = 1024,
          .rate = {kBusRate},
          .write_latency = kWrite,
          .read_latency = kRead};
}

Time time_of(std::uint64_t bytes, std::int64_t rate = kBusRate) {
  return {static_cast<std::int64_t>(static_cast<unsigned __int128>(bytes) * 8 * 1'000'000'000'000u /
                                    static_cast<unsigned __int128>(rate))};
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

class Board : public Memory, public Processor {
 public:
  explicit Board(const std::string& text = "")
      : host(1 << 20), site(0, plain_bus(), kInterrupt, queue, spaces, *this) {
    Diagnostics problems;
    std::vector<config::Setting> settings;
    config::Reader reader{problems, settings};
    const DeviceKind* kind = DeviceKinds::find("compute");
    config::Node tree = config::parse_toml(text, "test", problems);
    std::shared_ptr<void> parameters = kind->section.make();
    kind->section.read(parameters.get(), &tree, "device", reader);
    problems.throw_if_any();
    site.add(kind->make(parameters.get(), site.next_slot("acc")));
    own = site.device(0).own_memory();
  }

  bool read(SpaceId, std::uint64_t address, void* to, std::uint64_t length) override {
    if (address + length > host.size()) return false;
    std::memcpy(to, host.data() + address, length);
    return true;
  }
  bool write(SpaceId, std::uint64_t address, const void* from, std::uint64_t length) override {
    if (address + length > host.size()) return false;
    std::memcpy(host.data() + address, from, length);
    return true;
  }
  bool has_space(NodeId, SpaceId space) const override { return space == 0; }
  void register_read(std::uint64_t, std::uint64_t value) override { answer = value; }
  void device_interrupt(NodeId, DeviceId) override { interrupts.push_back(queue.now()); }
  void device_copied(std::uint64_t, bool well) override { copied.push_back({queue.now(), well}); }

  void command(std::uint64_t what, const std::vector<std::uint64_t>& arguments, bool interrupt = true) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      site.write(0, kComputeArgument + 8 * i, arguments[i], queue.now());
    site.write(0, kComputeCommand, what, queue.now());
    site.write(0, kComputeDoorbell, interrupt, queue.now());
  }
  void settle() {
    while (!queue.empty()) queue.step();
  }
  std::uint64_t get(std::uint64_t offset) {
    site.read(0, offset, queue.now(), 0);
    settle();
    return answer;
  }
  std::uint64_t run(std::uint64_t what, const std::vector<std::uint64_t>& arguments) {
    command(what, arguments);
    settle();
    return get(kComputeStatus);
  }
  void put(std::uint64_t at, const std::vector<double>& values) {
    ASSERT_TRUE(spaces.write(own->space, at, values.data(), values.size() * 8));
  }
  std::vector<double> take(std::uint64_t at, std::size_t count) {
    std::vector<double> out(count);
    EXPECT_TRUE(spaces.read(own->space, at, out.data(), count * 8));
    return out;
  }

  struct Copied {
    Time at;
    bool well;
  };
  event::EventQueue queue;
  Spaces spaces{*this};
  std::vector<std::uint8_t> host;
  Node site;
  const OwnMemory* own;
  std::uint64_t answer = 0;
  std::vector<Time> interrupts;
  std::vector<Copied> copied;
};

std::vector<double> numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<double>(random_bits(seed, 1, i) % 2001) / 1000 - 1;
  return out;
}

TEST(Compute, KernelsComputeOnItsMemory) {
  Board b;
  const std::size_t n = 24, all = n * n;
  const std::uint64_t x = 0, y = all * 8, c = 2 * all * 8, sum = 3 * all * 8;
  const auto left = numbers(all, 1), right = numbers(all, 2);
  b.put(x, left);
  b.put(y, right);
  ASSERT_EQ(b.run(kComputeFill, {c, all, bits(0.5)}), kComputeDoneWell);
  ASSERT_EQ(b.run(kComputeMultiply, {c, x, y, n, n, n}), kComputeDoneWell);
  const auto product = b.take(c, all);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double expected = 0.5;
      for (std::size_t k = 0; k < n; ++k) expected += left[i * n + k] * right[k * n + j];
      EXPECT_DOUBLE_EQ(product[i * n + j], expected);
    }
  ASSERT_EQ(b.run(kComputeDot, {sum, x, y, all}), kComputeDoneWell);
  double expected = 0;
  for (std::size_t i = 0; i < all; ++i) expected += left[i] * right[i];
  EXPECT_DOUBLE_EQ(b.take(sum, 1)[0], expected);
  ASSERT_EQ(b.run(kComputeStream, {c, x, all}), kComputeDoneWell);
  ASSERT_EQ(b.run(kComputeAxpy, {c, y, all, bits(-2)}), kComputeDoneWell);
  for (std::size_t i = 0; i < all; ++i) EXPECT_DOUBLE_EQ(b.take(c, all)[i], left[i] - 2 * right[i]);
}

TEST(Compute, ForcesOfAPairAreOppositeAndThoseOfLennardJones) {
  Board b;
  const std::uint64_t x = 0, f = 1024, lengths = 2048, lists = 4096;
  b.put(x, {0, 0, 0, 1.2, 0.3, -0.4, 9, 9, 9});
  const std::vector<std::uint32_t> count{2, 2, 2}, all{1, 2, 0, 2, 0, 1};
  ASSERT_TRUE(b.spaces.write(b.own->space, lengths, count.data(), 12));
  ASSERT_TRUE(b.spaces.write(b.own->space, lists, all.data(), 24));
  ASSERT_EQ(b.run(kComputeForces, {f, x, lengths, lists, 3, 2, bits(2.5)}), kComputeDoneWell);
  const auto force = b.take(f, 9);
  const double square = 1.2 * 1.2 + 0.3 * 0.3 + 0.4 * 0.4, r = std::sqrt(square);
  const double size = 24 * (2 * std::pow(r, -13) - std::pow(r, -7));
  EXPECT_NEAR(force[0], -1.2 / r * size, 1e-12);
  for (int k = 0; k < 3; ++k) EXPECT_DOUBLE_EQ(force[k], -force[3 + k]);
  for (int k = 6; k < 9; ++k) EXPECT_EQ(force[k], 0) << "beyond the cutoff";
  const std::uint32_t wild = 7;
  ASSERT_TRUE(b.spaces.write(b.own->space, lists, &wild, 4));
  EXPECT_EQ(b.run(kComputeForces, {f, x, lengths, lists, 3, 2, bits(2.5)}), kComputeBadMemory);
}

TEST(Compute, BlocksHelpUntilTheMemorysBandwidthIsReached) {
  Board b("blocks = 16\nblock_gflops = 2\nblock_bandwidth = \"8Gbps\"\nmemory_bandwidth = \"64Gbps\"\n");
  const std::uint64_t count = 100'000;
  for (std::uint64_t use = 1; use <= 16; ++use) {
    b.site.write(0, kComputeUse, use, b.queue.now());
    ASSERT_EQ(b.run(kComputeAxpy, {0, count * 8, count, bits(1)}), kComputeDoneWell);
    const double moving = 24.0 * count * 8 / (std::min<double>(8, static_cast<double>(use)) * 8e9);
    EXPECT_NEAR(static_cast<double>(b.get(kComputeTime)), moving * 1e12, 1) << use << ": bound by memory";
    ASSERT_EQ(b.run(kComputeMultiply, {0, 1 << 20, 2 << 20, 200, 200, 200}), kComputeDoneWell);
    const double computing = 2 * 200.0 * 200 * 200 / (static_cast<double>(use) * 2e9);
    EXPECT_NEAR(static_cast<double>(b.get(kComputeTime)), computing * 1e12, 1) << use << ": bound by blocks";
  }
}

TEST(Compute, AKernelEndsAfterLaunchAndItsTimeWithAnInterrupt) {
  Board b("launch = \"7us\"\nmemory_bandwidth = \"80Gbps\"\n");
  b.command(kComputeFill, {0, 1000, bits(1)});
  b.settle();
  ASSERT_EQ(b.interrupts.size(), 1u);
  // Three arguments, the command and the doorbell follow each other over the bus.
  const Time doorbell = time_of(5 * 8) + kWrite;
  EXPECT_NEAR(static_cast<double>(b.interrupts[0].value),
              static_cast<double>((doorbell + Time{7'000'000} + time_of(8000) + kInterrupt).value), 10);
}

TEST(Compute, CopiesTakeStartupTheBusAndItsLatency) {
  for (std::uint64_t bytes : {64u, 4096u, 40'960u, 400'000u})
    for (bool in : {true, false}) {
      Board b("copy_startup = \"2us\"\ncopy_rate = \"800Gbps\"\n");
      for (std::size_t i = 0; i < bytes; ++i) b.host[i] = static_cast<std::uint8_t>(random_bits(3, in, i));
      if (!in) ASSERT_TRUE(b.spaces.write(b.own->space, 128, b.host.data(), bytes));
      const std::vector<std::uint8_t> before(b.host.begin(),
                                             b.host.begin() + static_cast<std::ptrdiff_t>(bytes));
      if (!in) std::fill(b.host.begin(), b.host.end(), 0);
      b.site.copy(0, {in, 128, 0, 0, bytes, 5}, b.queue.now());
      b.settle();
      ASSERT_EQ(b.copied.size(), 1u);
      EXPECT_TRUE(b.copied[0].well);
      // Out of the device the first burst is there after the time its engine takes for it.
      const Time first = in ? Time{0} : time_of(std::min<std::uint64_t>(bytes, 4096), 800'000'000'000);
      const Time expected = time_of(64) + kWrite + Time{2'000'000} + first + time_of(bytes) +
                            (in ? kRead : kWrite) + time_of(8) + kWrite;
      EXPECT_NEAR(static_cast<double>(b.copied[0].at.value), static_cast<double>(expected.value), 200)
          << bytes;
      std::vector<std::uint8_t> after(bytes);
      ASSERT_TRUE(in ? b.spaces.read(b.own->space, 128, after.data(), bytes)
                     : b.read(0, 0, after.data(), bytes));
      EXPECT_EQ(before, after);
    }
}

TEST(Compute, RefusesWhatItCannotDoAndGoesOn) {
  Board b("memory = \"64KiB\"\n");
  EXPECT_EQ(b.run(99, {}), kComputeBadCommand);
  EXPECT_EQ(b.run(kComputeFill, {65'536 - 8, 2, 0}), kComputeBadMemory);
  EXPECT_EQ(b.run(kComputeFill, {~0ull - 7, 2, 0}), kComputeBadMemory);
  EXPECT_EQ(b.run(kComputeFill, {4, 1, 0}), kComputeBadMemory) << "not in its natural place";
  EXPECT_EQ(b.run(kComputeMultiply, {0, 0, 0, 1ull << 32, 1ull << 32, 1}), kComputeBadMemory);
  EXPECT_EQ(b.run(kComputeForces, {0, 0, 0, 0, ~0ull, ~0ull, 0}), kComputeBadMemory);
  EXPECT_EQ(b.run(kComputeCopyIn, {0, 1, 0, 8}), kComputeBadSpace);
  EXPECT_EQ(b.run(kComputeCopyIn, {0, ~0ull, 0, 8}), kComputeBadSpace);
  EXPECT_EQ(b.run(kComputeCopyIn, {65'536 - 4, 0, 0, 8}), kComputeBadMemory);
  EXPECT_EQ(b.run(kComputeCopyIn, {0, 0, 1 << 20, 8}), kComputeBadMemory) << "of the process";
  EXPECT_EQ(b.run(kComputePut, {0, 1, 0, 1, 1, 0, 8, 0}), kComputeNoPort);
  EXPECT_EQ(b.run(kComputeFill, {0, 8192, bits(2)}), kComputeDoneWell);
  EXPECT_EQ(b.get(kComputeDone), 12u);
  EXPECT_EQ(b.get(1000), kNoRegister);
}

TEST(Compute, RandomRegistersDoNoHarm) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Board b("memory = \"16KiB\"\nqueue_slots = 4\n");
    for (std::uint64_t i = 0; i < 400; ++i) {
      std::uint64_t value = random_bits(seed, 2, i);
      value >>= value % 61;
      b.site.write(0, random_bits(seed, 3, i) % 18 * 8, value, b.queue.now());
      if (i % 16 == 3) {
        nic::Message message;
        message.length = static_cast<std::uint16_t>(value % (nic::kInlineBytes + 1));
        b.site.device(0).port_message(static_cast<std::uint32_t>(random_bits(seed, 4, i) % 3), message);
      }
      if (i % 8 == 7) b.settle();
    }
    b.settle();
    EXPECT_NE(b.get(kComputeStatus), kNoRegister);
  }
}

TEST(Peers, ReadsOfADevicesMemoryAreBoundByWhatItHasOpen) {
  // One request of 128 bytes at a time, a microsecond each: 128 MB/s, whatever the bus could do.
  Bus bus(plain_bus());
  bus.add_peer(kFirstDeviceSpace, {{0}, {128}, 1, {1'000'000}, {500'000}});
  bus.add_peer(kFirstDeviceSpace + 1, {{40'000'000'000}, {4096}, 64, {1'000'000}, {500'000}});
  const Time slow = bus.from_memory({0}, 128'000, kFirstDeviceSpace);
  EXPECT_NEAR(static_cast<double>(slow.value), 1e-3 * 1e12 + 1e6, 10);
  Bus other(plain_bus());
  other.add_peer(kFirstDeviceSpace + 1, {{40'000'000'000}, {4096}, 64, {1'000'000}, {500'000}});
  const Time fast = other.from_memory({0}, 128'000, kFirstDeviceSpace + 1);
  EXPECT_NEAR(static_cast<double>(fast.value),
              static_cast<double>((time_of(128'000, 40'000'000'000) + Time{1'000'000}).value), 10);
  Bus third(plain_bus());
  third.add_peer(kFirstDeviceSpace, {{0}, {128}, 1, {1'000'000}, {500'000}});
  const Time written = third.to_memory({0}, 128'000, kFirstDeviceSpace);
  EXPECT_NEAR(static_cast<double>(written.value),
              static_cast<double>((time_of(128'000) + Time{500'000}).value), 10)
      << "writes are posted";
  EXPECT_EQ(third.to_memory({0}, 0, 3).value, (time_of(128'000) + kWrite).value)
      << "behind it, to other memory";
}

}  // namespace
}  // namespace weft::node
