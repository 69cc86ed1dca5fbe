// Disks on a chain of HyperTransport below an interface: the same driver, data and protection as on PCI
// Express; times and rates are those of the chain.
#include <gtest/gtest.h>

#include "base/crc.hpp"
#include "nic/requester_pages.hpp"
#include "nic/test_nvme.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::BridgeHost;
using test::NvmeDriver;

constexpr std::uint64_t kMemory = 16 << 20, kMessages = std::uint64_t{2} << 40;
constexpr NicId kDevice = 3;

/// A ring of nodes with so many disks below the root of each.
std::string ring(const std::string& root, unsigned disks = 1, const std::string& disk = "") {
  std::string out =
      test::torus("kind = \"extoll\"\npayload = \"256B\"", "", "[8]") + "\n[node.device.port]\n" + root;
  for (unsigned i = 0; i < disks; ++i)
    out += "\n[node.device.disk" + std::to_string(i) +
           "]\nkind = \"nvme\"\ncapacity = \"64MiB\"\nready_time = \"10us\"\n" + disk;
  return out;
}
const std::string kChain = "kind = \"hypertransport-host\"\n";

/// What is found there besides bridges, in order.
std::vector<pcie::Found> functions(Bench& b) {
  std::vector<pcie::Found> out;
  for (const pcie::Found& one : b.fabric->root_port(kDevice)->found())
    if (!one.bridge) out.push_back(one);
  return out;
}

