// Linux nodes that go wrong: each is named with the last lines of its console, and takes nobody along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "boot_fixture.hpp"
#include "json.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class BootFailures : public Boot {
 protected:
  static std::vector<std::string> nodes(unsigned count, std::vector<std::string> more = {}) {
    std::vector<std::string> out{"torus",    "--set", "topology.dims=[2,2]", "-n", std::to_string(count),
                                 "--engine", "ideal"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
};

TEST_F(BootFailures, ANodeThatComputesForeverIsNamedAndTheOthersEnd) {
  ProgramResult r = boot("echo here I am; if [ $NODE = 1 ]; then while :; do :; done; fi; sleep 1; echo done",
                         nodes(3, {"--patience", "2"}));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("node1: it has computed for "));
  EXPECT_THAT(r.err, HasSubstr("  here I am\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: done\n"));
  EXPECT_THAT(r.out, HasSubstr("node2: done\n"));
}

TEST_F(BootFailures, AKernelThatPanicsIsNamedAndTheOthersEnd) {
  // Root of the node overwrites what its first process is about to execute.
  ProgramResult r = boot(
      "if [ $NODE = 1 ]; then\n"
      "  first=$(sed -n 's/^\\([0-9a-f]*\\)-.* r-xp .*/\\1/p' /proc/1/maps | head -n 1)\n"
      "  dd if=/dev/zero of=/proc/1/mem bs=4096 seek=$((0x$first / 4096)) count=64 conv=notrunc 2>/dev/null\n"
      "else sleep 2; echo done; fi",
      nodes(2));
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("node1: its kernel panicked: Attempted to kill init!"));
  EXPECT_THAT(r.out, HasSubstr("node0: done\n"));
  EXPECT_THAT(r.err, Not(HasSubstr("node0: ")));
}

TEST_F(BootFailures, AForkBombEndsItsOwnNodeAlone) {
  ProgramResult r = boot(
      "if [ $NODE = 1 ]; then bomb() { bomb | bomb & }; bomb; sleep 1000; else sleep 2000; echo done; fi",
      nodes(2, {"--patience", "5", "--memory", "24MiB"}));
  EXPECT_THAT(r.out, HasSubstr("node0: done\n")) << r.err;
  EXPECT_THAT(r.err, HasSubstr("weft: node1: "));
}

/// The process of a node's kernel, by the folder that kernels of this test start in.
pid_t kernel_in(const std::string& folder, const std::string& node) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!fs::read_symlink(entry.path() / "cwd", failed).string().starts_with(folder)) continue;
    if (read_file(entry.path() / "cmdline").find("umid=" + node) != std::string::npos) return std::stoi(name);
  }
  return -1;
}

TEST_F(BootFailures, AKernelThatIsKilledIsNamedAndTheOthersEnd) {
  const std::string
      temporary = folder.file("tmp"),
      job = script("echo up; if [ $NODE = 1 ]; then while :; do sleep 0.001; done; fi; sleep 3; echo done");
  fs::create_directory(temporary);
  std::thread killer([&] {
    pid_t process = -1;
    // Any time will do, once it has begun.
    comes_true([&] { return (process = kernel_in(temporary, "node1")) > 0; });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (process > 0) kill(process, SIGKILL);
  });
  std::vector<std::string> words = nodes(2);
  words.insert(words.begin(), "boot");
  words.insert(words.end(), {"--", job});
  ProgramResult r = run_program(words, 300, [&] { setenv("TMPDIR", temporary.c_str(), 1); });
  killer.join();
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("node1: its kernel was ended by signal 9"));
  EXPECT_THAT(r.out, HasSubstr("node0: done\n"));
  EXPECT_TRUE(comes_true([&] { return kernel_in(temporary, "node1") < 0; })) << "nothing of it is left";
}

/// In place of a kernel: connects as one does, and says what no kernel says.
const char* kLiar = R"(#!/usr/bin/python3
import os, random, socket, struct, sys
words = dict(w.split('=', 1) for w in sys.argv[1:] if '=' in w)
clock = socket.socket(socket.AF_UNIX); clock.connect(words['time-travel'].split(':')[2])
device = socket.socket(socket.AF_UNIX); device.connect(words['virtio_uml.device'].split(':')[0])
print('I am a kernel', flush=True)
random.seed(int(os.environ['UML_RANDOM_SEED']))
clock.sendall(struct.pack('<IIQ', 1, 1, 0)); clock.recv(16)
try:
    for _ in range(2000):
        if random.random() < 0.5: clock.sendall(random.randbytes(random.randrange(64)))
        device.sendall(random.randbytes(random.randrange(1, 200)))
except OSError: pass
)";

TEST_F(BootFailures, AKernelThatTalksNonsenseIsNamed) {
  const std::string liar = folder.file("liar");
  std::ofstream(liar) << kLiar;
  fs::permissions(liar, fs::perms::owner_all);
  for (const char* seed : {"1", "2", "3"}) {
    ProgramResult r = boot("true", nodes(1, {"--kernel", liar, "--seed", seed}));
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr("weft: node0: ")) << r.err;
    EXPECT_THAT(r.err, HasSubstr("  I am a kernel\n"));
  }
}

TEST_F(BootFailures, TcpSendsAgainWhatWasLostWhileItsNodeWasCutOff) {
  const std::string out = folder.file("out");
  ProgramResult r = boot(
      "mkdir /run/web; cd /run/web\n"
      "if [ $NODE = 1 ]; then head -c 6000000 /dev/urandom >data; busybox httpd -p 80 -h /run/web\n"
      "  sha256sum <data; sleep 3\n"
      "else sleep 1; curl -sS --max-time 2 http://node1/data -o got; sha256sum <got; fi",
      {"torus", "--set", "topology.dims=[4]", "-n", "2", "--engine", "flit", "--fault",
       "at 1001ms cut r0.p0; at 1001ms cut r0.p1; at 1050ms restore r0.p0; at 1050ms restore r0.p1", "--out",
       out});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  expect_same_sum(r.out);
  EXPECT_GT(parse_json(read_file(out + "/result.json"))["nodes"][1]["tcp_sent_again"].get<int>(), 0);
}

TEST_F(BootFailures, TcpGoesOnWhenACableIsCutInTheMiddleOfATransfer) {
  const std::string out = folder.file("out");
  ProgramResult r = boot(
      "mkdir /run/web; cd /run/web\n"
      "if [ $NODE = 1 ]; then head -c 6000000 /dev/urandom >data; busybox httpd -p 80 -h /run/web\n"
      "  sha256sum <data; sleep 2\n"
      "else sleep 1; curl -sS http://node1/data -o got; sha256sum <got; fi",
      {"torus", "--set", "topology.dims=[4]", "-n", "2", "--engine", "flit", "--fault",
       "at 1001ms cut r0.p0; at 1002ms restore r0.p0", "--out", out});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  expect_same_sum(r.out);
  EXPECT_THAT(r.err, HasSubstr("new routes in every table"));
  const auto result = parse_json(read_file(out + "/result.json"));
  EXPECT_GT(result["nodes"][0]["end_ps"].get<std::int64_t>(), 1'002'000'000'000) << "it was over before";
  EXPECT_THAT(read_file(out + "/report.html"), HasSubstr("What broke"));
}

}  // namespace
}  // namespace weft::test
