// Accelerators that run Linux themselves: nodes of their own, behind their link and at the pace of their
// cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "boot_fixture.hpp"
#include "json.hpp"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kTick = 1.1;  // what ping tells, in microseconds, and a bit
constexpr const char* kAttached = WEFT_ROOT "/examples/attached.toml";

class BootNative : public Boot {
 protected:
  /// Microseconds of a ping from the server to the first accelerator and back, the third of three.
  double ping(const std::vector<std::string>& settings) {
    std::vector<std::string> options{kAttached, "-n", "2", "--engine", "ideal", "--quiet"};
    for (const std::string& setting : settings) options.insert(options.end(), {"--set", setting});
    ProgramResult r = boot(
        "if [ $NODE = 0 ]; then sleep 1; busybox ping -c 3 node1 | grep seq=2; else sleep 5; fi", options);
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    const std::size_t at = r.out.find("time=");
    EXPECT_NE(at, std::string::npos) << r.out;
    return at == std::string::npos ? 0 : std::atof(r.out.c_str() + at + 5) * 1e3;
  }
};

TEST_F(BootNative, AUserOfAServerLogsInToThemAndRunsAnMpiProgramThere) {
  const std::string log = folder.file("log");
  ASSERT_EQ(std::system((WEFT_ROOT "/examples/log_in.sh >" + log + " 2>&1").c_str()), 0) << read_file(log);
  EXPECT_THAT(read_file(log), AllOf(HasSubstr("node0: knc0 is up, a user of node0 is logged in to node1\n"),
                                    HasSubstr("node0: knc1 is up, a user of node0 is logged in to node2\n"),
                                    HasSubstr("node0: rank 0 of 2 on node1: 1 so far\n"),
                                    HasSubstr("node0: rank 1 of 2 on node2: 3 so far\n"),
                                    HasSubstr("3 Linux nodes, 2 of accelerators, on attached")));
}

TEST_F(BootNative, FramesCrossTheirLink) {
  // A ping is written into the accelerator's memory, and its answer read from there.
  const double plain = ping({});
  // So many requests are open that the link stays as fast.
  EXPECT_NEAR(ping({"node.device.knc.peer_read_latency=100.7us", "node.device.knc.peer_reads=4096"}) - plain,
              100, kTick);
  EXPECT_NEAR(ping({"node.device.knc.peer_write_latency=50.4us"}) - plain, 100, kTick)
      << "a frame, and word of it";
  // Where a processor runs the node, its memory is elsewhere.
  const std::vector<std::string> processor{"node.device.knc.os=none", "processor.sockets=1"};
  std::vector<std::string> slow = processor;
  slow.push_back("node.device.knc.peer_read_latency=100.7us");
  EXPECT_NEAR(ping(slow), ping(processor), kTick);
}

TEST_F(BootNative, TheirKernelsWorkAtTheirCoresPace) {
  // An interrupt, a frame in and one out: 1.6 us at 2.5 GHz, and 98 bytes at 160 Gb/s twice.
  const double there = (1.6 + 2 * 98 * 8 / 160e3) * 2.5 / (1.053 * 0.31);
  EXPECT_NEAR(ping({}) - ping({"processor.work_per_cycle=0.62"}), there / 2, kTick);
}

TEST_F(BootNative, ServersAndAcceleratorsKnowWhatTheyAre) {
  ProgramResult r = boot("echo \"${ACCELERATOR:-a server} is $(hostname)\"; busybox grep -c knc /etc/hosts",
                         {kAttached, "-n", "3", "--engine", "ideal", "--place", "2,0,1", "--out",
                          folder.file("out"), "--quiet"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, AllOf(HasSubstr("node0: knc0 is node0\n"), HasSubstr("node1: a server is node1\n"),
                           HasSubstr("node2: knc1 is node2\n"), HasSubstr("node1: 2\n")));
  const auto nodes = parse_json(read_file(folder.file("out/result.json")))["nodes"];
  EXPECT_EQ(nodes[0]["accelerator"], "knc0");
  EXPECT_EQ(nodes[1]["accelerator"], "");
  EXPECT_EQ(nodes[2]["accelerator"], "knc1");
  EXPECT_EQ(nodes[2]["node"], 1);
}

TEST_F(BootNative, TheyGetTheirSystemOverTheNetwork) {
  ProgramResult r = boot("echo \"$ACCELERATOR has booted\"",
                         {kAttached, "-n", "3", "--engine", "ideal", "--netboot", "--quiet"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, AllOf(HasSubstr("node1: knc0 has booted"), HasSubstr("node2: knc1 has booted")));
  EXPECT_THAT(r.out, testing::Not(HasSubstr("node0: "))) << "it serves";
}

TEST_F(BootNative, MistakesAreToldTogether) {
  ProgramResult r =
      run_program({"boot", kAttached, "-n", "3", "--set", "processor.server.nodes=[0,2]", "--set",
                   "node.device.other.kind=compute", "--set", "node.device.other.nodes=[1]", "--set",
                   "node.device.other.os=linux", "--", "/bin/true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err,
              AllOf(HasSubstr("node.device.knc.os: node 2 has a processor beside it, processor.sockets = 2"),
                    HasSubstr("node.device.other.os: knc is on the same node and runs a system, too"),
                    HasSubstr("2 errors found")));
}

}  // namespace
}  // namespace weft::test
