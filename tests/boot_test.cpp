// Linux nodes: real kernels, programs as Debian ships them, in virtual time on a simulated network.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

#include "boot_fixture.hpp"
#include "json.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

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

// Values that make every part of a frame's time a round number, as in src/guest/ethernet_test.cpp.
const char* kPlainMachine = R"([topology]
kind = "torus"
dims = [2, 2]
[routing]
kind = "dimension-order"
[router]
channels = 4
buffer_flits = 64
latency = "60ns"
[cable.default]
lanes = 4
lane_rate = "6.25Gbps"
coding = "8b10b"
length = "2m"
delay = "80ns"
[nic]
send_latency = "100ns"
receive_latency = "200ns"
translation = "none"
header = "32B"
payload = "256B"
descriptor = "64B"
[host]
bus = "axi-128"
write_latency = "150ns"
read_latency = "300ns"
interrupt = "2us"
[node.device.eth0]
kind = "ethernet"
send_cost = "400ns"
receive_cost = "700ns"
send_rate = "8Gbps"
receive_rate = "4Gbps"
interrupt_cost = "3us"
)";

TEST_F(Boot, PrintsWhatTheReadmeShows) {
  const ProgramResult r =
      run_program({"boot", "extoll-tourmalet", "-n", "4", "--", WEFT_ROOT "/examples/boot_ping.sh"});
  ASSERT_EQ(r.code, 0) << r.err;
  // Which 6.1 it is depends on the day on which the kernel's source was installed.
  auto any_version = [](const std::string& text) {
    return std::regex_replace(text, std::regex("Linux 6\\.1\\.[0-9]+"), "Linux 6.1");
  };
  std::istringstream readme(any_version(read_file(WEFT_ROOT "/README.md")));
  unsigned shown = 0;
  for (std::string line; std::getline(readme, line);)
    if (line.starts_with("node")) {
      EXPECT_THAT(any_version(r.out), HasSubstr(line + "\n"));
      ++shown;
    }
  EXPECT_GE(shown, 4u);
}

TEST_F(Boot, PingIsTheClosedFormToTheNanosecondAndTwoRunsAreTheSame) {
  const std::string machine = folder.file("plain.toml");
  std::ofstream(machine) << kPlainMachine;
  std::string out[2], capture[2], result[2];
  for (int run : {0, 1}) {
    const std::string to = folder.file("out" + std::to_string(run));
    ProgramResult r =
        boot("sleep 1; if [ $NODE = 0 ]; then ping -c 3 -s 56 node1 | tail -3; else sleep 10; fi",
             {machine, "-n", "2", "--engine", "ideal", "--out", to, "--capture", "0"});
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    out[run] = r.out;
    capture[run] = read_file(to + "/node0.pcapng");
    result[run] = read_file(to + "/result.json");
  }
  EXPECT_THAT(out[0], HasSubstr("node0: 3 packets transmitted, 3 received, 0% packet loss"));
  EXPECT_EQ(out[0], out[1]);
  EXPECT_TRUE(capture[0] == capture[1]);
  EXPECT_EQ(result[0], result[1]);

  // Kernel with a nanosecond for each byte, descriptor to the chip, data from memory, chip, network, chip,
  // data to memory, event, interrupt, kernel with two for each byte. A node hears of it at the next whole
  // one.
  const std::int64_t bytes = 14 + 20 + 8 + 56;
  auto bus = [](std::int64_t n) { return n * 8 * 1'000'000'000'000 / 19'200'000'000; };
  const std::int64_t hop = 60'000 + 90'000 + 60'000, wire = (bytes + 32) * 8 * 50;
  const std::int64_t one_way = 400'000 + bytes * 1000 + bus(64) + 150'000 + bus(bytes) + 300'000 + 100'000 +
                               hop + wire + 200'000 + bus(bytes) + bus(16) + 150'000 + 2'000'000 + 3'000'000 +
                               700'000 + bytes * 2000;
  const std::int64_t there_and_back = 2 * ((one_way + 999) / 1000);
  unsigned answered = 0;
  std::uint64_t asked = 0;
  for (const Frame& frame : read_capture(folder.file("out0/node0.pcapng"))) {
    if (frame.bytes.size() != static_cast<std::size_t>(bytes) || frame.bytes[23] != 1) continue;
    if (frame.bytes[34] == 8) asked = frame.at;
    if (frame.bytes[34] != 0) continue;
    // The first waits for the answer of ARP at the other side, which asks for an address itself.
    if (answered++) {
      EXPECT_EQ(static_cast<std::int64_t>(frame.at - asked), there_and_back);
    }
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

std::vector<std::string> lines_with(const std::string& text, const std::string& begin) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begin)) out.push_back(line);
  return out;
}

