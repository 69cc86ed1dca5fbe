// Devices on nodes of their own, as people use them: trees in descriptions and what is wrong with them, and
// Linux nodes whose kernel drives a disk that is elsewhere.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>

#include "abi/descriptor.hpp"
#include "abi/registers.hpp"
#include "boot_fixture.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> with(const std::string& verb, const std::vector<std::string>& settings,
                              const std::vector<std::string>& more) {
  std::vector<std::string> out{verb, "greenice"};
  for (const std::string& setting : settings) out.insert(out.end(), {"--set", setting});
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

const std::vector<std::string> kTwoDisks{"node.device.port.kind=pcie-root-port",
                                         "node.device.port.nodes=[9]",
                                         "node.device.hub.kind=pcie-switch",
                                         "node.device.hub.nodes=[9]",
                                         "node.device.a.kind=nvme",
                                         "node.device.a.nodes=[9]",
                                         "node.device.a.under=hub",
                                         "node.device.b.kind=nvme",
                                         "node.device.b.nodes=[9]",
                                         "node.device.b.under=hub"};

TEST(Pcie, ATreeIsShownAsLspciShowsIt) {
  ProgramResult r = run_program(with("show", kTwoDisks, {"--pcie"}));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(
      r.out,
      "-[0009:00]---00.0-[01-06]----00.0-[02-06]--+-00.0-[03]----00.0  Non-Volatile memory controller: a "
      "(1GiB)\n"
      "                                           +-01.0-[04]----00.0  Non-Volatile memory controller: b "
      "(1GiB)\n"
      "                                           +-02.0-[05]--\n"
      "                                           \\-03.0-[06]--\n");
}

TEST(Pcie, IntervalsOfTheChipAreShownAndChecked) {
  auto show = [](std::vector<std::string> units) {
    std::vector<std::string> settings = kTwoDisks;
    for (const std::string& unit : units) settings.push_back("node.device.port." + unit);
    return run_program(with("show", settings, {"--pcie"}));
  };
  ProgramResult r = show({"registers=0x10000000000", "messages=0x30000000000", "rdma=0x20000000000"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" on-chip network of node 9:\n"
                               "   0x10000000000 to 0x1ffffffffff lead to the register file\n"
                               "   0x30000000000 to 0x3ffffffffff lead to the unit of small messages\n"
                               "   0x20000000000 to 0x2ffffffffff lead to the RDMA unit\n"
                               "   all else to the network\n"));
  EXPECT_THAT(show({}).out, Not(HasSubstr("on-chip")));
  r = show({"registers=0x1000", "messages=0x20000000000", "rdma=0x20000000000"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("node.device.port.registers: expected a multiple of 2^40"));
  EXPECT_THAT(r.err, HasSubstr("node.device.port.rdma: 'messages' is at this address"));
  r = show({"messages=0x20000000000", "device_ports=true"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("   port 0 is of 'a'\n   port 1 is of 'b'\n"));
}

TEST(Pcie, LspciReadsTheDump) {
  ProgramResult r = run_program(with("show", kTwoDisks, {"--pcie-dump"}));
  ASSERT_EQ(r.code, 0) << r.err;
  ScratchFolder folder;
  std::ofstream(folder.file("dump")) << r.out;
  const std::string command = "lspci -n -F " + folder.file("dump") + " >" + folder.file("list") +
                              "; lspci -tv -F " + folder.file("dump") + " >" + folder.file("tree");
  ASSERT_EQ(std::system(command.c_str()), 0) << "lspci is in the package pciutils";
  EXPECT_THAT(read_file(folder.file("list")), HasSubstr("0009:03:00.0 0108: 1234:0108 (rev 01)"));
  EXPECT_THAT(read_file(folder.file("list")), HasSubstr("0009:00:00.0 0604: 1234:0001 (rev 01)"));
  EXPECT_THAT(read_file(folder.file("tree")),
              HasSubstr("-[0009:00]---00.0-[01-06]----00.0-[02-06]--+-00.0-[03]----00.0"));
}

const std::vector<std::string> kChain{"node.device.port.kind=hypertransport-host",
                                      "node.device.port.nodes=[9]",
                                      "node.device.port.clock=1000",
                                      "node.device.port.width=8",
                                      "node.device.hop.kind=hypertransport-bridge",
                                      "node.device.hop.nodes=[9]",
                                      "node.device.a.kind=nvme",
                                      "node.device.a.nodes=[9]",
                                      "node.device.b.kind=nvme",
                                      "node.device.b.nodes=[9]",
                                      "node.device.c.kind=nvme",
                                      "node.device.c.nodes=[9]",
                                      "node.device.c.under=hop"};

TEST(Pcie, AChainOfHyperTransportIsShownAndLspciKnowsIt) {
  const ProgramResult r = run_program(with("show", kChain, {"--pcie"}));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "-[0009:00]---00.0-[01-02]--+-01.0-[02]----00.0  Non-Volatile memory controller: c (1GiB)\n"
            "                           +-02.0  Non-Volatile memory controller: a (1GiB)\n"
            "                           \\-03.0  Non-Volatile memory controller: b (1GiB)\n"
            " HyperTransport of node 9: 8 bits at 1000 MHz, 16Gbps each way\n");
  ScratchFolder folder;
  std::ofstream(folder.file("dump")) << run_program(with("show", kChain, {"--pcie-dump"})).out;
  const std::string command = "lspci -vv -F " + folder.file("dump") + " >" + folder.file("list");
  ASSERT_EQ(std::system(command.c_str()), 0) << "lspci is in the package pciutils";
  const std::string list = read_file(folder.file("list"));
  EXPECT_THAT(list, HasSubstr("HyperTransport: Host or Secondary Interface"));
  EXPECT_THAT(list, HasSubstr("HyperTransport: Slave or Primary Interface"));
  EXPECT_THAT(list, HasSubstr("HyperTransport: MSI Mapping Enable+ Fixed+"));
  EXPECT_THAT(list, HasSubstr("BaseUnitID=3 UnitCnt=1"));
  EXPECT_THAT(list, HasSubstr("Link Frequency 0: 1.0GHz"));
}

TEST(Pcie, MistakesOfAChainAreToldAllAtOnce) {
  std::vector<std::string> settings = kChain;
  settings.insert(settings.end(), {"node.device.port.clock=850", "node.device.port.width=12"});
  ProgramResult r = run_program(with("show", settings, {"--pcie"}));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("node.device.port.clock: expected one of 200, 300, 400"));
  EXPECT_THAT(r.err, HasSubstr("node.device.port.width: expected one of 2, 4, 8, 16, 32"));
  settings = kChain;
  settings.insert(settings.end(),
                  {"node.device.hub.kind=pcie-switch", "node.device.hub.nodes=[9]", "node.device.d.kind=nvme",
                   "node.device.d.nodes=[9]", "node.device.d.under=hop"});
  r = run_program(with("show", settings, {"--pcie"}));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("node.device.hub.under: node 9: it is below a host of HyperTransport: a "
                               "hypertransport-bridge must be between"));
  EXPECT_THAT(r.err, HasSubstr("node.device.d.under: node 9: all ports of 'hop' are taken"));
  settings = kChain;
  settings[0] = "node.device.port.kind=pcie-root-port";
  settings[2] = "node.device.port.generation=2";
  r = run_program(with("show", settings, {"--pcie"}));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err,
              HasSubstr("node.device.hop.under: node 9: it is a unit of a chain of HyperTransport, and is "
                        "below a port of PCI Express"));
}

