// A disk on a node without a processor, used by a small driver on another: data at every distance, over
// errors and cut cables; latency in closed form; protection; what a host that lets go leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "abi/registers.hpp"
#include "base/crc.hpp"
#include "nic/grants.hpp"
#include "nic/test_nvme.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::BridgeHost;
using test::NvmeDriver;

constexpr std::uint64_t kMemory = 16 << 20;

/// A ring of so many nodes with a disk on each but the first; more lines for sections.
std::string ring(const std::string& more = "", const std::string& device = "") {
  return test::torus("kind = \"extoll\"\npayload = \"256B\"", "", "[12]") + more +
         "\n[node.device.disk]\nkind = \"nvme\"\ncapacity = \"64MiB\"\nready_time = \"10us\"\n" + device;
}

void fill(std::vector<std::uint8_t>& memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = random_bits(seed, 1, i);
    std::memcpy(memory.data() + at + i, &word, 8);
  }
}

/// Writes pieces of 64 KiB, reads them back elsewhere, compares check sums; returns how many differ.
unsigned write_and_read(BridgeHost& host, NvmeDriver& driver, unsigned pieces) {
  constexpr std::uint32_t kPiece = 65'536;
  unsigned bad = 0;
  for (unsigned i = 0; i < pieces; ++i) {
    const std::uint64_t from = NvmeDriver::kData + 512 * i, to = NvmeDriver::kData + 0x200000 + 4 * i;
    fill(host.memory, from, kPiece, i);
    if (driver.transfer(true, std::uint64_t{i} * kPiece / 512, kPiece, from)) ++bad;
    std::memset(host.memory.data() + to, 0, kPiece);
    if (driver.transfer(false, std::uint64_t{i} * kPiece / 512, kPiece, to)) ++bad;
    if (crc32(0, host.memory.data() + from, kPiece) != crc32(0, host.memory.data() + to, kPiece)) ++bad;
  }
  return bad;
}

TEST(RemoteDevice, DataIsTheSameAtEveryDistance) {
  for (NicId device : {0u, 1u, 5u}) {
    Bench bench(ring(), 12);
    BridgeHost host(bench, 0, kMemory);
    NvmeDriver driver(host, device, kMemory);
    ASSERT_EQ(driver.failed, "");
    EXPECT_EQ(write_and_read(host, driver, 8), 0u) << device << " hops";
    EXPECT_FALSE(host.interrupts.empty());
    for (auto [from, data] : host.interrupts) {
      EXPECT_EQ(from, device);
      EXPECT_TRUE(data == 40 || data == 41);
    }
    EXPECT_EQ(bench.fabric->smfu(0).counters().refused + bench.fabric->smfu(device).counters().refused, 0u);
  }
}

TEST(RemoteDevice, LatencyGrowsByHopsAlone) {
  // Register reads and reads of 4 KiB, over the first five hops of a ring: each hop adds the same.
  std::vector<std::int64_t> registers, blocks;
  for (NicId device : {1u, 2u, 3u, 4u, 5u}) {
    Bench bench(ring(), 12);
    BridgeHost host(bench, 0, kMemory);
    NvmeDriver driver(host, device, kMemory);
    ASSERT_EQ(driver.failed, "");
    Time from = bench.queue.now();
    host.word(device, driver.bar + node::kNvmeVersion);
    registers.push_back((bench.queue.now() - from).value);
    bench.settle();
    host.interrupts.clear();
    from = bench.queue.now();
    driver.submit(false, 0, 4096, NvmeDriver::kData);
    while (host.interrupts.empty()) bench.fabric->advance(network::kForever);
    blocks.push_back((bench.queue.now() - from).value);
  }
  const std::int64_t hop = (registers[1] - registers[0]) / 2;
  EXPECT_GT(hop, 60'000 + 80'000) << "router and cable";
  for (std::size_t i = 1; i < registers.size(); ++i) {
    EXPECT_EQ(registers[i] - registers[i - 1], 2 * hop);
    // Doorbell there, entry asked for and sent, data and interrupt back: four times over the network.
    EXPECT_EQ(blocks[i] - blocks[i - 1], 4 * hop);
  }
}

