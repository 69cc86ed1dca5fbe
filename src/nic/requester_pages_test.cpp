// Work that is stored into an interface by an interval of its on-chip network: from the host's bus, by a
// device below the root port, and by the port's host; whole and in pieces; what comes of what is wrong.
#include "nic/requester_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nic/test_nvme.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::BridgeHost;
using test::NvmeDriver;
using test::TestHost;

constexpr std::uint64_t kMemory = 16 << 20, kMessages = std::uint64_t{2} << 40,
                        kRdma = std::uint64_t{3} << 40;
constexpr NicId kDevice = 5;

/// A ring of nodes with a disk on each, whose root ports lead to the units.
std::string ring(const std::string& nic = "", const std::string& port = "", const std::string& disk = "") {
  return test::torus("kind = \"extoll\"\npayload = \"256B\"\nerror_slots = 16\n" + nic, "", "[12]") +
         "\n[node.device.port]\nkind = \"pcie-root-port\"\nmessages = " + std::to_string(kMessages) +
         "\nrdma = " + std::to_string(kRdma) + "\n" + port +
         "\n[node.device.disk]\nkind = \"nvme\"\ncapacity = \"64MiB\"\nready_time = \"10us\"\n" + disk;
}

using Bytes = std::vector<std::uint8_t>;

/// A message as it is stored, with data that counts up.
Bytes message(PortRef to, std::uint32_t tag, std::uint16_t length, std::uint16_t flags = 0) {
  Bytes out(RequesterPages::kMessageHeader + length);
  const std::uint32_t words[] = {to.nic, to.port, tag};  // every node has an interface here
  std::memcpy(out.data(), words, 12);
  std::memcpy(out.data() + 12, &length, 2);
  std::memcpy(out.data() + 14, &flags, 2);
  for (unsigned i = 0; i < length; ++i)
    out[RequesterPages::kMessageHeader + i] = static_cast<std::uint8_t>(i + tag);
  return out;
}

Bytes rdma(const Descriptor& d) {
  Bytes out(RequesterPages::kRdmaHeader);
  std::memcpy(out.data(), &d, out.size());
  if (d.operation == Operation::ImmediatePut)
    out.insert(out.end(), d.data, d.data + std::min<std::uint64_t>(d.length, kInlineBytes));
  return out;
}

pcie::Tlp store_at(std::uint64_t address, std::size_t bytes) {
  pcie::Tlp tlp;
  tlp.kind = pcie::TlpKind::MemoryWrite;
  tlp.address = address;
  tlp.bytes = static_cast<std::uint32_t>(bytes);
  return tlp;
}

std::uint64_t page(std::uint64_t unit, PortRef port, unsigned slot = 0) {
  return unit + port.port * RequesterPages::kPage + slot * RequesterPages::kSlot;
}

/// A disk of which a port of its node is, as software there would have given it.
PortRef port_of_disk(Bench& bench, NicId node) {
  PortRef port{node, 0};
  EXPECT_EQ(bench.fabric->open(node, node, false, port.port), Status::Ok);
  EXPECT_EQ(bench.fabric->give_port(port, bench.fabric->site(node).find("disk")), Status::Ok);
  return port;
}

TEST(RequesterPages, AStoreOfTheProcessorIsTheSameAsAPost) {
  // The same message by either way: same bytes, the same time but for the processor's own.
  std::vector<std::pair<Message, Time>> seen;
  for (bool stored : {false, true}) {
    Bench b(ring(), 12);
    BridgeHost host(b, 0, kMemory);
    Time sent{0};
    if (stored) {
      host.store(page(kMessages, b.ports[0]), message(b.ports[3], 7, 64));
    } else {
      Descriptor d = b.to(3, Operation::Message, 64);
      d.tag = 7;
      for (unsigned i = 0; i < 64; ++i) d.data[i] = static_cast<std::uint8_t>(i + 7);
      b.post(0, d);
    }
    b.fabric->on_record = [&](const Record& r) { sent = r.end - r.begin; };
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.messages(3).size(), 1u);
    seen.emplace_back(b.messages(3)[0], sent);
  }
  EXPECT_GT(seen[0].second, Time{500'000});
  EXPECT_EQ(seen[0].second, seen[1].second);
  EXPECT_EQ(seen[1].first.time, seen[0].first.time);
  EXPECT_EQ(seen[1].first.tag, 7u);
  EXPECT_EQ(seen[1].first.node, 0u);
  EXPECT_EQ(seen[1].first.length, 64u);
  EXPECT_EQ(std::memcmp(seen[0].first.data, seen[1].first.data, 64), 0);
}

TEST(RequesterPages, AStoredPutMovesMemoryAndTellsOfItself) {
  Bench b(ring(), 12);
  BridgeHost host(b, 0, kMemory);
  const std::uint64_t from = b.region(0, 0, 4096), to = b.region(3, 0, 4096);
  for (unsigned i = 0; i < 1000; ++i) b.host.memory[0][i] = static_cast<std::uint8_t>(i * 7);
  Descriptor d = b.to(3, Operation::Put, 1000, kNotifyDone);
  d.context = 99;
  d.local_key = from;
  d.remote_key = to;
  d.remote_offset = 100;
  host.store(page(kRdma, b.ports[0]), rdma(d));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Done);
  EXPECT_EQ(b.events(0)[0].context, 99u);
  EXPECT_EQ(std::memcmp(b.host.memory[0].data(), b.host.memory[3].data() + 100, 1000), 0);
}