TEST(Pcie, MistakesOfADescriptionAreToldAllAtOnce) {
  ProgramResult r = run_program(
      with("show",
           {"node.device.port.kind=pcie-root-port", "node.device.port.nodes=[9]",
            "node.device.hub.kind=pcie-switch", "node.device.hub.nodes=[9]",
            "node.device.far.kind=pcie-switch", "node.device.far.nodes=[9]", "node.device.far.under=far",
            "node.device.a.kind=nvme", "node.device.a.nodes=[9]", "node.device.a.under=hup"},
           {"--pcie"}));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("node.device.a.under: node 9: there is no root port or switch 'hup'"));
  EXPECT_THAT(r.err, HasSubstr("did you mean 'hub'"));
  EXPECT_THAT(r.err,
              HasSubstr("node.device.far.under: node 9: 'far' is below 'far', which is below no root port"));
  EXPECT_THAT(r.err, HasSubstr("node.device.hub.kind: node 9: no device is below it"));
  r = run_program(with(
      "show", {"node.device.port.kind=pcie-root-port", "node.device.a.kind=nvme", "node.device.b.kind=nvme"},
      {"--pcie"}));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("node.device.b.under: node 0: all ports of 'port' are taken"));
  r = run_program({"show", "greenice", "--pcie"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("greenice has no device on PCI Express"));
}

