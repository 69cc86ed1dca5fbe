// Programs as Debian ships them on Linux nodes: what needs a network finds one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "boot_fixture.hpp"
#include "json.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

class BootPrograms : public Boot {
 protected:
  static std::vector<std::string> two_nodes(std::vector<std::string> more = {}) {
    std::vector<std::string> out{"torus", "--set", "topology.dims=[2,2]", "-n", "2", "--engine", "ideal"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  /// A server of ssh on every node that lets root in by a key, and `ssh NODE COMMAND` for the job. Keys are
  /// the test's: made on the host, so that no node needs the time.
  std::string with_ssh(const std::string& body) {
    const std::string key = folder.file("key"), host = folder.file("hostkey");
    for (const std::string& file : {key, host})
      EXPECT_EQ(std::system(("dropbearkey -t ed25519 -f " + file + " >" + file + ".out 2>&1").c_str()), 0);
    EXPECT_EQ(std::system(("grep '^ssh-' " + key + ".out >" + key + ".pub").c_str()), 0);
    return "home=~root; rm -f $home/.bashrc $home/.profile; mkdir -p $home/.ssh; chmod 700 $home $home/.ssh\n"
           "cp " +
           key +
           ".pub $home/.ssh/authorized_keys\n"
           "chmod 600 $home/.ssh/authorized_keys; chown -R root:root $home/.ssh\n"
           "mkdir -p /usr/local/bin\n"
           "printf '#!/bin/sh\\nexec dbclient -y -y -i " +
           key +
           " \"$@\" 2>/dev/null\\n' >/usr/local/bin/ssh\n"
           "chmod +x /usr/local/bin/ssh; export PATH=/usr/local/bin:$PATH\n"
           "dropbear -r " +
           host + " -P /run/dropbear.pid 2>/run/dropbear.log\n" + body;
  }
};

/// What the receiver of an iperf3 run saw.
struct Received {
  double bytes = 0, seconds = 0;
  double rate() const { return seconds > 0 ? 8 * bytes / seconds : 0; }
};
Received iperf_received(const std::string& out) {
  const std::size_t from = out.find("node0: {");
  if (from == std::string::npos) return {};
  std::string text;
  std::istringstream lines(out.substr(from));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("node0: ")) text += line.substr(7) + "\n";
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const nlohmann::json::json_pointer sum("/end/sum_received");
  if (json.is_discarded() || !json.contains(sum)) return {};
  return {json[sum]["bytes"].get<double>(), json[sum]["seconds"].get<double>()};
}

std::string iperf(const std::string& bytes) {
  return "if [ $NODE = 1 ]; then iperf3 -s -1 >/dev/null; else sleep 1; iperf3 -c node1 -J -n " + bytes +
         "; fi";
}

constexpr double kTourmalet = 12 * 8.4e9 * 0.8;  // twelve lanes, eight bits in ten

TEST_F(BootPrograms, Iperf3ReachesTheLinksRateAndFollowsIt) {
  auto measure = [&](const std::string& setting) {
    ProgramResult r = boot(iperf("24M"), {"extoll-tourmalet", "-n", "2", "--engine", "ideal", "--memory",
                                          "128MiB", "--set", setting});
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    return iperf_received(r.out).rate();
  };
  EXPECT_GE(measure("cable.default.lane_rate=8.4Gbps"), 0.85 * kTourmalet);
  const double half = measure("cable.default.lane_rate=4.2Gbps");
  EXPECT_GE(half, 0.85 * kTourmalet / 2);
  EXPECT_LE(half, kTourmalet / 2);
  // A processor that goes over the bytes more slowly than the link brings them.
  const double slow = measure("node.device.eth0.receive_rate=20Gbps");
  EXPECT_GE(slow, 0.8 * 20e9);
  EXPECT_LE(slow, 20e9);
  // At a tenth of the clock a frame costs ten times 300 ns, and its bytes come on top.
  EXPECT_LE(measure("processor.clock=260MHz"), 8 * 9000 / 3e-6);
}

TEST_F(BootPrograms, Iperf3ReachesTheLinksRateOnTheFlitEngineOnceItHasStarted) {
  Received received[2];
  for (int i : {0, 1}) {
    ProgramResult r =
        boot(iperf(i == 0 ? "4M" : "8M"), {"extoll-tourmalet", "-n", "2", "--memory", "128MiB"});
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    received[i] = iperf_received(r.out);
  }
  // What the longer one takes more: TCP's slow start is in both.
  const Received more{received[1].bytes - received[0].bytes, received[1].seconds - received[0].seconds};
  EXPECT_GE(more.rate(), 0.85 * kTourmalet);
  EXPECT_LE(more.rate(), kTourmalet);
}

TEST_F(BootPrograms, CurlFetchesWhatHttpdServes) {
  ProgramResult r = boot(
      "mkdir /run/web; cd /run/web\n"
      "if [ $NODE = 1 ]; then head -c 2000000 /dev/urandom >data; busybox httpd -p 80 -h /run/web\n"
      "  sha256sum data; sleep 30\n"
      "else sleep 5; curl -sS http://node1/data -o got; sha256sum got; curl -s -o /dev/null -w "
      "'%{http_code}\\n' "
      "http://node1/none; fi",
      two_nodes());
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  expect_same_sum(r.out);
  EXPECT_THAT(r.out, HasSubstr("node0: 404\n"));
}

TEST_F(BootPrograms, SshRunsACommandAndRsyncCopiesAFolder) {
  ProgramResult r =
      boot(with_ssh("mkdir -p /run/from/sub\n"
                    "if [ $NODE = 0 ]; then sleep 2\n"
                    "  head -c 300000 /dev/urandom >/run/from/a; echo small >/run/from/sub/b\n"
                    "  ssh root@node1 'echo I am $(hostname); exit 3'; echo code $?\n"
                    "  rsync -a -e ssh /run/from/ root@node1:/run/to/ && ssh root@node1 'cd /run/to && "
                    "sha256sum a sub/b' "
                    ">/run/there\n"
                    "  (cd /run/from && sha256sum a sub/b) | cmp - /run/there && echo the same\n"
                    "else sleep 60; fi"),
           two_nodes());
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: I am node1\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: code 3\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: the same\n"));
}

TEST_F(BootPrograms, NodesMountAFileSystemOfAnother) {
  ProgramResult r = boot(
      "mkdir -p /run/export /run/mounted\n"
      "if [ $NODE = 1 ]; then head -c 500000 /dev/urandom >/run/export/data; sha256sum </run/export/data\n"
      "  diod -f -n -l 0.0.0.0:564 -e /run/export -L /run/diod.log & sleep 20; cat /run/export/back\n"
      "else sleep 3\n"
      "  mount -t 9p -o trans=tcp,port=564,version=9p2000.L,aname=/run/export,uname=root,access=any 10.0.0.2 "
      "/run/mounted\n"
      "  sha256sum </run/mounted/data; echo written by node0 >/run/mounted/back; umount /run/mounted; fi",
      two_nodes());
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  expect_same_sum(r.out);
  EXPECT_THAT(r.out, HasSubstr("node1: written by node0\n"));
}

TEST_F(BootPrograms, MpirunStartsRanksOverSshThatTalkOverTcp) {
  ProgramResult r = boot(
      with_ssh("if [ $NODE = 0 ]; then sleep 2; for n in 0 1 2 3; do echo node$n slots=1; done >/run/hosts\n"
               "  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --hostfile "
               "/run/hosts -np 4 "
               "--mca plm_rsh_agent ssh --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca "
               "oob_tcp_if_include eth0 "
               "--mca pml ob1 " WEFT_BUILD "/mpi-programs/allreduce 512\n"
               "else sleep 300; fi"),
      {"torus", "--set", "topology.dims=[2,2]", "-n", "4", "--engine", "ideal", "--memory", "256MiB"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0:        512 "));
}

}  // namespace
}  // namespace weft::test