// A disk that has a port of its node's interface posts by its writes to memory: what is on it goes, message
// by message and put by put, to another node, and no processor takes part. The host only says where the pages
// are.
TEST(RequesterPages, ADiskSendsWhatIsOnIt) {
  for (const char* disk : {"", "max_payload = \"128B\"\n"}) {  // and in pieces of half a slot
    Bench b(ring("", "", disk), 12);
    BridgeHost host(b, 0, kMemory);
    NvmeDriver driver(host, kDevice, kMemory);
    ASSERT_EQ(driver.failed, "");
    const PortRef port = port_of_disk(b, kDevice);
    const std::uint64_t key = b.region(2, 0, 4096);
    auto put_block = [&](std::uint64_t block, const std::vector<Bytes>& slots) {
      for (std::size_t i = 0; i < slots.size(); ++i)
        std::copy(
            slots[i].begin(), slots[i].end(),
            host.memory.begin() + NvmeDriver::kData + static_cast<std::ptrdiff_t>(i * RequesterPages::kSlot));
      ASSERT_EQ(driver.transfer(true, block, 512, NvmeDriver::kData), 0u);
    };
    put_block(0, {message(b.ports[2], 1, 64), message(b.ports[2], 2, 33)});
    Descriptor immediate = b.to(2, Operation::ImmediatePut, 8, kNotifyRemote);
    immediate.remote_key = key;
    std::memcpy(immediate.data, "diskdata", 8);
    Descriptor add = b.to(2, Operation::FetchAdd, 8);
    add.remote_key = key;
    add.remote_offset = 512;
    add.operand = 5;
    put_block(1, {rdma(immediate), rdma(add)});
    ASSERT_EQ(driver.transfer(false, 0, 512, page(kMessages, port)), 0u);
    ASSERT_EQ(driver.transfer(false, 1, 512, page(kRdma, port)), 0u);
    ASSERT_TRUE(b.settle());
    b.take(b.ports[2]);
    ASSERT_EQ(b.messages(2).size(), 2u);
    for (unsigned i = 0; i < 2; ++i) {
      const Message& m = b.messages(2)[i];
      EXPECT_EQ(m.node, kDevice);
      EXPECT_EQ(m.port, port.port);
      EXPECT_EQ(m.tag, i + 1);
      ASSERT_EQ(m.length, i == 0 ? 64 : 33);
      for (unsigned k = 0; k < m.length; ++k) EXPECT_EQ(m.data[k], static_cast<std::uint8_t>(k + i + 1));
    }
    ASSERT_EQ(b.events(2).size(), 1u);
    EXPECT_EQ(b.events(2)[0].kind, EventKind::Arrived);
    EXPECT_EQ(std::memcmp(b.host.memory[2].data(), "diskdata", 8), 0);
    EXPECT_EQ(b.host.memory[2][512], 5);
    EXPECT_EQ(b.fabric->smfu(kDevice).counters().refused, 0u);
  }
}