TEST(Pcie, WindowsTooSmallAndPortsWithoutADeviceAreFoundBeforeARun) {
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"show", "--pcie"}, {"boot", "-n", "1", "--accelerators", "nvme=1"}}) {
    std::vector<std::string> words{verb[0], "greenice"};
    for (const char* setting :
         {"node.device.small.kind=pcie-root-port", "node.device.small.nodes=[9, 10]",
          "node.device.small.window=1MiB", "node.device.lone.kind=pcie-root-port",
          "node.device.lone.nodes=[11]", "node.device.a.kind=nvme", "node.device.a.nodes=[9, 10, 12]",
          "node.device.hub.kind=pcie-switch", "node.device.hub.nodes=[9]", "node.device.b.kind=nvme",
          "node.device.b.nodes=[9]", "node.device.b.under=hub", "node.device.c.kind=pcie-switch",
          "node.device.c.nodes=[10]", "node.device.c.under=nobody"})
      words.insert(words.end(), {"--set", setting});
    words.insert(words.end(), verb.begin() + 1, verb.end());
    if (verb[0] == "boot") words.insert(words.end(), {"--", "/bin/true"});
    const ProgramResult r = run_program(words);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_THAT(r.err, HasSubstr("node 11: no device is below it"));
    EXPECT_THAT(r.err, HasSubstr("there is no root port or switch 'nobody'"));
    EXPECT_THAT(r.err, HasSubstr("all ports of 'small' are taken"));
  }
  const ProgramResult r = run_program(
      with("show",
           {"node.device.small.kind=pcie-root-port", "node.device.small.nodes=[9, 10]",
            "node.device.small.window=8KiB", "node.device.a.kind=nvme", "node.device.a.nodes=[9, 10]"},
           {"--pcie"}));
  EXPECT_EQ(r.code, 2) << r.err << r.out;
  EXPECT_THAT(r.err, HasSubstr("node.device.small.window: node 9: BAR 0 of 01:00.0 wants"));
  EXPECT_THAT(r.err, HasSubstr("node.device.small.window: node 10: BAR 0 of 01:00.0 wants"));
}

TEST(Accelerators, WhatCannotBeGrantedIsTold) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"nvm=1", "'nvm' is no kind of device on PCI Express (did you mean 'nvme'?)"},
           {"dma=1", "'dma' is no kind of device on PCI Express"},
           {"nvme", "'nvme': expected nvme=N"},
           {"nvme=0", "'nvme=0': expected nvme=N"},
           {"nvme=32", "32 of kind nvme are asked for; greenice has 31 on nodes of their own"}}) {
    ProgramResult r = run_program({"boot", "greenice", "-n", "1", "--accelerators", text, "--", "/bin/true"});
    EXPECT_EQ(r.code, 2) << text;
    EXPECT_THAT(r.err, HasSubstr(expected));
  }
}