TEST_F(Boot, LookAheadChangesNoTime) {
  // A node that asks for every step of its clock, and one that runs on until something can reach it.
  std::string out[2], capture[2];
  for (int run : {0, 1}) {
    const std::string to = folder.file("out" + std::to_string(run));
    std::vector<std::string> options{"torus", "--set", "topology.dims=[2,2]", "-n", "3",
                                     "--out", to,      "--capture",           "0",  "--engine",
                                     "flit"};
    if (run == 1) options.push_back("--no-look-ahead");
    ProgramResult r =
        boot("sleep 1; ping -c 2 -i 0.01 node$(((NODE + 1) % NODES)); date +%N; sleep 2", options);
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    out[run] = r.out;
    capture[run] = read_file(to + "/node0.pcapng");
  }
  // Lines of different nodes may change places where their times are closer than the look-ahead.
  for (const char* node : {"node0: ", "node1: ", "node2: "})
    EXPECT_EQ(lines_with(out[0], node), lines_with(out[1], node));
  EXPECT_TRUE(capture[0] == capture[1]);
}

TEST_F(Boot, AnOrdinaryUserBootsNodes) {
  // Everything lies where anybody may read it: a test may run from a folder that only root sees.
  const std::string job =
      script("echo I am $(hostname), user $(id -u) here; sleep 1; ping -q -c 1 node0 | tail -n 2; sleep 2");
  const std::string machine = folder.file("plain.toml");
  std::ofstream(machine) << kPlainMachine;
  namespace fs = std::filesystem;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{WEFT_PROGRAM, "weft"},
                                 {WEFT_BUILD "/weft-init", "weft-init"},
                                 {kernel, "linux"}}) {
    fs::copy_file(from, folder.file(to));
    fs::permissions(folder.file(to), fs::perms(0755));
  }
  fs::permissions(job, fs::perms(0755));
  fs::permissions(folder.file(""), fs::perms(0755));
  const std::string command =
      "cd / && TMPDIR=/tmp HOME=/ " +
      std::string(geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "") +
      folder.file("weft") + " boot " + machine + " -n 2 --engine ideal --kernel " + folder.file("linux") +
      " -- " + job + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char room[4096];
  while (pipe && std::fgets(room, sizeof room, pipe)) text += room;
  ASSERT_TRUE(pipe && pclose(pipe) == 0) << text;
  EXPECT_THAT(text, HasSubstr("node1: I am node1, user 0 here\n"));
  EXPECT_THAT(text, HasSubstr("node1: 1 packets transmitted, 1 received, 0% packet loss"));
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

