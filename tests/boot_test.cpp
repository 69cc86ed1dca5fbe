// Linux nodes: real kernels, programs as Debian ships them, in virtual time on a simulated network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

/// A script that every node runs, in a folder of its own.
class Boot : public testing::Test {
 protected:
  /// The kernel is built where it is missing; where it cannot be, the tests fail and say why.
  static void SetUpTestSuite() {
    FILE* pipe = popen(WEFT_ROOT "/tools/build-linux 2>&1", "r");
    char room[4096];
    std::string text;
    while (pipe && std::fgets(room, sizeof room, pipe)) text += room;
    ASSERT_TRUE(pipe && pclose(pipe) == 0) << text;
  }

  std::string script(const std::string& body) {
    const std::string path = folder.file("job.sh");
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  ProgramResult boot(const std::string& body, std::vector<std::string> options) {
    options.insert(options.begin(), "boot");
    options.insert(options.end(), {"--", script(body)});
    return run_program(options);
  }

  ScratchFolder folder;
};

/// The packets of a capture: virtual nanoseconds and bytes.
struct Frame {
  std::uint64_t at;
  std::string bytes;
};
std::vector<Frame> read_capture(const std::string& path) {
  const std::string text = read_file(path);
  auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, text.data() + at, 4);
    return value;
  };
  std::vector<Frame> out;
  for (std::size_t at = 0; at + 12 <= text.size(); at += word(at + 4))
    if (word(at) == 6)
      out.push_back(
          {std::uint64_t{word(at + 12)} << 32 | word(at + 16), text.substr(at + 28, word(at + 20))});
  return out;
}

// Every part of a frame's time is a round number: see the closed form below.
const std::vector<std::string> kPlain{"boot",  "torus",
                                      "--set", "topology.dims=[2,2]",
                                      "--set", "nic.send_latency=100ns",
                                      "--set", "nic.receive_latency=200ns",
                                      "--set", "nic.translation=none",
                                      "--set", "nic.payload=256B",
                                      "--set", "nic.header=32B",
                                      "--set", "nic.descriptor=64B",
                                      "--set", "nic.memory_queues=0",
                                      "--set", "host.bus=axi-128",
                                      "--set", "host.write_latency=150ns",
                                      "--set", "host.read_latency=300ns",
                                      "--set", "host.interrupt=2us",
                                      "--set", "node.device.eth0.send_cost=400ns",
                                      "--set", "node.device.eth0.receive_cost=700ns"};

