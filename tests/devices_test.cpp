// Devices of nodes as people use them: in a description, from a program, and of a kind of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "machine/machine.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::string kCopy = WEFT_BUILD "/examples/dma_copy", kDevices = WEFT_BUILD "/test-programs/devices";

ProgramResult run_with(const std::vector<std::string>& settings, const std::vector<std::string>& command) {
  std::vector<std::string> all{"run",      "torus", "--set", "topology.dims=[2,2]",
                               "--engine", "ideal", "-n",    "1"};
  for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return run_program(all, 60);
}

/// The same command with one file more.
ProgramResult run_with_timer(const std::vector<std::string>& arguments) {
  return run_program(arguments, 60, [&] {
    const char* program = WEFT_BUILD "/weft_with_timer";
    std::vector<char*> words{const_cast<char*>(program)};
    for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
    words.push_back(nullptr);
    execv(program, words.data());
  });
}

double microseconds(const std::string& out) {
  double time = 0;
  unsigned long bytes = 0;
  return std::sscanf(out.c_str(), "%lu bytes in %lf us", &bytes, &time) == 2 ? time : -1;
}

TEST(Devices, AProgramCopiesWithTheDmaEngine) {
  ProgramResult r = run_with({"node.device.copy.kind=\"dma\""}, {kCopy, "1024000"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("status 2, all there"));
  EXPECT_EQ(run_with({"node.device.copy.kind=\"dma\""}, {kCopy, "1024000"}).out, r.out) << "twice the same";
  // Slower by what a byte takes at the engine's rate, and by its startup.
  double plain = microseconds(r.out);
  double slow = microseconds(
      run_with({"node.device.copy.kind=\"dma\"", "node.device.copy.rate=10Gbps"}, {kCopy, "1024000"}).out);
  double longer = microseconds(
      run_with({"node.device.copy.kind=\"dma\"", "node.device.copy.rate=10Gbps"}, {kCopy, "2048000"}).out);
  EXPECT_NEAR(longer - slow, 1'024'000 * 8 / 10e3, 0.01) << "10 Gbps";
  EXPECT_GT(slow, plain * 5);
  double started = microseconds(
      run_with({"node.device.copy.kind=\"dma\"", "node.device.copy.startup=2300ns"}, {kCopy, "1024000"}).out);
  EXPECT_NEAR(started - plain, 2.0, 0.002);
}

TEST(Devices, TheInterfaceIsOneOfThem) {
  ProgramResult r = run_with({}, {kDevices});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("other: No such device\nlong: No such device\n"));
  EXPECT_THAT(r.out, ContainsRegex("nic of node 0: [0-9]+ ports, ffffffffffffffff"));
  EXPECT_THAT(r.out, ContainsRegex("read in 3[0-9][0-9] ns")) << "two writes over the bus";
}

TEST(Devices, AWaitForNothingIsADeadlockInWords) {
  ProgramResult r = run_with({"node.device.copy.kind=\"dma\""}, {kDevices, "hang"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("deadlock"));
  EXPECT_THAT(r.err, HasSubstr("waits for an interrupt of device 'copy'"));
}

TEST(Devices, AreShownAndExplained) {
  ProgramResult r = run_program({"show", "torus", "--set", "node.device.copy.kind=\"dma\"", "--set",
                                 "node.device.other={kind=\"dma\",nodes=[0,3]}"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("device +copy: dma, on every node"));
  EXPECT_THAT(r.out, ContainsRegex("device +other: dma, on 2 nodes"));
  EXPECT_THAT(run_program({"help", "device", "dma"}).out, HasSubstr("[node.device.NAME] kind = \"dma\""));
  EXPECT_THAT(run_program({"help", "device", "dna"}).err, HasSubstr("did you mean 'dma'?"));
}

TEST(Devices, AnUpperLayerMayChangeTheKind) {
  machine::Description d =
      machine::describe_text("base = \"torus\"\n[node.device.copy]\nkind = \"dma\"\nburst = \"1KiB\"\n",
                             "test", {"node.device.copy.kind=\"dma\"", "node.device.copy.startup=1us"});
  ASSERT_EQ(d.devices.size(), 1u);
  EXPECT_TRUE(d.devices[0].sits_on(5));
}

TEST(OutOfTree, OneFileAddsAKindOfDevice) {
  ProgramResult r = run_with_timer({"help", "device", "timer"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Length of a tick"));
  r = run_with_timer({"run", "torus", "--set", "topology.dims=[2,2]", "--engine", "ideal", "--set",
                      "node.device.clock.kind=\"timer\"", "--set", "node.device.clock.tick=3us", "--set",
                      "host.interrupt=1us", "-n", "1", "--", kDevices, "timer"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, ContainsRegex("interrupt 0 after 161[0-9][0-9] ns"))
      << "the bus, five ticks, the interrupt";
  EXPECT_THAT(r.out, HasSubstr("nothing after 2000 ns\nfired 1\n"));
  EXPECT_EQ(run_program({"help", "device", "timer"}).code, 2) << "the plain command has none";
}

}  // namespace
}  // namespace weft::test