TEST(HyperTransportDevice, TheSameDriverReadsWhatItWroteOnEveryUnit) {
  Bench b(ring(kChain, 3), 8);
  BridgeHost host(b, 0, kMemory);
  // The driver takes the last of the chain; what it writes passes the two before it.
  NvmeDriver driver(host, kDevice, kMemory);
  ASSERT_EQ(driver.failed, "");
  EXPECT_EQ(driver.id, pcie::FunctionId(1, 3, 0));
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint64_t from = NvmeDriver::kData + 512 * i, to = NvmeDriver::kData + 0x200000 + 4 * i;
    for (unsigned k = 0; k < 65'536; k += 8) {
      const std::uint64_t word = random_bits(i, 1, k);
      std::memcpy(host.memory.data() + from + k, &word, 8);
    }
    ASSERT_EQ(driver.transfer(true, 128 * i, 65'536, from), 0u);
    ASSERT_EQ(driver.transfer(false, 128 * i, 65'536, to), 0u);
    EXPECT_EQ(crc32(0, host.memory.data() + from, 65'536), crc32(0, host.memory.data() + to, 65'536));
  }
  EXPECT_FALSE(host.interrupts.empty());
  EXPECT_EQ(b.fabric->smfu(kDevice).counters().refused, 0u);
  // Nobody has the number of a tunnel that is not there, and another host has nothing.
  EXPECT_EQ(host.config(kDevice, pcie::FunctionId(1, 4, 0), pcie::kVendor, 4), 0xffffffffu);
  BridgeHost other(b, 1, kMemory);
  EXPECT_EQ(other.config(kDevice, driver.id, pcie::kVendor, 4), 0xffffffffu);
}

TEST(HyperTransportDevice, ARegisterFurtherDownTheChainTakesTwoLinksLonger) {
  Bench b(ring(kChain + "latency = \"70ns\"\nclock = 400\nwidth = 8\n", 4), 8);
  BridgeHost host(b, 0, kMemory);
  std::vector<Time> times;
  for (const pcie::Found& one : functions(b)) {
    const Time from = b.queue.now();
    EXPECT_EQ(host.word(kDevice, one.bars[0].first + node::kNvmeVersion), 0x00010300u);
    times.push_back(b.queue.now() - from);
  }
  ASSERT_EQ(times.size(), 4u);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], Time{2 * 70'000}) << i;
  // The first, by PCI Express of the same latency: the packets alone differ. 8 bytes and 8 back at 6.4 Gb/s,
  // or 12 + 8 and 16 + 8 at 2 Gb/s.
  Bench express(ring("kind = \"pcie-root-port\"\nlatency = \"70ns\"\n", 1, "generation = 1\nwidth = 1\n"), 8);
  BridgeHost there(express, 0, kMemory);
  const Time from = express.queue.now();
  there.word(kDevice, functions(express)[0].bars[0].first + node::kNvmeVersion);
  const Time chain = transfer_time(8, 6'400'000'000) + transfer_time(4 + 4, 6'400'000'000),
             lane = transfer_time(12 + 8, 2'000'000'000) + transfer_time(12 + 4 + 8, 2'000'000'000);
  EXPECT_EQ(express.queue.now() - from - times[0], lane - chain);
}

/// Time of so many transfers of 64 KiB that are submitted together.
Time stream(const std::string& chain, bool write, unsigned transfers) {
  Bench b(ring(kChain + chain, 1,
               "read_time = \"0ns\"\nprogram_time = \"0ns\"\ncommand_time = \"0ns\"\nchannel_rate = "
               "\"1000Gbps\"\nchannels = 64\ntags = 256\n"),
          8);
  BridgeHost host(b, 0, kMemory);
  NvmeDriver driver(host, kDevice, kMemory);
  EXPECT_EQ(driver.failed, "");
  b.settle();
  const Time from = b.queue.now();
  for (unsigned i = 0; i < transfers; ++i)
    driver.submit(write, std::uint64_t{i} * 128, 65'536, NvmeDriver::kData + std::uint64_t{i} * 65'536);
  for (unsigned i = 0; i < transfers; ++i) EXPECT_EQ(driver.wait_one(), 0u);
  return b.queue.now() - from;
}

TEST(HyperTransportDevice, BandwidthIsThatOfItsLinksAndTags) {
  // What the disk writes to memory: 72 bytes for 64, at 800 Mb/s.
  const std::string slow = "clock = 200\nwidth = 2\n";
  const double seconds =
      static_cast<double>((stream(slow, false, 12) - stream(slow, false, 4)).value) * 1e-12;
  EXPECT_NEAR(seconds, 8 * 65'536 * 8 * (72.0 / 64) / 0.8e9, 0.03 * seconds);
  // What it reads comes in answers, 68 bytes for 64.
  const double read = static_cast<double>((stream(slow, true, 12) - stream(slow, true, 4)).value) * 1e-12;
  EXPECT_NEAR(read, 8 * 65'536 * 8 * (68.0 / 64) / 0.8e9, 0.03 * read);
  // A wide link is bound by 32 reads of 64 bytes under way, over three hops: links of twice the rate bring
  // next to nothing.
  const Time wide = stream("clock = 1400\nwidth = 16\n", true, 12),
             wider = stream("clock = 1400\nwidth = 32\n", true, 12);
  EXPECT_GT(wider.value, wide.value * 0.95);
}

/// Time of so many stores of 64 bytes into registers of the functions, in turn.
Time stores(const std::string& root, unsigned disks, const std::string& disk,
            const std::vector<unsigned>& targets, unsigned count) {
  Bench b(ring(root, disks, disk), 8);
  BridgeHost host(b, 0, kMemory);
  const std::vector<pcie::Found> found = functions(b);
  const Time from = b.queue.now();
  for (unsigned i = 0; i < count; ++i)
    host.store_to(kDevice, found[targets[i % targets.size()]].bars[0].first + node::kNvmeBarSize - 64,
                  std::vector<std::uint8_t>(64));
  EXPECT_TRUE(b.settle());
  return b.queue.now() - from;
}

// Devices on a chain or behind a switch share the links they have in common, and no others.
TEST(HyperTransportDevice, LinksAreSharedByWhatIsBehindThem) {
  const std::string chain = kChain + "clock = 200\nwidth = 2\n";  // 720 ns for 64 bytes
  const Time first = stores(chain, 2, "", {0}, 400), both = stores(chain, 2, "", {0, 1}, 400);
  EXPECT_GT(first, Time{400 * 720'000});
  EXPECT_NEAR(static_cast<double>(both.value), static_cast<double>(first.value), 2e6)
      << "one link carries all of it";
  // A switch with a fast link upwards: each device has its own.
  const std::string port = "kind = \"pcie-root-port\"\n[node.device.hub]\nkind = \"pcie-switch\"\n",
                    lane = "generation = 1\nwidth = 1\nunder = \"hub\"\n";
  const Time one = stores(port, 2, lane, {0}, 400), two = stores(port, 2, lane, {0, 1}, 400);
  EXPECT_GT(one, Time{400 * 336'000})
      << "12 bytes of header, 64 of data, 8 of framing: 2 bits in a nanosecond";
  EXPECT_NEAR(static_cast<double>(two.value), static_cast<double>(one.value) / 2, 4e6);
  // And with a slow one.
  const std::string slow =
      "kind = \"pcie-root-port\"\ngeneration = 1\nwidth = 1\n[node.device.hub]\nkind = "
      "\"pcie-switch\"\ngeneration = 1\nwidth = 1\n";
  const Time shared = stores(slow, 2, "under = \"hub\"\n", {0, 1}, 400);
  EXPECT_NEAR(static_cast<double>(shared.value), static_cast<double>(one.value), 4e6);
}

// A message and its header are more than a packet of HyperTransport has room for: the interface puts the
// pieces together.
TEST(HyperTransportDevice, ADiskOnAChainPostsMessages) {
  Bench b(ring(kChain + "messages = " + std::to_string(kMessages) + "\ndevice_ports = true\n", 2), 8);
  BridgeHost host(b, 0, kMemory);
  NvmeDriver driver(host, kDevice, kMemory);
  ASSERT_EQ(driver.failed, "");
  std::uint8_t* slot = host.memory.data() + NvmeDriver::kData;
  const std::uint32_t head[] = {2, b.ports[2].port, 77, 64};
  std::memcpy(slot, head, sizeof head);
  for (unsigned i = 0; i < 64; ++i) slot[16 + i] = static_cast<std::uint8_t>(3 * i);
  ASSERT_EQ(driver.transfer(true, 0, 512, NvmeDriver::kData), 0u);
  // Port 0 is the first disk's, 1 that of the driver's.
  ASSERT_EQ(driver.transfer(false, 0, 512, kMessages + RequesterPages::kPage), 0u);
  ASSERT_EQ(driver.transfer(false, 0, 512, kMessages), 0u);
  ASSERT_TRUE(b.settle());
  b.take(b.ports[2]);
  ASSERT_EQ(b.messages(2).size(), 1u) << "the other's port is not its";
  const Message& m = b.messages(2)[0];
  EXPECT_EQ(m.node, kDevice);
  EXPECT_EQ(m.tag, 77u);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(m.data[i], static_cast<std::uint8_t>(3 * i));
}

TEST(HyperTransportDevice, ADiskBehindABridgeIsOnPciExpress) {
  Bench b(ring(kChain + "[node.device.bridge]\nkind = \"hypertransport-bridge\"\ngeneration = 2\nwidth = 4\n",
               1, "under = \"bridge\"\n"),
          8);
  BridgeHost host(b, 0, kMemory);
  NvmeDriver driver(host, kDevice, kMemory);
  ASSERT_EQ(driver.failed, "");
  EXPECT_EQ(driver.id, pcie::FunctionId(2, 0, 0));
  std::fill_n(host.memory.begin() + NvmeDriver::kData, 65'536, std::uint8_t{0xa5});
  ASSERT_EQ(driver.transfer(true, 0, 65'536, NvmeDriver::kData), 0u);
  ASSERT_EQ(driver.transfer(false, 0, 65'536, NvmeDriver::kData + 0x100000), 0u);
  EXPECT_TRUE(std::equal(host.memory.begin() + NvmeDriver::kData,
                         host.memory.begin() + NvmeDriver::kData + 65'536,
                         host.memory.begin() + NvmeDriver::kData + 0x100000));
}

}  // namespace
}  // namespace weft::nic