TEST_F(Boot, PingIsTheClosedFormToTheNanosecondAndTwoRunsAreTheSame) {
  const std::string job = script("if [ $NODE = 0 ]; then ping -c 3 -s 56 node1 | tail -3; else sleep 10; fi");
  std::string out[2], capture[2], result[2];
  for (int run : {0, 1}) {
    std::vector<std::string> words = kPlain;
    const std::string to = folder.file("out" + std::to_string(run));
    for (const std::string& more :
         {std::string("-n"), std::string("2"), std::string("--engine"), std::string("ideal"),
          std::string("--out"), to, std::string("--capture"), std::string("0"), std::string("--"), job})
      words.push_back(more);
    ProgramResult r = run_program(words);
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    out[run] = r.out;
    capture[run] = read_file(to + "/node0.pcapng");
    result[run] = read_file(to + "/result.json");
  }
  EXPECT_THAT(out[0], HasSubstr("node0: 3 packets transmitted, 3 received, 0% packet loss"));
  EXPECT_EQ(out[0], out[1]);
  EXPECT_TRUE(capture[0] == capture[1]);
  EXPECT_EQ(result[0], result[1]);

  // Driver, descriptor, data, chip, network, chip, data, event, interrupt, driver; there and back.
  const std::int64_t bytes = 14 + 20 + 8 + 56;
  auto bus = [](std::int64_t n) { return n * 8 * 1'000'000'000'000 / 19'200'000'000; };
  const nlohmann::json machine =
      nlohmann::json::parse(run_program({"show", "torus", "--set", "topology.dims=[2,2]", "--json"}).out);
  unsigned answered = 0;
  std::uint64_t asked = 0, first = 0;
  for (const Frame& frame : read_capture(folder.file("out0/node0.pcapng"))) {
    if (frame.bytes.size() != static_cast<std::size_t>(bytes) || frame.bytes[23] != 1) continue;
    if (frame.bytes[34] == 8) asked = frame.at;
    if (frame.bytes[34] != 0) continue;
    // What the network itself takes is the same each time; all else is known.
    const std::uint64_t took = frame.at - asked;
    if (!answered++) first = took;
    EXPECT_EQ(took, first);
    const std::int64_t ends = 400'000 + bus(64) + 150'000 + bus(bytes) + 300'000 + 100'000 + 200'000 +
                              bus(bytes) + bus(16) + 150'000 + 2'000'000 + 700'000;
    EXPECT_GT(static_cast<std::int64_t>(took) * 1000, 2 * ends);
    EXPECT_LT(static_cast<std::int64_t>(took) * 1000, 2 * (ends + 1'000'000));
  }
  EXPECT_EQ(answered, 3u);
}

TEST_F(Boot, JobsHaveTheirNodesNameAndTheHostsFilesAndWriteNoneOfThem) {
  const std::string file = folder.file("kept");
  std::ofstream(file) << "of the host\n";
  ProgramResult r = boot("cat " + file + "; echo of $(hostname) >" + file + "; cat " + file +
                             "; mount -t hostfs none /mnt -o / && echo no >/mnt" + file + "; cat " + file +
                             "; echo $NODE of $NODES; exit $((NODE + 3))",
                         {"torus", "--set", "topology.dims=[2,2]", "-n", "2", "--engine", "ideal"});
  EXPECT_EQ(r.code, 4) << r.err;
  EXPECT_THAT(r.out, HasSubstr("node0: of the host\n"));
  EXPECT_THAT(r.out, HasSubstr("node1: of node1\n"));
  EXPECT_THAT(r.out, HasSubstr("Read-only file system"));
  EXPECT_THAT(r.out, HasSubstr("node1: 1 of 2\n"));
  EXPECT_EQ(read_file(file), "of the host\n");
}

TEST_F(Boot, AnHourOfSleepTakesAMoment) {
  ProgramResult r = boot("date +%s; sleep 3600; date +%s",
                         {"torus", "--set", "topology.dims=[2,2]", "-n", "1", "--engine", "ideal"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("node0: 1767225600\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: 1767229200\n"));
}

TEST_F(Boot, AFileComesWholeOverTcp) {
  // Python's web server on one node, curl on the other; large frames, several buffers each.
  ProgramResult r = boot(
      "head -c 3000000 /dev/urandom >/run/data; cd /run\n"
      "if [ $NODE = 1 ]; then python3 -m http.server 80 >/dev/null 2>&1 & sleep 30\n"
      "else sleep 5; curl -s http://node1/data -o /run/got; wc -c </run/got; fi",
      {"torus", "--set", "topology.dims=[2,2]", "-n", "2", "--engine", "flit"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: 3000000\n"));
}

TEST_F(Boot, ANodeThatIsKilledIsNamedAndOthersEnd) {
  ProgramResult r = boot(
      "echo here; if [ $NODE = 1 ]; then echo c >/proc/sysrq-trigger; kill -9 1; sleep 2; exit 7; fi; sleep "
      "5; exit 0",
      {"torus", "--set", "topology.dims=[2,2]", "-n", "2", "--engine", "ideal"});
  EXPECT_EQ(r.code, 7) << r.err;  // neither of the two ends the first process or the kernel
  EXPECT_THAT(r.out, HasSubstr("node1: here"));
}

TEST(BootErrors, AreToldAllAtOnce) {
  ProgramResult r = run_program({"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "5", "--memory", "1B",
                                 "--capture", "9", "--", "./none"});
  EXPECT_EQ(r.code, 2);
  for (const char* word : {"5 Linux nodes; ", "--memory", "./none: there is no such file", "--capture"})
    EXPECT_THAT(r.err, HasSubstr(word));
  r = run_program(
      {"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "2", "--place", "1,1", "--", "true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("named twice"));
}

}  // namespace
}  // namespace weft::test