/// Time of so many transfers of 64 KiB that are submitted together.
Time stream(bool write, unsigned transfers, const std::string& device) {
  Bench bench(ring("",
                   "read_time = \"0ns\"\nprogram_time = \"0ns\"\ncommand_time = \"0ns\"\nchannel_rate = "
                   "\"1000Gbps\"\nchannels = 64\n" +
                       device),
              12);
  BridgeHost host(bench, 0, kMemory);
  NvmeDriver driver(host, 3, kMemory);
  EXPECT_EQ(driver.failed, "");
  bench.settle();
  const Time from = bench.queue.now();
  for (unsigned i = 0; i < transfers; ++i)
    driver.submit(write, std::uint64_t{i} * 128, 65'536, NvmeDriver::kData + std::uint64_t{i} * 65'536);
  for (unsigned i = 0; i < transfers; ++i) EXPECT_EQ(driver.wait_one(), 0u);
  return bench.queue.now() - from;
}

TEST(RemoteDevice, BandwidthIsThatOfTheNarrowestPart) {
  // The device's link: four lanes of the first generation, 256 bytes of data in 276.
  constexpr double kSeconds = 24 * 65'536 * 8 / (8e9 * 256 / 276);
  for (bool write : {false, true}) {
    const std::string link = "generation = 1\nwidth = 4\n";
    const Time more = stream(write, 32, link) - stream(write, 8, link);
    EXPECT_NEAR(static_cast<double>(more.value) * 1e-12, kSeconds, 0.05 * kSeconds)
        << (write ? "write" : "read");
  }
  // One request of 512 bytes at a time, then two: nothing else counts.
  const double one =
      static_cast<double>((stream(true, 4, "tags = 1\n") - stream(true, 2, "tags = 1\n")).value);
  const double two =
      static_cast<double>((stream(true, 4, "tags = 2\n") - stream(true, 2, "tags = 2\n")).value);
  EXPECT_NEAR(one / two, 2, 0.1);
}

TEST(RemoteDevice, WhatNobodyAllowedIsAnErrorAndNothingElse) {
  Bench bench(ring(), 12);
  BridgeHost host(bench, 0, kMemory), other(bench, 2, kMemory);
  NvmeDriver driver(host, 5, 0x400000);  // the device may use four megabytes
  ASSERT_EQ(driver.failed, "");
  std::vector<std::uint8_t> before = host.memory;
  // A write from memory it may not read, a read to memory it may not write.
  EXPECT_EQ(driver.transfer(true, 0, 4096, 0x500000), node::kNvmeTransferError);
  EXPECT_EQ(driver.transfer(false, 0, 4096, 0x500000), 0u) << "posted writes are lost, as on a real bus";
  EXPECT_TRUE(std::equal(before.begin() + 0x400000, before.end(), host.memory.begin() + 0x400000));
  EXPECT_GT(bench.fabric->smfu(5).counters().refused, 0u);
  // Another host sees nothing of the device, and changes nothing.
  EXPECT_EQ(other.word(5, driver.bar + node::kNvmeVersion), ~0u);
  EXPECT_EQ(other.config(5, driver.id, pcie::kVendor, 4), 0xffffffffu);
  other.set_word(5, driver.bar + node::kNvmeConfiguration, 0);
  bench.settle();
  EXPECT_EQ(host.word(5, driver.bar + node::kNvmeStatus) & 1, 1u);
  // What lies behind the BAR, and buses that are not there.
  EXPECT_EQ(host.word(5, driver.bar + node::kNvmeBarSize), ~0u);
  EXPECT_EQ(host.config(5, pcie::FunctionId(9, 0, 0), pcie::kVendor, 4), 0xffffffffu);
  EXPECT_EQ(write_and_read(host, driver, 1), 0u) << "and it works as before";
}

