// Accelerators are granted to hosts and taken back while others work: none is ever in two hands, no
// interrupt and no data reach a host that has not got the device, and what was written stays.
#include "nic/grants.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "nic/test_nvme.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::BridgeHost;
using test::NvmeDriver;

constexpr unsigned kHosts = 8, kDevices = 12, kSlots = 4;
constexpr std::uint64_t kShare = 4 << 20, kMemory = kSlots * kShare;
constexpr std::uint32_t kPiece = 8192, kPieces = 16;

std::string machine() {
  return test::torus("kind = \"extoll\"\npayload = \"256B\"", "", "[20]") +
         "\n[node.device.disk]\nkind = \"nvme\"\ncapacity = \"1MiB\"\nready_time = \"10us\"\nnodes = "
         "[8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]\n";
}

/// A host that keeps a record of who reached it.
struct WatchedHost : BridgeHost {
  WatchedHost(Bench& bench, NicId here, const Grants& grants_of)
      : BridgeHost(bench, here, kMemory), grants(grants_of) {}

  bool has(NicId device) {
    const NicId host = grants.host_of(device);
    if (host != here() && host != kNobody) ++wrong;
    return host == here();
  }
  bool dma_read(NicId device, std::uint64_t address, std::span<std::uint8_t> to) override {
    return has(device) && BridgeHost::dma_read(device, address, to);
  }
  bool dma_write(NicId device, std::uint64_t address, std::span<const std::uint8_t> from) override {
    return has(device) && BridgeHost::dma_write(device, address, from);
  }
  void interrupted(NicId device, std::uint32_t) override { has(device) ? ++heard : ++late; }

  const Grants& grants;
  unsigned wrong = 0, late = 0, heard = 0;
};

class Pool {
 public:
  Pool() : bench_(machine(), kHosts + kDevices), grants_(*bench_.fabric), devices_(kDevices) {
    for (NicId host = 0; host < kHosts; ++host)
      hosts_.push_back(std::make_unique<WatchedHost>(bench_, host, grants_));
  }

  /// One grant or release; false where neither could be.
  bool step(std::uint64_t number) {
    const std::uint64_t bits = random_bits(7, 1, number);
    for (unsigned i = 0; i < kDevices; ++i) traffic(i);
    if (number % 13 == 12) return host_dies(static_cast<NicId>(bits % kHosts));
    for (unsigned i = 0; i < kDevices; ++i) {
      const unsigned device = static_cast<unsigned>((bits + i) % kDevices);
      if (devices_[device].driver && bits >> 9 & 1) return release(device, bits >> 8 & 1);
      if (devices_[device].driver) continue;
      if (grants_.ready(nic(device)) <= bench_.queue.now() && assign(device, bits >> 16)) return true;
    }
    bench_.fabric->advance(bench_.queue.now() + Grants::kReset);  // all that are left are being reset
    return false;
  }

  void finish() {
    for (unsigned i = 0; i < kDevices; ++i)
      if (devices_[i].driver) release(i, true);
    bench_.settle();
  }

  void check() {
    heard = 0;
    for (const auto& host : hosts_) {
      EXPECT_EQ(host->wrong, 0u) << "host " << host->here() << " was reached by what another has";
      heard += host->heard;
    }
    for (unsigned i = 0; i < kDevices; ++i) {
      const NicId host = grants_.host_of(nic(i));
      EXPECT_EQ(host == kNobody, !devices_[i].driver);
      if (devices_[i].driver) EXPECT_EQ(host, devices_[i].host);
    }
  }
  unsigned grants = 0, releases = 0, deaths = 0, transfers = 0, heard = 0;

 private:
  struct Device {
    std::optional<NvmeDriver> driver;
    NicId host = kNobody;
    unsigned slot = 0, open = 0;
    std::vector<std::uint64_t> written =
        std::vector<std::uint64_t>(kPieces);  // seed of each piece; 0: unknown
    std::vector<std::uint64_t> begun = std::vector<std::uint64_t>(kPieces);
    std::uint64_t turn = 0;
  };
  static NicId nic(unsigned device) { return kHosts + device; }
  static std::uint64_t word_of(std::uint64_t seed, std::uint32_t at) { return random_bits(seed, 2, at); }

  bool assign(unsigned number, std::uint64_t bits) {
    Device& device = devices_[number];
    const NicId host = static_cast<NicId>(bits % kHosts);
    std::vector<bool> taken(kSlots);
    for (const Device& other : devices_)
      if (other.driver && other.host == host) taken[other.slot] = true;
    const auto free = std::find(taken.begin(), taken.end(), false);
    if (free == taken.end()) return false;
    EXPECT_EQ(grants_.assign(nic(number), host, NvmeDriver::intervals(kMemory)), "");
    EXPECT_NE(grants_.assign(nic(number), (host + 1) % kHosts, {}), "") << "nobody else gets it now";
    device.host = host;
    device.slot = static_cast<unsigned>(free - taken.begin());
    device.driver.emplace(NvmeDriver::of_granted(*hosts_[host], nic(number), device.slot * kShare));
    EXPECT_EQ(device.driver->failed, "");
    read_all(number);
    ++grants;
    return true;
  }

