#include "storage/burst_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "nic/test_host.hpp"

namespace weft::storage {
namespace {

using nic::test::torus;

const char* kPlainNic =
    "send_latency = \"100ns\"\nreceive_latency = \"200ns\"\ntranslation_hit = \"7ns\"\nheader = \"32B\"";
const char* kPlainHost =
    "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"\ninterrupt = \"2us\"\n";
const char* kDevices =
    "[storage.device]\nchannels = 4\ndies = 2\npage = \"16KiB\"\nread_time = \"80us\"\nprogram_time = "
    "\"600us\"\nchannel_rate = \"8Gbps\"\ncommand_time = \"2us\"\nbuffer = \"16MiB\"\n"
    "[storage.nvm]\nchannels = 4\ndies = 2\npage = \"4KiB\"\nread_time = \"10us\"\nprogram_time = "
    "\"100us\"\nchannel_rate = \"16Gbps\"\ncommand_time = \"1us\"\nbuffer = \"1MiB\"\n";

Time us(double t) { return {static_cast<std::int64_t>(t * 1e6)}; }
Time bus(std::int64_t bytes) { return {bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; }

/// A job on nodes 0 to 3 of a torus, whose file 1 lies on the one target.
class Bench : public nic::Host, public Owner {
 public:
  explicit Bench(const std::string& buffer, std::uint64_t capacity = 64 << 20, unsigned target = 5,
                 std::vector<network::EndpointId> nodes = {0, 1, 2, 3})
      : machine(machine::build(machine::describe_text(
            torus(kPlainNic, kPlainHost, "[4, 4]") +
                "[storage]\ntargets = 1\nrequest_time = \"3us\"\nnodes = [15, " + std::to_string(target) +
                "]\n" + kDevices + "[storage.burst_buffer]\nrequest_time = \"1us\"\n" + buffer,
            "test", {}))) {
    network = config::Registry<network::EngineKind>::find("ideal")->make(machine, {1, 1, {}});
    fabric = std::make_unique<nic::Fabric>(machine, *network, queue, *this,
                                           std::vector<network::EndpointId>{0}, 1);
    tier = std::make_unique<BurstBuffer>(machine.description.storage, capacity, nodes, queue, *this);
    service = std::make_unique<Service>(machine, *fabric, queue, *tier);
    EXPECT_TRUE(tier->attach(*service));
  }

  // nic::Host
  bool read(node::SpaceId, std::uint64_t, void*, std::uint64_t) override { return true; }
  bool write(node::SpaceId, std::uint64_t, const void*, std::uint64_t) override { return true; }
  bool has_space(node::NodeId, node::SpaceId) const override { return true; }
  void message(nic::PortRef port, const nic::Message& m) override { service->message(port, m); }
  void event(nic::PortRef port, const nic::Event& e) override { service->event(port, e); }
  void slot_free(nic::PortRef, Time) override {}

  // Owner
  std::int32_t carry_out(std::uint64_t, Piece&) override { return 0; }
  void finished(std::uint64_t, std::int32_t result, Time at) override {
    last = result;
    end = at;
  }

  void settle() {
    while (!fabric->idle()) fabric->advance(network::kForever);
  }
  Time take(network::EndpointId node, Work work, std::uint64_t offset, std::uint64_t bytes = 4096,
            std::uint64_t size = 1 << 30) {
    const Time begin = fabric->now();
    const Piece piece{work, 1, 1, offset, bytes};
    EXPECT_TRUE(tier->begin(node, begin, 7, {&piece, 1}, size));
    settle();
    EXPECT_EQ(last, 0);
    return end - begin;
  }

  machine::Machine machine;
  std::unique_ptr<network::Network> network;
  event::EventQueue queue;
  std::unique_ptr<nic::Fabric> fabric;
  std::unique_ptr<BurstBuffer> tier;
  std::unique_ptr<Service> service;
  std::int32_t last = 0;
  Time end{0};
};

const char* kPlain = "prefetch = 0\nblock = \"64KiB\"\nplacement = \"local\"\n";

Time message_time(unsigned to, std::uint64_t bytes) {
  nic::test::Bench b(torus(kPlainNic, kPlainHost, "[4, 4]"), 16);
  b.post(0, b.to(to, nic::Operation::Message, bytes));
  EXPECT_TRUE(b.settle());
  return {b.messages(to)[0].time};
}
Time put_time(unsigned to, std::uint64_t bytes, bool warm = false) {
  nic::test::Bench b(torus(kPlainNic, kPlainHost, "[4, 4]"), 16);
  const std::uint64_t from = b.region(0, 0, bytes), target = b.region(to, 0, bytes);
  nic::Descriptor d = b.to(to, nic::Operation::Put, bytes, nic::kNotifyRemote);
  d.local_key = from;
  d.remote_key = target;
  b.post(0, d);
  EXPECT_TRUE(b.settle());
  if (!warm) return {b.events(to)[0].time};
  const Time begin = b.fabric->now();  // translations are known now
  d.posted = begin.value;
  b.post(0, d);
  EXPECT_TRUE(b.settle());
  return Time{b.events(to)[1].time} - begin;
}

// Processor, command, a page of NVM, over its channel, over the bus into memory, interrupt.
const Time kLocal = us(1) + us(1) + us(10) + Time{2'048'000} + bus(4096) + Time{150'000} + us(2);

TEST(BurstBuffer, AReadFromTheNodesOwnMemoryIsTheSumOfItsParts) {
  // One node: nobody is asked where a block is but the node itself.
  Bench b(kPlain, 64 << 20, 5, {0});
  b.take(0, Work::Read, 0);
  EXPECT_EQ(b.take(0, Work::Read, 8192).value, kLocal.value) << "of the block that was fetched";
  EXPECT_EQ(b.tier->counters().misses, 1u);
  EXPECT_EQ(b.tier->counters().reads_local, 1u);
  EXPECT_EQ(b.tier->counters().bytes_fetched, 65536u);
}

TEST(BurstBuffer, AColdReadFetchesTheBlockOverItsHops) {
  for (unsigned target : {1u, 5u, 10u}) {
    Bench b(kPlain, 64 << 20, target, {0});
    // The node asks itself where the block is (processor, interrupt), then for it (processor), and fetches 64
    // KiB: a message, the target's processor, command and four pages of 16 KiB side by side, the bus, a put,
    // an interrupt; its answer comes from memory with another.
    const Time fetch = message_time(target, 64) + us(3) + us(2) + us(80) + Time{16384 * 8 * 125} +
                       bus(65536) + Time{150'000} + put_time(target, 65536) + us(2);
    const Time expected = us(1) + us(2) + us(1) + fetch + us(2);
    EXPECT_NEAR(static_cast<double>(b.take(0, Work::Read, 0).value), static_cast<double>(expected.value),
                2000.0)
        << target;
  }
}

TEST(BurstBuffer, AReadFromAnotherNodesMemoryAddsItsHops) {
  Time before = kLocal;
  for (unsigned home : {1u, 5u, 10u}) {  // one, two and four cables away
    Bench b(std::string("prefetch = 0\nblock = \"64KiB\"\nplacement = \"spread\"\n"), 64 << 20, 15, {home});
    const Piece piece{Work::Read, 1, 1, 0, 4096};
    auto take = [&] {
      const Time begin = b.fabric->now();
      b.tier->begin(0, begin, 7, {&piece, 1}, 1 << 30);
      b.settle();
      return b.end - begin;
    };
    take();
    take();  // from here on interfaces know the memory of both
    const Time warm = take();
    const Time expected = message_time(home, 64) + kLocal + put_time(home, 4096, true);
    EXPECT_NEAR(static_cast<double>(warm.value), static_cast<double>(expected.value), 1000.0) << home;
    EXPECT_GT(warm, before) << "farther takes longer";
    before = warm;
    EXPECT_EQ(b.tier->counters().reads_remote, 2u);
  }
}

TEST(BurstBuffer, AWriteIsDoneWhenTheNodeHasItAndReachesTheServersAtTheEnd) {
  Bench b(std::string(kPlain) + "flush_at = 1\n", 64 << 20, 5, {0});
  b.take(0, Work::Write, 0);
  const Time again = b.take(0, Work::Write, 4096);
  EXPECT_EQ(again.value, (us(1) + bus(4096) + Time{300'000} + us(1) + us(2)).value);
  EXPECT_EQ(b.service->counters(1).bytes_written, 0u);
  EXPECT_TRUE(b.tier->busy());
  b.tier->flush_all();
  b.settle();
  EXPECT_FALSE(b.tier->busy());
  EXPECT_EQ(b.service->counters(1).bytes_written, 8192u) << "what was written, no more";
  EXPECT_EQ(b.tier->counters().blocks_flushed, 1u);
  // A read of what was written is served here.
  b.take(0, Work::Read, 0, 8192);
  EXPECT_EQ(b.tier->counters().misses, 0u);
}

TEST(BurstBuffer, ASyncToTheFilesWaitsForWhatIsWrittenDuringAFlush) {
  Bench b(std::string(kPlain) + "flush_at = 1\nsync = \"files\"\n", 64 << 20, 5, {0});
  b.take(0, Work::Write, 0);
  const Time begin = b.fabric->now();
  const Piece flush{.work = Work::Flush, .server = b.tier->first_server()},
      again{Work::Write, 1, 1, 8192, 4096};
  b.tier->sync(0, begin, 1, 1, {&flush, 1});
  b.tier->begin(0, begin, 2, {&again, 1}, 4096);  // lands while the block is flushed
  b.settle();
  b.end = Time{0};
  b.tier->sync(0, b.fabric->now(), 3, 1, {&flush, 1});
  b.settle();
  EXPECT_GT(b.end, begin) << "it ends";
  EXPECT_EQ(b.service->counters(1).bytes_written, 8192u);
  EXPECT_FALSE(b.tier->busy());
}

TEST(BurstBuffer, WriteThroughWaitsForTheServers) {
  Bench back(std::string(kPlain) + "flush_at = 1\n", 64 << 20, 5, {0});
  Bench through(std::string(kPlain) + "write = \"through\"\n", 64 << 20, 5, {0});
  const Time near = back.take(0, Work::Write, 0), far = through.take(0, Work::Write, 0);
  EXPECT_GT(far, near + message_time(5, 64));
  EXPECT_EQ(through.service->counters(1).bytes_written, 4096u);
  EXPECT_FALSE(through.tier->busy());
}

TEST(BurstBuffer, WhoFindsNoRoomWaitsForAFlushAndTheOldestGoes) {
  Bench b(std::string(kPlain) + "flush_at = 1\n", 4 * 65536, 5, {0});  // four blocks
  for (std::uint64_t i = 0; i < 4; ++i) b.take(0, Work::Write, i * 65536, 65536);
  EXPECT_EQ(b.tier->counters().waits, 0u);
  const Time full = b.take(0, Work::Write, 4 * 65536, 65536);
  EXPECT_EQ(b.tier->counters().waits, 1u);
  EXPECT_GT(b.tier->counters().waited.picoseconds(), 0);
  EXPECT_GT(full, us(100));
  EXPECT_EQ(b.tier->counters().evicted, 1u);
  b.take(0, Work::Read, 0);  // the first is with the server alone
  EXPECT_EQ(b.tier->counters().misses, 1u);
  b.take(0, Work::Read, 4 * 65536);
  EXPECT_EQ(b.tier->counters().reads_local, 1u);
  b.tier->flush_all();
  b.settle();
  EXPECT_EQ(b.service->counters(1).bytes_written, 5u * 65536);
}

TEST(BurstBuffer, WhoReadsOnFindsTheNextBlocksThere) {
  Bench b("prefetch = 2\nblock = \"64KiB\"\n", 64 << 20, 5, {0});
  const std::uint64_t size = 10 * 65536;
  for (std::uint64_t i = 0; i < 10; ++i) b.take(0, Work::Read, i * 65536, 65536, size);
  EXPECT_EQ(b.tier->counters().misses, 1u);
  EXPECT_EQ(b.tier->counters().reads_local, 9u);
  EXPECT_EQ(b.tier->counters().blocks_prefetched, 9u) << "none behind the end";
  EXPECT_EQ(b.tier->counters().prefetched_used, 9u);
}

TEST(BurstBuffer, WhatIsCutOffOrRemovedIsNotFlushed) {
  Bench b(std::string(kPlain) + "flush_at = 1\n", 64 << 20, 5, {0});
  for (std::uint64_t i = 0; i < 4; ++i) b.take(0, Work::Write, i * 65536, 65536);
  b.tier->truncated(1, 65536 + 1000);
  b.tier->flush_all();
  b.settle();
  EXPECT_EQ(b.service->counters(1).bytes_written, 65536u + 1000);
}

TEST(BurstBuffer, AnOperationMayBeLargerThanTheBuffer) {
  for (const char* write : {"back", "through"}) {
    Bench b(std::string(kPlain) + "flush_at = 1\nwrite = \"" + write + "\"\n", 2 * 65536, 5,
            {0});  // two blocks
    for (Work work : {Work::Write, Work::Read}) {
      std::vector<Piece> pieces;
      for (std::uint64_t i = 0; i < 20; ++i) pieces.push_back({work, 1, 1, i * 65536, 65536});
      b.end = Time{0};
      const Time begin = b.fabric->now();
      ASSERT_TRUE(b.tier->begin(0, begin, 7, pieces, 20 * 65536));
      b.settle();
      EXPECT_EQ(b.last, 0);
      EXPECT_GT(b.end, begin) << "it ends";
    }
    b.tier->flush_all();
    b.settle();
    EXPECT_FALSE(b.tier->busy());
    EXPECT_EQ(b.service->counters(1).bytes_written, 20u * 65536) << write;
  }
}

TEST(BurstBuffer, OneHomeForAllNodesOfTheJob) {
  Bench b(std::string(kPlain) + "flush_at = 1\n");
  b.take(2, Work::Write, 0, 65536);
  for (unsigned node : {0u, 1u, 3u}) b.take(node, Work::Read, 0, 4096);
  b.take(2, Work::Read, 0, 4096);
  EXPECT_EQ(b.tier->counters().misses, 0u);
  EXPECT_EQ(b.tier->counters().reads_remote, 3u);
  EXPECT_EQ(b.tier->counters().reads_local, 1u);
  EXPECT_EQ(b.tier->counters().questions, 4u) << "all but the home ask, and the home when it began";
}

TEST(Extents, JoinAndCut) {
  Extents e;
  e.add(10, 20);
  e.add(30, 40);
  EXPECT_FALSE(e.covers(10, 40));
  e.add(20, 30);
  EXPECT_TRUE(e.covers(10, 40));
  EXPECT_EQ(e.ranges().size(), 1u);
  e.add(50, 60);
  e.cut(55);
  EXPECT_EQ(e.bytes(), 35u);
  e.cut(5);
  EXPECT_TRUE(e.empty());
}

}  // namespace
}  // namespace weft::storage