TEST(RemoteDevice, IntervalsMoveAddressesAndDoNotOverlap) {
  Bench bench(ring(), 12);
  OnChip& unit = bench.fabric->on_chip(5);
  EXPECT_TRUE(unit.open({0x10000, 0x1000, 0, 0x400000}));
  EXPECT_FALSE(unit.open({0x10fff, 0x1000, 0, 0}));
  EXPECT_TRUE(unit.open({0x11000, 0x1000, 1, 0}));
  EXPECT_EQ(unit.find(kFromPort, 0x10ffe, 4), nullptr) << "over the end of one into the next";
  EXPECT_EQ(unit.find(kFromPort, 0x11000, 4)->target, 1u);
  unit.close(0);
  EXPECT_EQ(unit.find(kFromPort, 0x10000, 4), nullptr);
  unit.close(1);
  BridgeHost host(bench, 0, kMemory);
  NvmeDriver driver(host, 5, kMemory);
  ASSERT_EQ(driver.failed, "");
  unit.close(0);
  ASSERT_TRUE(unit.open({0, 0x100000, 0, 0}));  // queues stay where they are
  ASSERT_TRUE(unit.open({0x800000, 0x100000, 0, 0x200000}));
  ASSERT_TRUE(unit.open({BridgeHost::kInterrupts, 0x1000, 0, BridgeHost::kInterrupts}));
  fill(host.memory, 0x200000, 4096, 4);
  ASSERT_EQ(driver.transfer(true, 0, 4096, 0x800000), 0u);
  ASSERT_EQ(driver.transfer(false, 0, 4096, 0x802000), 0u);
  EXPECT_TRUE(std::equal(host.memory.begin() + 0x200000, host.memory.begin() + 0x201000,
                         host.memory.begin() + 0x202000));
}