  /// What former hosts wrote, and were told is written, is what this one reads.
  void read_all(unsigned number) {
    Device& device = devices_[number];
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) {
      if (!device.written[piece]) continue;
      const std::uint64_t to = device.driver->data() + 0x100000;
      EXPECT_EQ(device.driver->transfer(false, std::uint64_t{piece} * kPiece / 512, kPiece, to), 0u);
      std::uint64_t first = 0;
      bool same = true;
      for (std::uint32_t at = 0; at < kPiece; at += 8) {
        std::memcpy(&first, hosts_[device.host]->memory.data() + to + at, 8);
        same = same && first == word_of(device.written[piece], at);
      }
      EXPECT_TRUE(same) << "device " << number << " piece " << piece;
    }
  }

  void traffic(unsigned number) {
    Device& device = devices_[number];
    if (!device.driver) return;
    if (device.open == 4) drain(device);
    const std::uint32_t piece = device.turn++ % kPieces;
    const std::uint64_t from = device.driver->data() + std::uint64_t{piece} * kPiece;
    device.begun[piece] = std::uint64_t{number} << 32 | device.turn;
    device.written[piece] = 0;  // until it is done
    for (std::uint32_t at = 0; at < kPiece; at += 8) {
      const std::uint64_t word = word_of(device.begun[piece], at);
      std::memcpy(hosts_[device.host]->memory.data() + from + at, &word, 8);
    }
    device.driver->submit(true, std::uint64_t{piece} * kPiece / 512, kPiece, from);
    ++device.open;
  }

  void drain(Device& device) {
    for (; device.open; --device.open, ++transfers) EXPECT_EQ(device.driver->wait_one(), 0u);
    device.written = device.begun;
  }

  void forget(Device& device) {
    device.driver.reset();
    device.open = 0;
    for (std::uint32_t piece = 0; piece < kPieces; ++piece)
      if (!device.written[piece]) device.begun[piece] = 0;
  }

  bool release(unsigned number, bool orderly) {
    if (orderly) drain(devices_[number]);
    grants_.release(nic(number));
    forget(devices_[number]);
    EXPECT_EQ(grants_.assign(nic(number), 0, {}), "it is being reset");
    ++releases;
    return true;
  }

  bool host_dies(NicId host) {
    unsigned held = 0;
    for (const Device& device : devices_) held += device.driver && device.host == host;
    if (!held) return false;
    grants_.host_ended(host);
    for (Device& device : devices_)
      if (device.driver && device.host == host) forget(device);
    releases += held;
    ++deaths;
    return true;
  }

  Bench bench_;
  Grants grants_;
  std::vector<std::unique_ptr<WatchedHost>> hosts_;
  std::vector<Device> devices_;
};

TEST(Grants, TwoHundredGrantsAndReleasesWithTrafficOn) {
  Pool pool;
  for (std::uint64_t number = 0; pool.grants + pool.releases < 200; ++number) {
    ASSERT_LT(number, 2000u);
    pool.step(number);
    pool.check();
    if (testing::Test::HasFailure()) return;
  }
  pool.finish();
  pool.check();
  EXPECT_GT(pool.grants, 60u);
  EXPECT_GT(pool.deaths, 2u);
  EXPECT_GT(pool.transfers, 200u);
  EXPECT_GE(pool.heard, pool.transfers / 4) << "hosts hear of their own";
}

TEST(Grants, WhatWasUnderWayReachesNobodyElse) {
  // A device in the middle of a large read goes to another host at once, without the time of a reset: what it
  // was still to write, and its interrupt, must not follow.
  Bench bench(machine(), kHosts + kDevices);
  Grants grants(*bench.fabric);
  WatchedHost first(bench, 0, grants), second(bench, 1, grants);
  constexpr NicId kDevice = 19;
  ASSERT_EQ(grants.assign(kDevice, 0, NvmeDriver::intervals(kMemory)), "");
  NvmeDriver driver = NvmeDriver::of_granted(first, kDevice, 0);
  for (unsigned i = 0; i < 8; ++i) driver.submit(false, 0, 65'536, NvmeDriver::kData + 65'536 * i);
  const std::uint64_t before = bench.fabric->smfu(kDevice).counters().sent;
  while (bench.fabric->smfu(kDevice).counters().sent < before + 100)
    bench.fabric->advance(bench.queue.now() + Time{100'000});
  grants.release(kDevice);
  std::fill(second.memory.begin(), second.memory.end(), std::uint8_t{0xaa});
  bench.fabric->root_port(kDevice)->assign(1);
  for (Interval interval : NvmeDriver::intervals(kMemory)) {
    interval.target = 1;
    ASSERT_TRUE(bench.fabric->on_chip(kDevice).open(interval));
  }
  first.wrong = 0;
  bench.settle();
  EXPECT_EQ(second.heard, 0u);
  EXPECT_TRUE(
      std::all_of(second.memory.begin(), second.memory.end(), [](std::uint8_t b) { return b == 0xaa; }));
  NvmeDriver again = NvmeDriver::of_granted(second, kDevice, 0);
  EXPECT_EQ(again.failed, "");
}

TEST(Grants, AreRefusedForWhatIsNotThere) {
  Bench bench(machine(), kHosts + kDevices);
  Grants grants(*bench.fabric);
  EXPECT_EQ(grants.assign(0, 1, {}), "node 0 has no root port");
  EXPECT_EQ(grants.assign(9, 1, {{0, 4096, kNobody, 0}, {4095, 10, kNobody, 0}}),
            "addresses from 0xfff on lead elsewhere already");
  EXPECT_EQ(grants.host_of(9), kNobody) << "and nothing is left of it";
  EXPECT_EQ(grants.assign(9, 1, {{4095, 10, kNobody, 0}}), "");
  EXPECT_EQ(grants.assign(9, 2, {}), "node 1 has it");
  grants.host_ended(1);
  EXPECT_EQ(grants.host_of(9), kNobody);
  EXPECT_EQ(bench.fabric->on_chip(9).find(kFromPort, 4095, 1), nullptr);
}

}  // namespace
}  // namespace weft::nic