TEST(Accelerators, MistakesOfAScriptAreToldAllAtOnce) {
  const ProgramResult r = run_program(
      {"boot", "greenice", "-n", "2", "--set", "node.device.ssd.kind=nvme", "--set",
       "node.device.ssd.nodes=[22, 23]", "--accelerator-script",
       "at 1s asign nvme.0 to node0; at 2s assign nvme.7 to node0; at 3s assign nvme to node2; at 2s release "
       "nvme.0; at 3s inject from 0 into 5 ConfigRead1 01:00.0 0 4; at 3s inject from 0 into 22 ConfigRead1 "
       "1 0 4",
       "--", "/bin/true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("got 'asign' (did you mean 'assign'?)"));
  EXPECT_THAT(r.err, HasSubstr("there is no accelerator 'nvme.7'"));
  EXPECT_THAT(r.err, HasSubstr("'node2' is no Linux node: node0 to node1"));
  EXPECT_THAT(r.err, HasSubstr("2s is in the past"));
  EXPECT_THAT(r.err, HasSubstr("'5' is no node of the job with a root port"));
  EXPECT_THAT(r.err, HasSubstr("expected a function such as 01:00.0, got '1'"));
  const ProgramResult none = run_program({"accelerators", "list"});
  EXPECT_EQ(none.code, 2);
}

class BootAccelerators : public Boot {
 protected:
  static std::string write_and_read(unsigned mebibytes) {
    const std::string count = std::to_string(mebibytes);
    return "head -c " + count +
           "M /dev/urandom >/tmp/weft-written; dd if=/tmp/weft-written of=/dev/nvme0n1 bs=1M oflag=direct "
           "2>/dev/null || exit 1\n"
           "dd if=/dev/nvme0n1 of=/tmp/weft-read bs=1M count=" +
           count + " iflag=direct 2>/dev/null; cmp /tmp/weft-written /tmp/weft-read && echo the same";
  }
};

TEST_F(BootAccelerators, TheKernelsDriverUsesADiskFiveHopsAway) {
  // Node 22 of 4 x 2 x 4 is at (2, 1, 2).
  const std::vector<std::string> options{"greenice",
                                         "-n",
                                         "1",
                                         "--set",
                                         "node.device.ssd.kind=nvme",
                                         "--set",
                                         "node.device.ssd.nodes=[22]",
                                         "--accelerators",
                                         "nvme=1"};
  ProgramResult r = boot("lspci -n\n" + write_and_read(2), options);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: 00:00.0 0108: 1234:0108 (rev 01)"));
  EXPECT_THAT(r.out, HasSubstr("node0: the same"));
  const ProgramResult again = boot("lspci -n\n" + write_and_read(2), options);
  EXPECT_EQ(again.out, r.out);
  EXPECT_EQ(again.err, r.err) << "to the last picosecond";
}

TEST_F(BootAccelerators, TheSameDriverUsesADiskOnHyperTransport) {
  ProgramResult r =
      boot("lspci -v\n" + write_and_read(1),
           {"greenice", "-n", "1", "--engine", "ideal", "--set", "node.device.port.kind=hypertransport-host",
            "--set", "node.device.port.nodes=[22]", "--set", "node.device.first.kind=nvme", "--set",
            "node.device.first.nodes=[22]", "--set", "node.device.ssd.kind=nvme", "--set",
            "node.device.ssd.nodes=[22]", "--accelerators", "nvme=1"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: the same"));
  EXPECT_THAT(r.out, HasSubstr("HyperTransport: Slave or Primary Interface"));
}

TEST_F(BootAccelerators, AFileSystemLivesOnADiskElsewhere) {
  ProgramResult r = boot(
      "mkdir /tmp/m; busybox mke2fs -F /dev/nvme0n1 >/dev/null && mount -t ext4 /dev/nvme0n1 /tmp/m && "
      "head -c 1M /dev/urandom >/tmp/weft-written && cp /tmp/weft-written /tmp/m/a && umount /tmp/m && "
      "mount -t ext4 /dev/nvme0n1 /tmp/m && cmp /tmp/weft-written /tmp/m/a && echo the same",
      {"greenice", "-n", "1", "--accelerators", "nvme=1", "--set", "node.device.ssd.kind=nvme", "--set",
       "node.device.ssd.nodes=[5]", "--set", "node.device.ssd.capacity=16MiB", "--engine", "ideal"});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: the same"));
}

TEST_F(BootAccelerators, TwoNodesHaveTheirOwn) {
  ProgramResult r = boot(
      "[ $NODE = 0 ] && size=3 || size=4; head -c ${size}K /dev/urandom | sha256sum | cut -c1-8 "
      ">/tmp/weft-written\n"
      "dd if=/tmp/weft-written of=/dev/nvme0n1 bs=512 conv=sync oflag=direct 2>/dev/null\n"
      "dd if=/dev/nvme0n1 bs=512 count=1 iflag=direct 2>/dev/null | head -c 9 | cmp - /tmp/weft-written && "
      "echo $(lspci -n | wc -l) disk, the same",
      {"greenice", "-n", "2", "--accelerators", "nvme=2", "--engine", "ideal", "--out", folder.file("out")});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: 1 disk, the same"));
  EXPECT_THAT(r.out, HasSubstr("node1: 1 disk, the same"));
  const std::string result = read_file(folder.file("out/result.json"));
  EXPECT_THAT(result, HasSubstr("Non-Volatile memory controller: nvme (1GiB), on node 30"));
  EXPECT_THAT(result, HasSubstr("Non-Volatile memory controller: nvme (1GiB), on node 31"));
}

/// Waits until there is a disk, or until it is gone.
const char* const kWaitFor =
    "appears() { n=0; while [ ! -e /dev/nvme0n1 ]; do sleep 0.05; n=$((n+1)); [ $n = 3000 ] && exit 9; done; "
    "}\n"
    "vanishes() { while [ -e /dev/nvme0n1 ]; do sleep 0.05; done; }\n"
    "first() { dd if=/dev/nvme0n1 bs=512 count=1 iflag=direct 2>/dev/null | head -c 5; }\n";

TEST_F(BootAccelerators, AreGrantedAndTakenBackDuringAJob) {
  // node0 gets a disk, writes, gives it back; node1 gets the same one and reads, and loses it at once.
  const std::string job = std::string(kWaitFor) +
                          "echo $(lspci -n | wc -l) at first; appears\n"
                          "if [ $NODE = 0 ]; then printf 'hello' | dd of=/dev/nvme0n1 bs=512 conv=sync "
                          "oflag=direct 2>/dev/null; vanishes; echo $(lspci -n | wc -l) left\n"
                          "else echo it says $(first); vanishes; lspci -n | wc -l; fi";
  const std::vector<std::string> options{
      "greenice",
      "-n",
      "2",
      "--engine",
      "ideal",
      "--set",
      "node.device.ssd.kind=nvme",
      "--set",
      "node.device.ssd.nodes=[22]",
      "--out",
      folder.file("out"),
      "--accelerator-script",
      "at 200ms assign nvme.0 to node0; at 300ms assign nvme.0 to node1; at 400ms release nvme.0\n"
      "at 410ms assign nvme to node1  # when the reset is over\n"
      "at 600ms inject from 1 into 22 ConfigRead1 01:00.0 0x0 4; at 800ms reclaim nvme.0"};
  const ProgramResult r = boot(job, options);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: 0 at first"));
  EXPECT_THAT(r.out, HasSubstr("node0: 0 left"));
  EXPECT_THAT(r.out, HasSubstr("node1: it says hello"));
  const std::string result = read_file(folder.file("out/result.json"));
  EXPECT_THAT(result, HasSubstr("\"outcome\": \"node0 has nvme.0\""));
  EXPECT_THAT(result, HasSubstr("\"outcome\": \"nvme.0 is free\""));
  EXPECT_THAT(result, HasSubstr("\"outcome\": \"node1 has nvme.0\""));
  EXPECT_THAT(result, HasSubstr("\"outcome\": \"nvme.0 is taken from node1\""));
  EXPECT_THAT(result, HasSubstr("4 B | 34120801"));
  const ProgramResult again = boot(job, options);
  EXPECT_EQ(again.out, r.out);
  EXPECT_EQ(again.err, r.err) << "to the last picosecond";
}

/// Little-endian, in the digits that a script wants.
std::string digits(const void* bytes, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += fmt::format("{:02x}", static_cast<const std::uint8_t*>(bytes)[i]);
  return out;
}

// The host of an accelerator stores a descriptor into the page of the accelerator's port, on a node without a
// processor; that node's RDMA unit writes a register of its own interface, and an interval leads there to
// read.
TEST_F(BootAccelerators, AStoreOfTheirHostPostsOnTheirPort) {
  constexpr std::uint64_t kRegisters = std::uint64_t{1} << 40, kRdma = std::uint64_t{2} << 40;
  constexpr unsigned kScratch = static_cast<unsigned>(abi::registers::spot("chip.scratch").offset);
  nic::Descriptor d;
  d.operation = nic::Operation::ImmediatePut;
  d.flags = nic::kRegisters;
  d.node = 22;
  d.length = 8;
  d.remote_offset = kScratch;
  const std::uint64_t value = 0x1122334455667788;
  const std::string store = digits(&d, offsetof(nic::Descriptor, posted)) + digits(&value, 8);
  const ProgramResult r =
      boot("sleep 1",
           {"greenice",
            "-n",
            "2",
            "--engine",
            "ideal",
            "--set",
            "node.device.port.kind=pcie-root-port",
            "--set",
            "node.device.port.nodes=[22]",
            "--set",
            fmt::format("node.device.port.registers={}", kRegisters),
            "--set",
            fmt::format("node.device.port.rdma={}", kRdma),
            "--set",
            "node.device.port.device_ports=true",
            "--set",
            "node.device.ssd.kind=nvme",
            "--set",
            "node.device.ssd.nodes=[22]",
            "--out",
            folder.file("out"),
            "--accelerators",
            "nvme=1",
            "--accelerator-script",
            fmt::format(
                "at 500ms inject from 1 into 22 MemoryWrite {1:#x} {2}; at 550ms inject from 0 into 22 "
                "MemoryRead {0:#x} 8; at 600ms inject from 0 into 22 MemoryWrite {1:#x} {2}; at 700ms inject "
                "from 0 into 22 MemoryRead {0:#x} 8",
                kRegisters + kScratch, kRdma, store)});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const std::string result = read_file(folder.file("out/result.json"));
  EXPECT_THAT(result, HasSubstr("8 B | 0000000000000000")) << "a stranger's is not taken";
  EXPECT_THAT(result, HasSubstr("8 B | 8877665544332211")) << result;
}

TEST_F(BootAccelerators, AProgramOfANodeAsksForThem) {
  // node1 has the only disk that node0 does not get, and each keeps to its own.
  const std::string job = std::string(kWaitFor) +
                          "[ $NODE = 1 ] && sleep 1\n"
                          "ask() { weft-accelerators \"$@\" && echo yes || echo no $?; }\n"
                          "ask assign nvme; appears; lspci -n | wc -l\n"
                          "if [ $NODE = 0 ]; then sleep 3; ask list; ask release nvme.0; ask assign nvme.1\n"
                          "else ask assign nvme; ask release nvme.0; ask reclaim nvme.0; ask asign nvme; "
                          "ask assign nvme.7; ask; sleep 4; fi; ls /dev/nvme* | wc -l";
  const std::vector<std::string> options{"greenice",
                                         "-n",
                                         "2",
                                         "--engine",
                                         "ideal",
                                         "--set",
                                         "node.device.ssd.kind=nvme",
                                         "--set",
                                         "node.device.ssd.nodes=[21, 22]",
                                         "--out",
                                         folder.file("out")};
  const ProgramResult r = boot(job, options);
  EXPECT_THAT(r.out, HasSubstr("node0: node0 has nvme.0\nnode0: yes\nnode0: 1\n"));
  EXPECT_THAT(r.out, HasSubstr("node1: node1 has nvme.1\nnode1: yes\nnode1: 1\n"));
  EXPECT_THAT(r.out, HasSubstr("node1: no nvme is free\nnode1: no 1\n"));
  EXPECT_THAT(r.out, HasSubstr("node1: node1 does not have nvme.0\n"));
  EXPECT_THAT(r.out,
              HasSubstr("node1: a node may ask for one of list, assign, release, not 'reclaim nvme.0'"));
  EXPECT_THAT(r.out, HasSubstr("not 'asign nvme' (did you mean 'assign'?)"));
  EXPECT_THAT(r.out, HasSubstr("there is no accelerator 'nvme.7'"));
  EXPECT_THAT(r.out, HasSubstr("usage: weft-accelerators list | assign NAME | release NAME\nnode1: no 2\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: nvme.1       node 22     node1"));
  EXPECT_THAT(r.out, HasSubstr("node0: nvme.0 is free\nnode0: yes\nnode0: node1 has nvme.1\nnode0: no 1\n"));
  const std::string result = read_file(folder.file("out/result.json"));
  EXPECT_THAT(result, HasSubstr("\"request\": \"node0: assign nvme\""));
  const ProgramResult again = boot(job, options);
  EXPECT_EQ(again.out, r.out);
  EXPECT_EQ(again.err, r.err) << "to the last picosecond";
}

TEST_F(BootAccelerators, ComeUpWhenTheirPowerHasBeenStable) {
  const ProgramResult r =
      boot(std::string(kWaitFor) + "lspci -n | wc -l; appears; read up rest </proc/uptime; echo ${up%?}",
           {"greenice", "-n", "1", "--engine", "ideal", "--set", "node.device.port.kind=pcie-root-port",
            "--set", "node.device.port.nodes=[22]", "--set", "node.device.port.power_up=500ms", "--set",
            "node.device.ssd.kind=nvme", "--set", "node.device.ssd.nodes=[22]", "--accelerators", "nvme=1",
            "--out", folder.file("out")});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: 0\nnode0: 0.6\n"));
  EXPECT_THAT(read_file(folder.file("out/result.json")), HasSubstr("\"outcome\": \"node0 has nvme.0\""));
}

TEST_F(BootAccelerators, ANodeThatEndsGivesBackWhatItHad) {
  const ProgramResult r =
      boot(std::string(kWaitFor) +
               "if [ $NODE = 0 ]; then printf 'hello' | dd of=/dev/nvme0n1 bs=512 conv=sync oflag=direct "
               "2>/dev/null; exit; fi\n"
               "appears; echo it says $(first)",
           {"greenice", "-n", "2", "--engine", "ideal", "--set", "node.device.ssd.kind=nvme", "--set",
            "node.device.ssd.nodes=[22]", "--accelerators", "nvme=1", "--accelerator-script",
            "at 600ms assign nvme.0 to node1"});
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, HasSubstr("node1: it says hello")) << r.err << r.out;
}

TEST_F(BootAccelerators, ChangeHandsBetweenNodesThatUseThem) {
  // Three nodes, four disks, sixteen grants and releases; every node writes and reads what it has.
  constexpr std::size_t kNodes = 3, kDisks = 4;
  std::string text;
  std::vector<int> host(kDisks, -1);
  for (unsigned i = 0; i < 16; ++i) {
    const std::size_t disk = i * 7 % kDisks, to = (i * 5 + i / kDisks) % kNodes;
    const std::string at = "at " + std::to_string(200 + 60 * i) + "ms ",
                      name = "nvme." + std::to_string(disk);
    text += host[disk] < 0 ? at + "assign " + name + " to node" + std::to_string(to) + "\n"
                           : at + (i % 3 ? "release " : "reclaim ") + name + "\n";
    host[disk] = host[disk] < 0 ? static_cast<int>(to) : -1;
  }
  // What a disk loses its node for may fail; what is read may not differ.
  const ProgramResult r = boot(
      "t=0; good=0; while [ $t -lt 12 ]; do t=$((t+1)); sleep 0.1; for d in /dev/nvme?n1; do [ -e $d ] || "
      "continue; seq $t $((t+900)) | head -c 2048 >/tmp/a; dd if=/tmp/a of=$d bs=2048 oflag=direct "
      "2>/dev/null || "
      "continue; dd if=$d of=/tmp/b bs=2048 count=1 iflag=direct 2>/dev/null || continue; cmp /tmp/a /tmp/b "
      "|| "
      "exit 7; good=$((good+1)); done; done; [ $good -gt 1 ] && echo good",
      {"greenice", "-n", "3", "--engine", "ideal", "--set", "node.device.ssd.kind=nvme", "--set",
       "node.device.ssd.nodes=[20, 21, 22, 23]", "--out", folder.file("out"), "--accelerator-script", text});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  for (const char* node : {"node0: good", "node1: good", "node2: good"}) EXPECT_THAT(r.out, HasSubstr(node));
  const std::string result = read_file(folder.file("out/result.json"));
  EXPECT_THAT(result, Not(HasSubstr("not done")));
  EXPECT_THAT(result, Not(HasSubstr("ended\"")));
}

/// Bit errors on all cables, and a cable of the way is cut while data goes over it.
std::vector<std::string> hard_times(const std::string& machine, const std::string& node) {
  return {machine,
          "-n",
          "1",
          "--set",
          "node.device.ssd.kind=nvme",
          "--set",
          "node.device.ssd.nodes=[" + node + "]",
          "--set",
          "cable.default.bit_error_rate=1e-8",
          "--fault",
          "at 11ms cut r0.p0",
          "--accelerators",
          "nvme=1"};
}

TEST_F(BootAccelerators, NothingIsLostOverErrorsAndACutCable) {
  // Nodes 22 of 4 x 2 x 4 and 38 of 4 x 4 x 4 are five hops away.
  for (const auto& [machine, node] : {std::pair{"greenice", "22"}, {"extoll-tourmalet", "38"}}) {
    const ProgramResult r = boot(write_and_read(2), hard_times(machine, node));
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    EXPECT_THAT(r.out, HasSubstr("node0: the same")) << machine;
    EXPECT_THAT(r.err, HasSubstr("at 11 ms cut r0.p0")) << machine;
  }
}

TEST_F(BootAccelerators, SixtyFourMebibytesComeBackFromEverywhere) {
  if (!getenv("WEFT_LONG_TESTS")) GTEST_SKIP() << "takes minutes; set WEFT_LONG_TESTS=1 to run it";
  for (const auto& [machine, node] : {std::pair{"greenice", "22"}, {"extoll-tourmalet", "38"}}) {
    for (const std::string& place : {std::string("0"), std::string(node)}) {
      const ProgramResult r = boot(
          write_and_read(64), {machine, "-n", "1", "--memory", "512MiB", "--set", "node.device.ssd.kind=nvme",
                               "--set", "node.device.ssd.nodes=[" + place + "]", "--accelerators", "nvme=1"});
      EXPECT_THAT(r.out, HasSubstr("node0: the same")) << machine << ' ' << place << r.err;
    }
    std::vector<std::string> options = hard_times(machine, node);
    options.insert(options.end(), {"--memory", "512MiB"});
    const ProgramResult r = boot(write_and_read(64), options);
    EXPECT_THAT(r.out, HasSubstr("node0: the same")) << machine << r.err;
    EXPECT_THAT(r.err, HasSubstr("cut r0.p0")) << machine;
  }
}

TEST_F(BootAccelerators, AnotherCommandAsksForThem) {
  const std::string runtime = folder.file("run");
  std::filesystem::create_directory(runtime);
  std::filesystem::permissions(runtime, std::filesystem::perms::owner_all);
  const std::string job = script(std::string(kWaitFor) + "appears; echo found; vanishes; echo gone");
  const std::string weft = std::string(WEFT_PROGRAM), out = folder.file("out.txt");
  // The job goes on until a disk has come and gone.
  const std::string command =
      "export XDG_RUNTIME_DIR=" + runtime + "; " + weft +
      " boot greenice -n 1 --engine ideal --quiet --set node.device.ssd.kind=nvme --set "
      "'node.device.ssd.nodes=[22, 23]' -- " +
      job + " >" + out + " 2>&1 & job=$!; export XDG_RUNTIME_DIR=" + runtime + "; n=0; until " + weft +
      " accelerators list >" + folder.file("list") +
      " 2>/dev/null; do sleep 0.1; n=$((n+1)); [ $n = 100 ] && break; done\n" + weft +
      " accelerators assign nvme.1 node0 && " + weft + " accelerators list && ! " + weft +
      " accelerators assign nvme.1 node0; " + weft + " accelerators release nvme.7; echo code $?; " + weft +
      " accelerators release nvme.1; wait $job; echo ended $?";
  FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  std::string text;
  char room[4096];
  while (pipe && std::fgets(room, sizeof room, pipe)) text += room;
  if (pipe) pclose(pipe);
  EXPECT_THAT(read_file(folder.file("list")), HasSubstr("nvme.0       node 22     free"));
  EXPECT_THAT(text, HasSubstr("node0 has nvme.1\n"));
  EXPECT_THAT(text, HasSubstr("nvme.1       node 23     node0"));
  EXPECT_THAT(text, HasSubstr("weft: node0 has nvme.1"));
  EXPECT_THAT(text, HasSubstr("there is no accelerator 'nvme.7'"));
  EXPECT_THAT(text, HasSubstr("code 2"));
  EXPECT_THAT(text, HasSubstr("nvme.1 is free"));
  EXPECT_THAT(text, HasSubstr("ended 0")) << read_file(out);
  EXPECT_THAT(read_file(out), HasSubstr("node0: found\nnode0: gone"));
}

}  // namespace
}  // namespace weft::test