TEST(RemoteDevice, APortComesUpWhenItsPowerHasBeenStable) {
  Bench bench(ring("[node.device.port]\nkind = \"pcie-root-port\"\npower_up = \"20ms\"\n"), 12);
  BridgeHost host(bench, 0, kMemory);
  Grants grants(*bench.fabric);
  EXPECT_EQ(grants.ready(5), Time{120'000'000'000});
  EXPECT_EQ(grants.assign(5, 0, NvmeDriver::intervals(kMemory)), "it is being reset");
  const pcie::FunctionId disk(1, 0, 0);
  EXPECT_EQ(host.config(5, disk, pcie::kVendor, 4), 0xffffffffu);
  bench.fabric->advance(Time{119'000'000'000});
  EXPECT_EQ(host.config(5, disk, pcie::kVendor, 4), 0xffffffffu);
  bench.fabric->advance(Time{120'000'000'000});
  EXPECT_EQ(host.config(5, disk, pcie::kVendor, 4), 0x01081234u);
  NvmeDriver driver(host, 5, kMemory);
  EXPECT_EQ(driver.failed, "");
}

// The on-chip network of a node without a processor leads to its register file by an interval: for its host,
// for any node while nobody has the port, and for the device itself, whose interrupt sets a register here.
TEST(RemoteDevice, AnIntervalOfTheChipLeadsToItsRegisters) {
  using namespace abi::registers;
  constexpr std::uint64_t kFile = std::uint64_t{1} << 40;
  constexpr Spot kNode = spot("chip.identity.node"), kScratch = spot("chip.scratch");
  Bench bench(ring("[node.device.port]\nkind = \"pcie-root-port\"\nregisters = 0x10000000000\n"), 12);
  BridgeHost host(bench, 0, kMemory), other(bench, 2, kMemory);
  auto at = [](std::uint64_t offset, std::uint32_t bytes = 8) {
    pcie::Tlp tlp;
    tlp.kind = pcie::TlpKind::MemoryRead;
    tlp.address = kFile + offset;
    tlp.bytes = bytes;
    return tlp;
  };
  EXPECT_EQ(kNode.of(other.read(5, at(kNode.offset))), 5u) << "nobody has the port";
  NvmeDriver driver(host, 5, kMemory);
  ASSERT_EQ(driver.failed, "");
  EXPECT_EQ(kNode.of(host.read(5, at(kNode.offset))), 5u);
  EXPECT_EQ(kNode.of(host.read(3, at(kNode.offset))), 3u) << "every node has its own";
  EXPECT_EQ(other.read(5, at(kNode.offset)), ~std::uint64_t{0}) << "a port has one host";
  const std::uint64_t refused = bench.fabric->smfu(5).counters().refused;
  EXPECT_EQ(host.read(5, at(kFile - 8)), ~std::uint64_t{0}) << "no register is there";
  EXPECT_EQ(host.read(5, at(kScratch.offset + 1, 2)), 0xffffu) << "nor a part of one";
  EXPECT_EQ(bench.fabric->smfu(5).counters().refused, refused + 2);
  // Half a register, written by the host and then by the device.
  host.set_word(5, kFile + kScratch.offset + 4, 0x1234);
  host.set_word(5, driver.bar + node::kNvmeVectors + 16, static_cast<std::uint32_t>(kFile + kScratch.offset));
  host.set_word(5, driver.bar + node::kNvmeVectors + 20,
                static_cast<std::uint32_t>((kFile + kScratch.offset) >> 32));
  bench.settle();
  EXPECT_EQ(host.read(5, at(kScratch.offset)), std::uint64_t{0x1234} << 32);
  const std::size_t interrupts = host.interrupts.size();
  fill(host.memory, NvmeDriver::kData, 4096, 3);
  driver.submit(true, 0, 4096, NvmeDriver::kData);
  bench.settle();
  EXPECT_EQ(host.read(5, at(kScratch.offset)), std::uint64_t{0x1234} << 32 | 41) << "the interrupt's data";
  EXPECT_EQ(host.interrupts.size(), interrupts) << "and no interrupt of the host";
}

TEST(RemoteDevice, BadCommandsAreRefusedWithTheirStatus) {
  Bench bench(ring(), 12);
  BridgeHost host(bench, 0, kMemory);
  NvmeDriver driver(host, 3, kMemory);
  ASSERT_EQ(driver.failed, "");
  node::NvmeEntry e;
  e.opcode = 0x7f;
  EXPECT_EQ(driver.io(e), node::kNvmeBadOpcode);
  EXPECT_EQ(driver.transfer(false, 64 * 2048 - 1, 1024, NvmeDriver::kData), node::kNvmeOutOfRange);
  EXPECT_EQ(driver.transfer(false, 0, 256 * 1024, NvmeDriver::kData), node::kNvmeBadField);
  e.opcode = node::kNvmeRead;
  e.space = 2;
  EXPECT_EQ(driver.io(e), node::kNvmeBadNamespace);
  e.space = 1;
  e.prp1 = 3;
  EXPECT_EQ(driver.io(e), node::kNvmeBadPrp);
  e = {};
  e.opcode = node::kNvmeCreateCompletion;
  e.words[0] = 5 << 16 | 1;
  e.words[1] = 1;
  EXPECT_EQ(driver.admin(e), node::kNvmeBadQueue) << "it is there already";
  EXPECT_EQ(write_and_read(host, driver, 1), 0u);
}

TEST(RemoteDevice, AHostThatLetsGoLeavesItForAnother) {
  Bench bench(ring(), 12);
  BridgeHost first(bench, 0, kMemory), second(bench, 7, kMemory);
  {
    NvmeDriver driver(first, 5, kMemory);
    ASSERT_EQ(driver.failed, "");
    fill(first.memory, NvmeDriver::kData, 4096, 9);
    ASSERT_EQ(driver.transfer(true, 8, 4096, NvmeDriver::kData), 0u);
    driver.submit(false, 8, 65'536, NvmeDriver::kData + 0x10000);  // and is gone before it is done
  }
  bench.fabric->root_port(5)->release();
  bench.fabric->on_chip(5).close(0);
  bench.settle();
  first.interrupts.clear();
  NvmeDriver driver(second, 5, kMemory);
  ASSERT_EQ(driver.failed, "");
  EXPECT_EQ(driver.transfer(false, 8, 4096, NvmeDriver::kData), 0u);
  EXPECT_TRUE(std::equal(second.memory.begin() + NvmeDriver::kData,
                         second.memory.begin() + NvmeDriver::kData + 4096,
                         first.memory.begin() + NvmeDriver::kData))
      << "what was written is still there";
  EXPECT_TRUE(first.interrupts.empty()) << "none goes to the wrong host";
}

TEST(RemoteDevice, BitErrorsAndACutCableLoseNothing) {
  for (std::string faults : {"", "at 300us cut r2.p0"}) {
    std::string machine = ring();
    const std::string errors = faults.empty() ? "bit_error_rate = 1e-6\n" : "", cable = "[cable.default]\n";
    machine.insert(machine.find(cable) + cable.size(), errors);
    Bench bench(machine, 12, "flit", 1 << 20, 3, faults);
    BridgeHost host(bench, 0, kMemory);
    NvmeDriver driver(host, 5, kMemory);
    ASSERT_EQ(driver.failed, "");
    EXPECT_EQ(write_and_read(host, driver, 4), 0u) << faults << errors;
    if (!faults.empty()) EXPECT_GT(bench.queue.now(), Time{300'000'000}) << "the cable was cut meanwhile";
  }
}

}  // namespace
}  // namespace weft::nic