TEST(RequesterPages, AMessageOfADiskTakesItsLinkAndThenTheTimeOfAnyOther) {
  // The end of the last write of a block starts it; from there on it is as if a process had posted it, but
  // for the bus of a node that has none.
  auto record = [](const std::string& disk) {
    Bench b(ring("", "", disk), 12);
    BridgeHost host(b, 0, kMemory);
    NvmeDriver driver(host, kDevice, kMemory);
    const PortRef port = port_of_disk(b, kDevice);
    const Bytes bytes = message(b.ports[2], 1, 64);
    std::copy(bytes.begin(), bytes.end(), host.memory.begin() + NvmeDriver::kData);
    EXPECT_EQ(driver.transfer(true, 0, 512, NvmeDriver::kData), 0u);
    b.settle();
    Record out{};
    b.fabric->on_record = [&](const Record& r) { out = r; };
    EXPECT_EQ(driver.transfer(false, 0, 512, page(kMessages, port)), 0u);
    b.settle();
    return out;
  };
  const Record fast = record("generation = 3\nwidth = 4\n"), slow = record("generation = 1\nwidth = 1\n");
  // 16 bytes of header, 256 of data and the framing.
  const Time link = transfer_time(16 + 256 + 8, pcie::rate_of(1, 1).value) -
                    transfer_time(16 + 256 + 10, pcie::rate_of(3, 4).value);
  EXPECT_NEAR(
      static_cast<double>((slow.parts.part[Breakdown::HostBus] - fast.parts.part[Breakdown::HostBus]).value),
      static_cast<double>(link.value), 2);
  Bench b(ring(), 12);
  Record posted{};
  b.fabric->on_record = [&](const Record& r) { posted = r; };
  b.post(kDevice, b.to(2, Operation::Message, 64));
  b.settle();
  for (int part : {Breakdown::Nic, Breakdown::Wire, Breakdown::RemoteNic, Breakdown::RemoteBus})
    EXPECT_EQ(slow.parts.part[part], posted.parts.part[part]) << Breakdown::name(part);
}

TEST(RequesterPages, OnlyWhoeverHasAPortStoresIntoItsPage) {
  Bench b(ring(), 12);
  BridgeHost host(b, 0, kMemory), other(b, 2, kMemory), local(b, kDevice, kMemory);
  NvmeDriver driver(host, kDevice, kMemory);
  ASSERT_EQ(driver.failed, "");
  const PortRef disks = port_of_disk(b, kDevice), own = b.ports[kDevice];
  auto refused = [&](auto&& store, Status status) {
    const std::size_t errors = b.fabric->error_packets(kDevice).size();
    store();
    b.settle();
    ASSERT_EQ(b.fabric->error_packets(kDevice).size(), errors + 1);
    EXPECT_EQ(b.fabric->error_packets(kDevice).back().status, status);
  };
  const Bytes one = message(b.ports[3], 1, 8);
  // The device: the port of a process there, and one that nobody has opened.
  std::copy(one.begin(), one.end(), host.memory.begin() + NvmeDriver::kData);
  ASSERT_EQ(driver.transfer(true, 0, 512, NvmeDriver::kData), 0u);
  const std::size_t before = b.fabric->error_packets(kDevice).size();
  ASSERT_EQ(driver.transfer(false, 0, 512, page(kMessages, own)), 0u);
  ASSERT_EQ(driver.transfer(false, 0, 512, kMessages + 200 * RequesterPages::kPage), 0u);
  b.settle();
  EXPECT_EQ(b.fabric->error_packets(kDevice).size(), before + 4) << "each block is two stores";
  // The processor of the node: the device's port.
  refused([&] { local.store(page(kMessages, disks), one); }, Status::NoRight);
  refused([&] { local.store(kMessages + 200 * RequesterPages::kPage, one); }, Status::NoPort);
  // The host of the port: a process's. Of the device's it posts, as it could by the device itself.
  refused([&] { host.store_to(kDevice, page(kMessages, own), one); }, Status::NoRight);
  EXPECT_TRUE(b.messages(3).empty());
  host.store_to(kDevice, page(kMessages, disks), one);
  b.settle();
  EXPECT_EQ(b.messages(3).size(), 1u);
  // Anybody else is a stranger to the port.
  const std::uint64_t strangers = b.fabric->smfu(kDevice).counters().refused;
  other.store_to(kDevice, page(kMessages, disks), one);
  b.settle();
  EXPECT_EQ(b.fabric->smfu(kDevice).counters().refused, strangers + 1);
  EXPECT_EQ(b.messages(3).size(), 1u);
  // Nothing is read there, whoever asks.
  pcie::Tlp read = store_at(page(kMessages, own), 8);
  read.kind = pcie::TlpKind::MemoryRead;
  EXPECT_EQ(local.read(kNobody, read), ~std::uint64_t{0});
  // After the host has let go, the port's functions have it still, the host no more.
  b.fabric->root_port(kDevice)->release();
  refused([&] { host.store_to(kDevice, page(kMessages, disks), one); }, Status::NoRight);
}

