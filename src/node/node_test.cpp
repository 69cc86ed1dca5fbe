// Devices on a node's bus: the DMA engine's time in closed form, contention, interrupts, and bytes against a
// model.
#include "node/node.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.hpp"
#include "lib/weft.h"
#include "node/dma_registers.hpp"

namespace weft::node {
namespace {

static_assert(WEFT_DMA_SOURCE_SPACE == kDmaSourceSpace && WEFT_DMA_SOURCE_ADDRESS == kDmaSourceAddress &&
              WEFT_DMA_TARGET_SPACE == kDmaTargetSpace && WEFT_DMA_TARGET_ADDRESS == kDmaTargetAddress &&
              WEFT_DMA_LENGTH == kDmaLength && WEFT_DMA_DOORBELL == kDmaDoorbell &&
              WEFT_DMA_STATUS == kDmaStatus && WEFT_DMA_DONE == kDmaDone);
static_assert(WEFT_DMA_BUSY == kDmaBusy && WEFT_DMA_DONE_WELL == kDmaDoneWell &&
              WEFT_DMA_BAD_SPACE == kDmaBadSpace && WEFT_DMA_BAD_MEMORY == kDmaBadMemory &&
              WEFT_DMA_QUEUE_FULL == kDmaQueueFull);

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

/// Time of bytes at a rate, as a line takes it.
Time time_of(std::uint64_t bytes, std::int64_t rate) {
  return {static_cast<std::int64_t>(static_cast<unsigned __int128>(bytes) * 8 * 1'000'000'000'000u /
                                    static_cast<unsigned __int128>(rate))};
}

class Board : public Memory, public Processor {
 public:
  using Settings = std::vector<std::string>;
  explicit Board(const std::vector<Settings>& devices = {Settings{}}, const BusParameters& bus = plain_bus())
      : site(0, bus, kInterrupt, queue, *this, *this), memory(2, std::vector<std::uint8_t>(1 << 20)) {
    const DeviceKind* kind = DeviceKinds::find("dma");
    for (std::size_t i = 0; i < devices.size(); ++i) {
      Diagnostics problems;
      std::vector<config::Setting> settings;
      config::Reader reader{problems, settings};
      std::string text;
      for (const std::string& line : devices[i]) text += line + "\n";
      config::Node tree = config::parse_toml(text, "test", problems);
      std::shared_ptr<void> parameters = kind->section.make();
      kind->section.read(parameters.get(), &tree, "device", reader);
      problems.throw_if_any();
      site.add(kind->make(parameters.get(), site.next_slot("copy" + std::to_string(i))));
    }
  }

