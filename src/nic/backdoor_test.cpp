// Packets of PCI Express, looked at and put in by hand.
#include "nic/backdoor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "nic/test_nvme.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::BridgeHost;
using test::NvmeDriver;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMemory = 16 << 20;

std::string ring() {
  return test::torus("kind = \"extoll\"\npayload = \"256B\"", "", "[12]") +
         "\n[node.device.disk]\nkind = \"nvme\"\ncapacity = \"4MiB\"\nready_time = \"10us\"\n";
}

struct Inside {
  Inside() : bench(ring(), 12), backdoor(*bench.fabric, bench.queue) {}

  std::string send(NicId from, Side side, NicId to, const std::string& packet) {
    std::vector<std::string> words;
    std::istringstream in(packet);
    for (std::string word; in >> word;) words.push_back(word);
    std::string error, out;
    const std::vector<std::uint8_t> bytes = parse_tlp(words, error);
    if (!error.empty()) return error;
    backdoor.inject(from, side, to, bytes, [&](const std::string& text) { out = text; });
    bench.settle();
    return out;
  }

  Bench bench;
  Backdoor backdoor;
};

TEST(Backdoor, AnyNodeConfiguresAPortThatNobodyHas) {
  Inside in;
  for (NicId from : {0u, 3u, 5u})
    EXPECT_THAT(in.send(from, Side::Host, 5, "ConfigRead1 01:00.0 0x0 4"),
                HasSubstr("status 0 left 4 4 B | 34120801"))
        << from;
  // Its command register, and then a register of its first BAR: the version of NVM Express.
  EXPECT_THAT(in.send(4, Side::Host, 5, "ConfigWrite1 01:00.0 0x4 0600"), HasSubstr("Completion ff:1f.7"));
  EXPECT_THAT(in.send(4, Side::Host, 5, "MemoryRead 0xc0000008 4"),
              HasSubstr("status 0 left 4 4 B | 00030100"));
}

TEST(Backdoor, WhatNobodyAllowedIsRefused) {
  Inside in;
  EXPECT_THAT(in.send(0, Side::Host, 5, "ConfigRead1 09:00.0 0x0 4"), HasSubstr("status 1"));
  EXPECT_THAT(in.send(0, Side::Host, 5, "MemoryRead 0x1000 4"), HasSubstr("status 1"));
  BridgeHost host(in.bench, 1, kMemory);
  NvmeDriver driver(host, 5, kMemory);
  EXPECT_THAT(in.send(0, Side::Host, 5, "ConfigRead1 01:00.0 0x0 4"), HasSubstr("status 1"));
  EXPECT_THAT(in.send(1, Side::Host, 5, "ConfigRead1 01:00.0 0x0 4"), HasSubstr("status 0"));
  // Nonsense is counted, and nothing else follows from it.
  const std::uint64_t refused = in.bench.fabric->smfu(5).counters().refused;
  EXPECT_EQ(in.send(1, Side::Host, 5, "bytes ffffffffffffffff"), "sent");
  EXPECT_EQ(in.bench.fabric->smfu(5).counters().refused, refused + 1);
  EXPECT_EQ(driver.transfer(true, 0, 4096, NvmeDriver::kData), 0u);
}

TEST(Backdoor, WhatADeviceMightSendReachesItsHost) {
  Inside in;
  BridgeHost host(in.bench, 1, kMemory);
  EXPECT_EQ(in.send(5, Side::Port, 1, "MemoryWrite 0x2000 01020304"), "sent");
  EXPECT_EQ(host.memory[0x2003], 4);
  EXPECT_THAT(in.send(5, Side::Port, 1, "MemoryRead 0x2000 4"), HasSubstr("| 01020304"));
  EXPECT_EQ(in.send(5, Side::Port, 1, "MemoryWrite 0xfee00000 29000000"), "sent");
  ASSERT_EQ(host.interrupts.size(), 1u);
  EXPECT_EQ(host.interrupts[0].second, 0x29u);
  EXPECT_THAT(in.send(5, Side::Port, 1, "MemoryRead 0x70000000 4"), HasSubstr("status 1"));
}

TEST(Backdoor, ADumpHasWhatTheFilterKeepsAndCanBeSentAgain) {
  const std::string path = testing::TempDir() + "/weft-tlp-dump";
  Inside in;
  BridgeHost host(in.bench, 1, kMemory), other(in.bench, 2, kMemory);
  NvmeDriver driver(host, 5, kMemory), second(other, 6, kMemory);
  Diagnostics problems;
  in.backdoor.dump(path, parse_tlp_filter("MemoryRead,5", "--tlp-filter", problems));
  EXPECT_TRUE(problems.empty());
  const std::uint32_t version = host.word(5, driver.bar + node::kNvmeVersion);
  other.word(6, second.bar + node::kNvmeVersion);
  host.set_word(5, driver.bar + node::kNvmeAdminSizes, 0);
  in.bench.settle();
  in.backdoor.close();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  const std::string lines = text.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_THAT(lines, HasSubstr("us 1 > 5 MemoryRead 00:00.0 tag "));
  EXPECT_THAT(lines, HasSubstr("us 1 >> 5 MemoryRead 00:00.0 tag "));
  EXPECT_THAT(lines, Not(HasSubstr("MemoryWrite")));
  // The same bytes once more ask the same: the answer is the bridge's, which has no such tag open any more.
  const std::string bytes = lines.substr(lines.find("| ") + 2, lines.find('\n') - lines.find("| ") - 2);
  const std::uint64_t sent = in.bench.fabric->smfu(5).counters().sent;
  EXPECT_EQ(in.send(1, Side::Host, 5, "bytes " + bytes), "sent");
  EXPECT_EQ(in.bench.fabric->smfu(5).counters().sent, sent + 1);
  EXPECT_EQ(host.word(5, driver.bar + node::kNvmeVersion), version);
}

TEST(Backdoor, SaysWhatItDoesNotUnderstand) {
  auto error_of = [](std::vector<std::string> words) {
    std::string error;
    EXPECT_TRUE(parse_tlp(words, error).empty());
    return error;
  };
  EXPECT_THAT(error_of({}), HasSubstr("expected a request"));
  EXPECT_THAT(error_of({"CompletionData", "0", "4"}), HasSubstr("expected a request"));
  EXPECT_THAT(error_of({"ConfigRead1", "01:20.0", "0", "4"}),
              HasSubstr("expected a function such as 01:00.0"));
  EXPECT_THAT(error_of({"ConfigRead1", "01:00.0", "0x2", "4"}), HasSubstr("within a word"));
  EXPECT_THAT(error_of({"MemoryRead", "0xfff", "2"}), HasSubstr("within a page"));
  EXPECT_THAT(error_of({"MemoryWrite", "0x0", "123"}), HasSubstr("hexadecimal"));
  EXPECT_THAT(error_of({"bytes", "0g"}), HasSubstr("hexadecimal"));
  Diagnostics problems;
  parse_tlp_filter("MemoryRaed,x", "--tlp-filter", problems);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems.all()[0].message, HasSubstr("did you mean 'MemoryRead'"));
}

}  // namespace
}  // namespace weft::nic