TEST_F(Boot, NodesBootOverTheNetwork) {
  std::string out[2];
  for (int run : {0, 1}) {
    ProgramResult r = boot(
        "echo $(hostname) has $(mount | grep -c ' on / type tmpfs') root of its own; [ -e /usr/lib ] || echo "
        "and "
        "nothing of the host\nping -q -c 1 node0 | grep -c ' 0% packet loss'; exit $NODE",
        {"torus", "--set", "topology.dims=[2,2]", "-n", "3", "--netboot", "--engine", "ideal", "--out",
         folder.file("out"), "--capture", "1"});
    EXPECT_EQ(r.code, 2) << r.err << r.out;
    out[run] = r.out;
  }
  EXPECT_EQ(out[0], out[1]);
  for (const char* line :
       {"node1: netboot: 10.0.0.2 by DHCP, root from 10.0.0.1\n", "node2: node2 has 1 root of its own\n",
        "node2: and nothing of the host\n", "node1: 1\n"})
    EXPECT_THAT(out[0], HasSubstr(line));
  // All of it came over the wire: questions to all, and a root with busybox in it.
  std::size_t questions = 0, bytes = 0;
  for (const Frame& frame : read_capture(folder.file("out/node1.pcapng"))) {
    bytes += frame.bytes.size();
    questions += frame.bytes.size() > 280 && frame.bytes[23] == 17 && frame.bytes[37] == 67;
  }
  const std::string page = read_file(folder.file("out/report.html"));
  for (const char* part : {"Boot and traffic", "Who sends to whom", "node1.pcapng", "--netboot"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_GE(questions, 2u);
  EXPECT_GT(bytes, 1'000'000u);
}

TEST_F(Boot, ATerminalIsTheConsoleOfANode) {
  // A terminal of our own: what is typed there, and what comes back.
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  const std::string name = ptsname(master);
  winsize size{31, 97, 0, 0};
  ioctl(master, TIOCSWINSZ, &size);
  std::string shown;
  std::thread user([&] {
    auto type = [&](const char* text) { EXPECT_GT(write(master, text, std::strlen(text)), 0); };
    // Each line once the prompt before it is there.
    const char* lines[] = {"stty size; hostname\r", "ping -q -c 1 node1 | grep -c ' 0% packet loss'\r",
                           "sleep 100 & kill $!; exit 7\r"};
    std::size_t typed = 0, prompts = 0;
    char room[4096];
    for (ssize_t got; (got = read(master, room, sizeof room)) > 0;) {
      shown.append(room, static_cast<std::size_t>(got));
      std::size_t seen = 0;
      for (std::size_t at = 0; (at = shown.find("node0# ", at)) != std::string::npos; ++at) ++seen;
      if (seen > prompts && typed < 3) type(lines[typed++]);
      prompts = seen;
    }
  });
  ProgramResult r = run_program(
      {"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "2", "--engine", "ideal", "--shell", "0"}, 120,
      [&] {
        int terminal = open(name.c_str(), O_RDWR);
        dup2(terminal, 0);
        dup2(terminal, 1);
        close(terminal);
        close(master);
      });
  // The last end of it is closed now: the user sees that.
  user.join();
  close(master);
  EXPECT_EQ(r.code, 7) << r.err << shown;
  EXPECT_THAT(shown, HasSubstr("31 97"));
  EXPECT_THAT(shown, HasSubstr("node0\r\n"));
  EXPECT_THAT(shown, HasSubstr("1\r\n"));
}

TEST_F(Boot, ATraceHasTheFramesAndWhenNodesBoot) {
  const std::string trace = folder.file("trace.json");
  ProgramResult r =
      boot("sleep 1; [ $NODE = 0 ] && ping -q -c 1 node1; sleep 1",
           {"torus", "--set", "topology.dims=[2,2]", "-n", "2", "--engine", "ideal", "--trace", trace});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const auto json = nlohmann::json::parse(read_file(trace), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  unsigned requests = 0, boots = 0;
  for (const auto& event : json["traceEvents"]) {
    const std::string name = event["name"];
    requests += name == "ICMP echo request 10.0.0.1 > 10.0.0.2";
    boots += name == "boots";
  }
  EXPECT_EQ(requests, 2u);  // at the one who sends it, and at the other
  EXPECT_EQ(boots, 2u);
}

TEST(BootErrors, AreToldAllAtOnce) {
  ProgramResult r = run_program({"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "5", "--memory", "1B",
                                 "--capture", "9", "--shell", "x", "--image", "none", "--", "./none"});
  EXPECT_EQ(r.code, 2);
  for (const char* word : {"5 Linux nodes; ", "--memory", "./none: there is no such file", "--capture",
                           "--shell", "--image: needs --netboot"})
    EXPECT_THAT(r.err, HasSubstr(word));
  r = run_program(
      {"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "2", "--place", "1,1", "--", "true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("named twice"));
}

}  // namespace
}  // namespace weft::test
