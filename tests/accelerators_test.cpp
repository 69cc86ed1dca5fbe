// Devices on nodes of their own, as people use them: trees in descriptions and what is wrong with them, and
// Linux nodes whose kernel drives a disk that is elsewhere.
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace weft::test
