// Ranks beside Linux nodes: one network, one time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "boot_fixture.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

class BootRanks : public Boot {
 protected:
  /// A line of four nodes: kernels at its ends, ranks between them. What kernels send crosses the ranks'
  /// cable.
  ProgramResult together(const std::string& job, const std::string& program, const std::string& out = "") {
    std::vector<std::string> options{
        "mesh",    "--set", "topology.dims=[4]", "-n",  "2",         "--place", "0,3", "--memory", "128MiB",
        "--ranks", "2",     "--ranks-place",     "1,2", "--program", program};
    if (!out.empty()) options.insert(options.end(), {"--out", folder.file(out)});
    return boot(job, options);
  }
  std::string program(const std::string& name, const std::string& body) {
    const std::string path = folder.file(name);
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  /// Nanoseconds that the pair of ranks prints behind its size.
  static double latency(const std::string& out) {
    const std::size_t at = out.find("[0] 65536 ");
    return at == std::string::npos ? 0 : std::stod(out.substr(at + 10));
  }
};

const std::string kPairs = WEFT_BUILD "/validation/pairs latency 10 65536";
const char* kPing =
    "if [ $NODE = 0 ]; then sleep 1; ping -q -c 2 node1 | grep -c ' 0% packet loss'; else sleep 5; fi";

TEST_F(BootRanks, LiveInOneTimeAndTwoRunsAreTheSame) {
  std::string out[2], result[2];
  for (int run : {0, 1}) {
    const std::string name = "out" + std::to_string(run);
    ProgramResult r = together(kPing, kPairs, name);
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    EXPECT_THAT(r.err, HasSubstr("2 Linux nodes and 2 ranks on mesh"));
    out[run] = r.out;
    result[run] = read_file(folder.file(name + "/result.json"));
  }
  EXPECT_THAT(out[0], HasSubstr("node0: 1\n"));
  EXPECT_EQ(out[0], out[1]);
  EXPECT_THAT(result[0], HasSubstr("\"ranks\""));
  // The command names the folder's run, not the folder.
  EXPECT_EQ(result[0], result[1]);
  EXPECT_THAT(read_file(folder.file("out0/report.html")), HasSubstr("Ranks beside the nodes"));
  // Ranks that meet no frame take as long as without nodes.
  ProgramResult alone =
      run_program({"run", "mesh", "--set", "topology.dims=[4]", "-n", "2", "--place", "1,2", "--label", "--",
                   WEFT_BUILD "/validation/pairs", "latency", "10", "65536"});
  EXPECT_GT(latency(alone.out), 0) << alone.out << alone.err;
  EXPECT_EQ(latency(out[0]), latency(alone.out));
}

TEST_F(BootRanks, WaitForACableThatNodesUse) {
  const std::string late = program("late.sh", "sleep 1.008; exec " + kPairs);
  auto measure = [&](const std::string& job) {
    ProgramResult r =
        boot(job, {"mesh", "--set", "topology.dims=[4]", "-n", "2", "--place", "0,3", "--memory", "128MiB",
                   "--ranks", "2", "--ranks-place", "1,2", "--mpi", "yes", "--program", late});
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    return latency(r.out);
  };
  const double quiet = measure("sleep 2");
  const double busy = measure(
      "if [ $NODE = 1 ]; then iperf3 -s -1 >/dev/null; else sleep 1; iperf3 -c node1 -n 32M >/dev/null; fi");
  EXPECT_GT(quiet, 0);
  EXPECT_GT(busy, 1.3 * quiet);
}

TEST_F(BootRanks, ADeathOnEitherSideIsNamed) {
  ProgramResult r =
      together("sleep 5", program("dies.sh", "[ $WEFT_RANK = 1 ] || sleep 1; sleep 0.5; kill -9 $$"));
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("rank 1 on node 2 was ended by signal 9"));
  // A node that panics is named at the end; the other goes on, and so do the ranks.
  r = together(
      "if [ $NODE = 1 ]; then\n"
      "  first=$(sed -n 's/^\\([0-9a-f]*\\)-.* r-xp .*/\\1/p' /proc/1/maps | head -n 1)\n"
      "  dd if=/dev/zero of=/proc/1/mem bs=4096 seek=$((0x$first / 4096)) count=64 conv=notrunc 2>/dev/null\n"
      "else sleep 1; echo done; fi",
      program("goes_on.sh", "sleep 2; echo still here"));
  EXPECT_NE(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("node1: its kernel panicked: Attempted to kill init!"));
  EXPECT_THAT(r.out, HasSubstr("node0: done\n"));
  EXPECT_THAT(r.out, HasSubstr("[1] still here\n"));
}

TEST(BootRanksErrors, AreToldAllAtOnce) {
  const std::vector<std::string> machine{"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "2"};
  auto boot = [&](std::vector<std::string> more) {
    std::vector<std::string> words = machine;
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "true"});
    ProgramResult r = run_program(words);
    EXPECT_EQ(r.code, 2) << r.err;
    return r.err;
  };
  const std::string err = boot({"--ranks", "3", "--shell", "0"});
  for (const char* word :
       {"--ranks: needs --program", "3 ranks at 1 per node need 3 nodes beside 2 Linux nodes",
        "--shell: waits for its user"})
    EXPECT_THAT(err, HasSubstr(word));
  EXPECT_THAT(boot({"--program", "true"}), HasSubstr("--program: needs --ranks"));
  EXPECT_THAT(boot({"--ranks", "1", "--program", "true", "--ranks-place", "1"}),
              HasSubstr("node 1 of the machine runs Linux"));
  EXPECT_THAT(boot({"--ranks", "1", "--program", "mpirun 'true"}), HasSubstr("a quote has no end"));
  EXPECT_THAT(boot({"--ranks", "1", "--program", "mpirun true"}), HasSubstr("`weft boot` is the launcher"));
}

}  // namespace
}  // namespace weft::test
