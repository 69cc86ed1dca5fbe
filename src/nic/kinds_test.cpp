// Kinds of interfaces against what the papers say of them.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

std::int64_t message_time(Bench& b, std::uint64_t length, std::uint16_t flags = 0) {
  b.post(0, b.to(1, Operation::Message, length, flags));
  EXPECT_TRUE(b.settle());
  if (b.messages(1).empty()) return 0;
  std::int64_t time = b.messages(1).back().time;
  b.messages(1).clear();
  return time;
}

TEST(NicKinds, MessagesHaveThePapersLimits) {
  struct Fact {
    const char* kind;
    std::uint64_t message, immediate;
    unsigned ports;
  };
  // Packetizer 32 B and 1024 mailboxes; VELO 64 B; mini-packets 120 B, immediate puts 96 B, 40 virtual ports.
  for (Fact fact : {Fact{"exanest", 32, 32, 1024}, {"extoll", 64, 8, 256}, {"th-express", 120, 96, 40}}) {
    SCOPED_TRACE(fact.kind);
    Bench b(torus(std::string("kind = \"") + fact.kind + "\""), 2);
    EXPECT_EQ(b.fabric->parameters().ports, fact.ports);
    EXPECT_GT(message_time(b, fact.message), 0);
    EXPECT_EQ(message_time(b, fact.message + 1), 0);
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].status, Status::BadLength);
    Descriptor d = b.to(1, Operation::ImmediatePut, fact.immediate + 1);
    d.remote_key = b.region(1, 0, 1000);
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    EXPECT_EQ(b.events(0)[1].status, Status::BadLength);
  }
  Bench mailbox(torus("kind = \"exanest\""), 2);
  EXPECT_EQ(mailbox.fabric->parameters().message_slots * 32, 1u << 20) << "a mailbox of 1 MiB";
  EXPECT_EQ(mailbox.fabric->parameters().translation_miss + mailbox.fabric->parameters().second_stage,
            Time{200'000});
  Bench apenet(torus("kind = \"apenet\""), 2);
  EXPECT_EQ(apenet.fabric->parameters().translation_miss, Time{1'000'000}) << "by an embedded processor";
}

TEST(NicKinds, DmaSubmissionCostsAFifthOfAMicrosecond) {
  // 0.76 us by stores, 0.96 us by a queue in memory (TH Express-2, section 6.1).
  Bench pio(torus("kind = \"th-express\""), 2), dma(torus("kind = \"th-express\"\nmemory_queues = 40"), 2);
  std::int64_t more = message_time(dma, 96) - message_time(pio, 96);
  EXPECT_NEAR(static_cast<double>(more), 200'000, 20'000);
}

TEST(NicKinds, UnitsWorkSideBySide) {
  std::int64_t last[2];
  for (unsigned units : {1u, 4u}) {
    Bench b(torus("occupancy = \"1us\"\nunits = " + std::to_string(units)), 2);
    for (int i = 0; i < 40; ++i) b.post(0, b.to(1, Operation::Message, 8));
    ASSERT_TRUE(b.settle());
    last[units == 4] = b.messages(1).back().time;
  }
  EXPECT_NEAR(static_cast<double>(last[0]) / static_cast<double>(last[1]), 4, 0.5);
}

TEST(NicKinds, RateDoesNotDependOnTheNumberOfProcesses) {
  // VELO keeps no state for a process: 64 messages of one port take as long as one of each of 64 ports.
  std::int64_t last[2];
  for (int many = 0; many < 2; ++many) {
    Bench b(torus("kind = \"extoll\""), 2);
    std::vector<PortRef> senders{b.ports[0]};
    for (PortNo port = 0; many && senders.size() < 64;) {
      ASSERT_EQ(b.fabric->open(0, 0, false, port), Status::Ok);
      senders.push_back({0, port});
    }
    Descriptor d = b.to(1, Operation::Message, 64);
    for (std::size_t i = 0; i < 64; ++i) b.fabric->post(senders[i % senders.size()], d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.messages(1).size(), 64u);
    last[many] = b.messages(1).back().time;
  }
  EXPECT_EQ(last[0], last[1]);
}

TEST(NicKinds, LatencyDoesNotRiseWithProcessesPerNode) {
  // 2 to 14 processes on a node that each send a small message now and then (TH Express-2, section 6.1).
  std::int64_t mean[2] = {0, 0};
  for (unsigned processes : {2u, 14u}) {
    Bench b(torus("kind = \"th-express\"\nmemory_queues = 0"), 2);
    std::vector<PortRef> senders{b.ports[0]};
    for (PortNo port = 0; senders.size() < processes;) {
      ASSERT_EQ(b.fabric->open(0, 0, false, port), Status::Ok);
      senders.push_back({0, port});
    }
    for (unsigned round = 0; round < 20; ++round)
      for (std::size_t i = 0; i < senders.size(); ++i) {
        Descriptor d = b.to(1, Operation::Message, 64);
        d.posted = round * 10'000'000 + random_below(1, i, round, 5'000'000);
        d.tag = static_cast<std::uint32_t>(d.posted / 1000);
        b.fabric->post(senders[i], d);
      }
    ASSERT_TRUE(b.settle());
    std::int64_t sum = 0;
    for (const Message& m : b.messages(1)) sum += m.time / 1000 - m.tag;
    mean[processes > 2] = sum / static_cast<std::int64_t>(b.messages(1).size());
  }
  EXPECT_NEAR(static_cast<double>(mean[1]), static_cast<double>(mean[0]),
              0.02 * static_cast<double>(mean[0]));
}

TEST(NicKinds, RegistrationCostsASystemCallAndItsPages) {
  Bench b(torus("registration = \"1us\"\nregistration_page = \"50ns\"\npage = \"4KiB\""), 1);
  EXPECT_EQ(b.fabric->registration_cost(0, 4096), Time{1'050'000});
  EXPECT_EQ(b.fabric->registration_cost(4095, 2), Time{1'100'000}) << "two pages touched";
}

TEST(TranslationCache, HitsMissesAndReplaces) {
  machine::NicParameters p;
  p.translation_entries = 4;
  p.translation_ways = 2;
  p.translation_hit = {1};
  p.translation_miss = {100};
  TranslationCache cache(p);
  auto page = [](std::uint64_t i) { return i * 4096; };
  EXPECT_EQ(cache.translate(0, page(0), 1), Time{101});
  EXPECT_EQ(cache.translate(0, page(0) + 4095, 1), Time{1});
  EXPECT_EQ(cache.translate(0, page(2), 1), Time{101});  // the same set
  EXPECT_EQ(cache.translate(0, page(0), 1), Time{1});
  EXPECT_EQ(cache.translate(0, page(4), 1), Time{101});  // takes the place of page 2, the older one
  EXPECT_EQ(cache.translate(0, page(0), 1), Time{1});
  EXPECT_EQ(cache.translate(0, page(2), 1), Time{101});
  EXPECT_EQ(cache.translate(0, page(6) + 4000, 200), Time{202}) << "two pages";
  EXPECT_EQ(cache.translate(1, page(0), 1), Time{101}) << "another address space";
}

TEST(TranslationCache, PreloadedNeverMisses) {
  machine::NicParameters p;
  p.translation_hit = {1};
  p.translation = machine::Translation::Preloaded;
  TranslationCache preloaded(p);
  EXPECT_EQ(preloaded.translate(0, 123 * 4096, 1), Time{1});
  EXPECT_EQ(preloaded.misses(), 0u);
  p.translation = machine::Translation::None;
  EXPECT_EQ(TranslationCache(p).translate(0, 123 * 4096, 1), Time{0});
}

TEST(HostBus, ReadsAreBoundByTagsAndLatency) {
  machine::HostParameters h;
  h.bus = machine::Bus::Axi128;  // no framing, 19.2 Gb/s
  h.read_latency = {1'000'000};
  h.read_request = {128};
  h.tags = 2;  // 256 bytes in a microsecond
  node::Bus bus(h.bus_parameters());
  EXPECT_EQ(bus.from_memory({0}, 256), Time{1'000'000 + 1'000'000});
  h.tags = 1000;
  node::Bus wide(h.bus_parameters());
  EXPECT_EQ(wide.from_memory({0}, 2400), Time{1'000'000 + 1'000'000});
  h.bus = machine::Bus::PcieGen3x16;
  h.bus_payload = {256};
  h.write_latency = {0};
  node::Bus pcie(h.bus_parameters());
  // 4096 bytes in 16 transactions with 26 bytes of framing each, at 126 Gb/s.
  EXPECT_NEAR(static_cast<double>(pcie.to_memory({0}, 4096).value), (4096 + 16 * 26) * 8 / 0.12603, 2);
}

}  // namespace
}  // namespace weft::nic