  bool read(SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override {
    if (address + length > memory[space].size()) return false;
    std::memcpy(to, memory[space].data() + address, length);
    return true;
  }
  bool write(SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override {
    if (address + length > memory[space].size()) return false;
    std::memcpy(memory[space].data() + address, from, length);
    return true;
  }
  bool has_space(NodeId, SpaceId space) const override { return space < memory.size(); }
  void register_read(std::uint64_t token, std::uint64_t value) override {
    reads.push_back({queue.now(), token, value});
  }
  void device_interrupt(NodeId, DeviceId device) override { interrupts.push_back({queue.now(), device}); }

  void copy(DeviceId device, SpaceId from, std::uint64_t source, SpaceId to, std::uint64_t target,
            std::uint64_t length) {
    Time now = queue.now();
    site.write(device, kDmaSourceSpace, from, now);
    site.write(device, kDmaSourceAddress, source, now);
    site.write(device, kDmaTargetSpace, to, now);
    site.write(device, kDmaTargetAddress, target, now);
    site.write(device, kDmaLength, length, now);
    site.write(device, kDmaDoorbell, 1, now);
  }
  void settle() {
    while (!queue.empty()) queue.step();
  }
  std::uint64_t status(DeviceId device) {
    site.read(device, kDmaStatus, queue.now(), 0);
    settle();
    return reads.back().value;
  }

  struct Answer {
    Time at;
    std::uint64_t token, value;
  };
  struct Raised {
    Time at;
    DeviceId device;
  };
  event::EventQueue queue;
  Node site;
  std::vector<std::vector<std::uint8_t>> memory;
  std::vector<Answer> reads;
  std::vector<Raised> interrupts;
};

/// When the doorbell of a copy posted at 0 has reached the device.
Time doorbell() { return time_of(5 * 8, kBusRate) + time_of(8, kBusRate) + kWrite; }

TEST(DmaEngine, OneBurstTakesStartupReadAndWrite) {
  for (std::uint64_t bytes : {64u, 1000u, 4096u}) {
    Board b(std::vector<Board::Settings>{Board::Settings{"rate = \"400Gbps\"", "startup = \"300ns\""}});
    b.copy(0, 0, 0, 1, 0, bytes);
    b.settle();
    ASSERT_EQ(b.interrupts.size(), 1u);
    Time expected = doorbell() + Time{300'000} + time_of(bytes, kBusRate) + kRead + time_of(bytes, kBusRate) +
                    kWrite + kInterrupt;
    EXPECT_NEAR(static_cast<double>(b.interrupts[0].at.value), static_cast<double>(expected.value), 10)
        << bytes;
  }
}

TEST(DmaEngine, LongCopiesGoAtTheLowerOfBusAndEngineRate) {
  for (std::int64_t rate :
       {20'000'000'000, 40'000'000'000, 79'000'000'000, 160'000'000'000, 800'000'000'000}) {
    double seconds[2];
    for (int longer = 0; longer < 2; ++longer) {
      Board b(std::vector<Board::Settings>{
          {"rate = \"" + std::to_string(rate / 1'000'000'000) + "Gbps\"", "buffers = 16"}});
      b.copy(0, 0, 0, 1, 0, longer ? 1 << 19 : 1 << 18);
      b.settle();
      seconds[longer] = static_cast<double>(b.interrupts.at(0).at.value) * 1e-12;
    }
    double measured = (1 << 18) * 8.0 / (seconds[1] - seconds[0]);
    EXPECT_NEAR(measured / static_cast<double>(std::min(rate, kBusRate)), 1, 0.001) << rate;
  }
}

TEST(DmaEngine, EveryParameterCounts) {
  auto time = [](const std::vector<std::string>& settings, const BusParameters& bus = plain_bus()) {
    Board b(std::vector<Board::Settings>{settings}, bus);
    b.copy(0, 0, 0, 1, 0, 1 << 18);
    b.settle();
    return b.interrupts.at(0).at;
  };
  Time plain = time({});
  EXPECT_EQ(time({"startup = \"1300ns\""}) - plain, Time{1'000'000});
  EXPECT_GT(time({"rate = \"10Gbps\""}), plain + Time{100'000'000});
  EXPECT_GT(time({"buffers = 1"}), plain + Time{10'000'000});
  EXPECT_NE(time({"burst = \"1KiB\""}), plain);
  BusParameters slower = plain_bus();
  slower.rate = {kBusRate / 2};
  EXPECT_GT(time({}, slower), plain + Time{20'000'000});
}

TEST(DmaEngine, TwoOnOneBusGetHalfEach) {
  Board alone;
  alone.copy(0, 0, 0, 1, 0, 1 << 19);
  alone.settle();
  Board both(std::vector<Board::Settings>(2));
  both.copy(0, 0, 0, 1, 0, 1 << 18);
  both.copy(1, 0, 1 << 18, 1, 1 << 18, 1 << 18);
  both.settle();
  ASSERT_EQ(both.interrupts.size(), 2u);
  // Together they move as much as the one alone, at the rate of the bus; neither waits for the other to end.
  double together = static_cast<double>((both.interrupts[1].at - kInterrupt).value),
         one = static_cast<double>((alone.interrupts[0].at - kInterrupt).value);
  EXPECT_NEAR(together / one, 1, 0.02);
  EXPECT_GT(static_cast<double>((both.interrupts[0].at - kInterrupt).value), 0.9 * one);
}

TEST(DmaEngine, InterruptsComeInTheOrderOfDescriptors) {
  Board b;
  for (std::uint64_t i = 0; i < 10; ++i) b.copy(0, 0, i * 1000, 1, i * 1000, 1000 * (10 - i));
  b.settle();
  ASSERT_EQ(b.interrupts.size(), 10u);
  for (std::size_t i = 1; i < 10; ++i) EXPECT_GT(b.interrupts[i].at, b.interrupts[i - 1].at);
  b.site.read(0, kDmaDone, b.queue.now(), 7);
  b.settle();
  EXPECT_EQ(b.reads.back().token, 7u);
  EXPECT_EQ(b.reads.back().value, 10u);
}

TEST(DmaEngine, ErrorsAreInItsStatus) {
  Board b;
  b.copy(0, 9, 0, 1, 0, 100);
  b.settle();
  EXPECT_EQ(b.status(0), kDmaBadSpace);
  b.copy(0, 0, (1 << 20) - 10, 1, 0, 100);
  b.settle();
  EXPECT_EQ(b.status(0), kDmaBadMemory);
  b.copy(0, 0, 0, 1, (1 << 20) - 10, 1 << 17);
  b.settle();
  EXPECT_EQ(b.status(0), kDmaBadMemory);
  b.copy(0, 0, 0, 1, 0, 100);
  b.settle();
  EXPECT_EQ(b.status(0), kDmaDoneWell) << "and it goes on";
  Board full(std::vector<Board::Settings>{Board::Settings{"queue_slots = 2"}});
  for (int i = 0; i < 4; ++i) full.copy(0, 0, 0, 1, 0, 100);
  full.settle();
  EXPECT_EQ(full.interrupts.size(), 4u) << "three ended, one was refused";
  full.site.read(0, kDmaDone, full.queue.now(), 0);
  full.settle();
  EXPECT_EQ(full.reads.back().value, 3u);
}

TEST(Node, ARegisterThatIsNotThereReadsAsOnes) {
  Board b;
  b.site.read(0, 4000, b.queue.now(), 1);
  b.settle();
  EXPECT_EQ(b.reads.back().value, ~std::uint64_t{0});
  EXPECT_EQ(b.reads.back().at, kWrite + time_of(8, kBusRate) + kWrite) << "there and back";
  EXPECT_EQ(b.site.find("copy0"), 0u);
  EXPECT_EQ(b.site.find("other"), b.site.devices());
}

TEST(DmaEngine, RandomCopiesLeaveWhatAModelOfMemoryHas) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Board b(std::vector<Board::Settings>{Board::Settings{"burst = \"512B\"", "buffers = 3"}});
    for (std::size_t i = 0; i < b.memory[0].size(); ++i)
      for (SpaceId space : {0u, 1u})
        b.memory[space][i] = static_cast<std::uint8_t>(random_bits(seed, 1000 + space, i));
    std::vector<std::vector<std::uint8_t>> model = b.memory;
    for (std::uint64_t i = 0; i < 40; ++i) {
      auto draw = [&](std::uint64_t what, unsigned below) { return random_below(seed, what, i, below); };
      SpaceId from = draw(0, 2), to = draw(1, 2);
      std::uint64_t length = draw(2, 20'000), source = draw(3, 400'000), target = 500'000 + draw(4, 400'000);
      b.copy(0, from, source, to, target,
             length);  // sources and targets are apart: a burst at a time is a copy
      std::memcpy(model[to].data() + target, model[from].data() + source, length);
      if (draw(5, 3)) b.settle();
    }
    b.settle();
    EXPECT_EQ(b.interrupts.size(), 40u);
    EXPECT_EQ(b.memory, model);
  }
}

}  // namespace
}  // namespace weft::node