TEST(RequesterPages, WhatIsWrongIsAnEventOfThePort) {
  Bench b(ring("queue_slots = 4\noccupancy = \"2us\"\nunits = 1"), 12);
  BridgeHost host(b, 0, kMemory);
  auto event_of = [&](std::uint64_t address, const Bytes& bytes) {
    b.events(0).clear();
    host.store(address, bytes);
    EXPECT_TRUE(b.settle());
    EXPECT_EQ(b.events(0).size(), 1u);
    return b.events(0).empty() ? Event{} : b.events(0)[0];
  };
  const std::uint64_t messages = page(kMessages, b.ports[0]), work = page(kRdma, b.ports[0]);
  auto status_of = [&](std::uint64_t address, const Bytes& bytes) { return event_of(address, bytes).status; };
  EXPECT_EQ(status_of(messages, message({40, 0}, 1, 8)), Status::BadNode);
  EXPECT_EQ(status_of(messages, message({3, 77}, 1, 8)), Status::NoPort);
  EXPECT_EQ(status_of(messages, message(b.ports[3], 1, 65)), Status::BadLength) << "by the interface's limit";
  Bytes longer = message(b.ports[3], 1, 8);
  longer[13] = 1;  // 264 bytes, which no slot holds
  EXPECT_EQ(status_of(messages, longer), Status::BadLength);
  EXPECT_EQ(status_of(messages, message(b.ports[3], 1, 8, 0x4000)), Status::BadOperation);
  EXPECT_EQ(status_of(messages + 8, message(b.ports[3], 1, 8)), Status::BadRange) << "no slot begins there";
  Descriptor d = b.to(3, Operation::Put, 8);
  d.local_key = 12345;
  d.context = 5;
  Event event = event_of(work, rdma(d));
  EXPECT_EQ(event.status, Status::BadKey);
  EXPECT_EQ(event.context, 5u);
  for (Operation operation :
       {Operation::Message, Operation::Arm, Operation::Join, Operation::Load, Operation(0), Operation(200)})
    EXPECT_EQ(status_of(work, rdma(b.to(3, operation, 8))), Status::BadOperation);
  d = b.to(3, Operation::Put, 8, kPhysical);
  EXPECT_EQ(status_of(work, rdma(d)), Status::NoRight) << "a kernel's alone";
  // The queue is full when four are in it: the rest is refused, in order.
  b.events(0).clear();
  for (unsigned i = 0; i < 12; ++i)
    host.store(messages + i * RequesterPages::kSlot, message(b.ports[3], i, 64));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(3).size() + b.events(0).size(), 12u);
  EXPECT_GE(b.messages(3).size(), 4u);
  EXPECT_GE(b.events(0).size(), 4u);
  for (const Event& full : b.events(0)) EXPECT_EQ(full.status, Status::NoRoom);
  b.events(0).clear();
  host.store(messages, message(b.ports[3], 100, 64));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(3).back().tag, 100u) << "and there is room again";
  EXPECT_TRUE(b.events(0).empty());
}

TEST(RequesterPages, PiecesAreWholeAgainAndAbandonedOnesAreTold) {
  Bench b(ring(), 12);
  BridgeHost host(b, 0, kMemory);
  const std::uint64_t at = page(kMessages, b.ports[0]);
  const Bytes whole = message(b.ports[3], 4, 64);
  // Every cut there is, in two; then byte by byte.
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    host.store(at, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)});
    host.store(at + cut, {whole.begin() + static_cast<std::ptrdiff_t>(cut), whole.end()});
  }
  for (std::size_t i = 0; i < whole.size(); ++i) host.store(at + i, {whole[i]});
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(3).size(), whole.size());
  for (const Message& m : b.messages(3)) EXPECT_EQ(std::memcmp(m.data, whole.data() + 16, 64), 0);
  EXPECT_TRUE(b.events(0).empty());
  // Begun, and then another; a hole; what follows a whole one is nothing.
  b.messages(3).clear();
  host.store(at, {whole.begin(), whole.begin() + 20});
  host.store(at + RequesterPages::kSlot, whole);
  host.store(at + RequesterPages::kSlot + whole.size(), {1, 2, 3});
  host.store(at, {whole.begin(), whole.begin() + 20});
  host.store(at + 24, {whole.begin() + 24, whole.end()});
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(3).size(), 1u);
  std::vector<Status> told;
  for (const Event& event : b.events(0)) told.push_back(event.status);
  EXPECT_THAT(told, testing::ElementsAre(Status::BadLength, Status::BadLength, Status::BadRange));
}

TEST(RequesterPages, DevicesHavePortsFromTheStartWhereTheDescriptionSaysSo) {
  Bench b(ring("", "device_ports = true\n"), 12);
  const PortRef disks{kDevice, 0};
  EXPECT_NE(b.ports[kDevice].port, disks.port) << "the first one is taken";
  BridgeHost host(b, 0, kMemory);
  NvmeDriver driver(host, kDevice, kMemory);
  host.store_to(kDevice, page(kMessages, disks), message(b.ports[3], 1, 8));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(3).size(), 1u);
}

}  // namespace
}  // namespace weft::nic
