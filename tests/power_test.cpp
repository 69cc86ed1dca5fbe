// `weft power`, `weft show --rack` and `weft run --power` as a user runs them; and an IPMI client that is not
// ours on the controller's management port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PowerCommand, AnHourOfGreenice) {
  ProgramResult r = run_program({"power", "greenice", "--time", "1h", "--load", "1", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto result = parse_json(r.out);
  EXPECT_NEAR(result["pue"].get<double>(), 1.01, 0.01);
  EXPECT_LT(std::abs(result["energy_balance_error"].get<double>()), 1e-3);
  EXPECT_FALSE(result["shutdown"].get<bool>());
}

TEST(PowerCommand, APumpThatStopsEndsInAnOrderlyShutdownAndAPage) {
  ScratchFolder folder;
  ProgramResult r = run_program(
      {"power", "greenice", "--time", "1h", "--fault", "at 20min stop pump", "--out", folder.file("out")});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("stop pump"),
                           HasSubstr("shut down    after 20 min 0 s: flow 0.0 l/min is below 10.0")));
  EXPECT_THAT(read_file(folder.file("out/report.html")),
              AllOf(HasSubstr("Pressure of the tank"), HasSubstr("stop pump")));
  EXPECT_THAT(read_file(folder.file("out/samples.csv")), HasSubstr("seconds,processor_watts"));
}

TEST(PowerCommand, ErrorsAreToldAllAtOnce) {
  ProgramResult r = run_program({"power", "greenice", "--time", "soon", "--load", "3"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, AllOf(HasSubstr("--time"), HasSubstr("--load: 3 is outside 0 to 1")));
  r = run_program({"power", "greenice", "--fault", "at 1min stop pmup; at 2min leak much"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, AllOf(HasSubstr("did you mean 'stop pump'?"), HasSubstr("litres an hour")));
  r = run_program({"power", "torus"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("describes no power and cooling"));
}

TEST(ShowRack, DrawsTheTreeAndItsFigures) {
  ProgramResult r = run_program({"show", "greenice", "--rack"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("tank:"), HasSubstr("4 x backplane"), HasSubstr("8 x node"),
                    HasSubstr("32 nodes, 32.0 TFLOP/s, 10.40 kW of parts"), HasSubstr("2.67 TFLOP/s")));
  r = run_program({"show", "quong", "--rack", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_GT(parse_json(r.out)["tflops"].get<double>(), 60);
}

nlohmann::json run_on_greenice(std::vector<std::string> more) {
  std::vector<std::string> words{"run", "greenice", "-n", "8", "--json", "--compute", "fixed", "--power"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--", WEFT_BUILD "/examples/halo"});
  ProgramResult r = run_program(words);
  EXPECT_EQ(r.code, 0) << r.err;
  return r.code == 0 ? parse_json(r.out) : nlohmann::json();
}

TEST(RunPower, AJobsEnergyIsWhatItsNodesDrewWhileItRan) {
  auto power = run_on_greenice({})["power"];
  const double seconds = power["over_time"].back()["seconds"].get<double>() * 64 / 63;
  const double busy = power["busy_share"], nodes = power["nodes"];
  EXPECT_EQ(nodes, 8);
  const double accelerators = nodes * (100 + 200 * busy) * seconds;
  EXPECT_NEAR(power["parts_joules"]["accelerator"].get<double>(), accelerators, 0.001 * accelerators);
  EXPECT_GT(power["parts_joules"]["router"].get<double>(), nodes * 20 * seconds) << "and some for each bit";
  EXPECT_GT(power["conversion_joules"].get<double>(), 0);
  double over_time = 0;
  for (const auto& slice : power["over_time"]) over_time += slice["watts"].get<double>();
  const double watts = power["watts"], joules = power["joules"];
  EXPECT_NEAR(over_time / static_cast<double>(power["over_time"].size()), watts, 0.01 * watts)
      << "what the supplies lose is in both";
  EXPECT_NEAR(watts * seconds, joules, 0.001 * joules);
}

TEST(RunPower, ChipsThatHaveSlowedDownSlowTheRanks) {
  // Chips at 80 C that slow down from 60 C on.
  const std::vector<std::string> hot{"--set", "power.part.knc.throttle_c=60", "--power-fault",
                                     "at 1min load 100%"};
  auto cold = run_on_greenice({}), slow = run_on_greenice(hot);
  EXPECT_GT(slow["power"]["over_time"].back()["seconds"].get<double>(),
            1.05 * cold["power"]["over_time"].back()["seconds"].get<double>());
}

TEST(RunPower, AMachineWithoutPowerRunsNothing) {
  ProgramResult r =
      run_program({"run", "greenice", "-n", "2", "--power-fault", "at 5min stop pump", "--", "/bin/true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("the job cannot start: node 0 has no power: flow"));
}

/// Four ranks of a booster that compute for some seconds; its chips slow down from a temperature on.
nlohmann::json run_on_booster(const std::string& throttle, std::vector<std::string> more) {
  std::vector<std::string> words{"run",
                                 "deep-booster",
                                 "-n",
                                 "4",
                                 "--json",
                                 "--engine",
                                 "ideal",
                                 "--compute",
                                 "fixed",
                                 "--set",
                                 "host.compute_fixed=100ms",
                                 "--set",
                                 "power.part.knc.throttle_c=" + throttle};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--", WEFT_BUILD "/examples/halo"});
  ProgramResult r = run_program(words);
  EXPECT_EQ(r.code, 0) << r.err;
  return r.code == 0 ? parse_json(r.out) : nlohmann::json();
}

double length_of(const nlohmann::json& run) {
  return run["power"]["over_time"].back()["seconds"].get<double>() * 64 / 63;
}

TEST(RunPower, AJobWarmsItsOwnChipsUntilTheySlowItDown) {
  const std::vector<std::string> cold{"--power", "--power-after", "10min", "--power-load", "0"};
  auto full = run_on_booster("100", cold), slow = run_on_booster("60", cold);
  EXPECT_FALSE(full["power"]["heat"]["throttled"].get<bool>());
  auto heat = slow["power"]["heat"];
  ASSERT_TRUE(heat["throttled"].get<bool>());
  EXPECT_GT(heat["throttled_from_seconds"].get<double>(), 0.2) << "it warms up first";
  EXPECT_EQ(heat["throttled_nodes"], 4);
  EXPECT_LT(heat["least_speed"].get<double>(), 0.99);
  // All ranks compute alike and wait for each other: what one loses the run loses.
  const double later = length_of(slow) - length_of(full), lost = heat["most_lost_seconds"];
  EXPECT_GT(later, 0.05);
  EXPECT_NEAR(later, lost, 0.05 * lost + 0.02);
}

TEST(RunPower, TheSameJobIsSlowerOnAHotMachine) {
  auto cold = run_on_booster("60", {"--power", "--power-after", "10min", "--power-load", "0"});
  auto hot = run_on_booster("60", {"--power", "--power-after", "3h"});
  EXPECT_GT(length_of(hot), 1.05 * length_of(cold));
  EXPECT_EQ(hot["power"]["heat"]["throttled_from_seconds"], 0);
  EXPECT_GT(hot["power"]["heat"]["start_chip_c"].get<double>(),
            15 + cold["power"]["heat"]["start_chip_c"].get<double>());
}

TEST(RunPower, APumpThatSlowsDownDuringTheRunSlowsItFromThenOn) {
  auto run = run_on_booster("80", {"--power-fault", "at job+1s set pump 45%"});
  auto heat = run["power"]["heat"];
  ASSERT_TRUE(heat["throttled"].get<bool>());
  EXPECT_GT(heat["throttled_from_seconds"].get<double>(), 1);
  EXPECT_EQ(heat["log"][0]["text"], "set pump 45%");
  EXPECT_NEAR(heat["log"][0]["seconds"].get<double>(), 1, 1e-9);
}

TEST(RunPower, HeatDoesNotDependOnCoresOrThreads) {
  auto strip = [](nlohmann::json run) { return run["power"].dump(); };
  const std::vector<std::string> cold{"--power", "--power-after", "10min", "--power-load", "0", "--cores"};
  auto with = [&](const std::string& cores) {
    std::vector<std::string> words = cold;
    words.push_back(cores);
    return strip(run_on_booster("60", words));
  };
  EXPECT_EQ(with("one"), with("all"));
}

TEST(RunPower, WhatDoesNotThrottleTakesAsLongAsWithoutPower) {
  auto with = run_on_booster("100", {"--power"}), without = run_on_booster("100", {});
  // Not to the nanosecond: who stops at an interval's end sees what has arrived by then, and a core of an
  // accelerator takes some microseconds for a message.
  EXPECT_NEAR(with["virtual_time_ns"].get<double>(), without["virtual_time_ns"].get<double>(), 5000);
}

TEST(RunPower, AShutdownDuringTheRunEndsIt) {
  ProgramResult r = run_program({"run", "greenice", "-n", "2", "--engine", "ideal", "--compute", "fixed",
                                 "--set", "host.compute_fixed=500ms", "--power-fault", "at job+1s stop pump",
                                 "--", WEFT_BUILD "/examples/halo"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("node 0 has no power: flow 0.0 l/min is below 10.0"));
}

TEST(RunPower, ErrorsAreToldAllAtOnce) {
  ProgramResult r = run_program({"run", "greenice", "-n", "2", "--power-after", "soon", "--power-load", "7",
                                 "--power-step", "1h", "--", "/bin/true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err,
              AllOf(HasSubstr("--power-after: expected a time"), HasSubstr("--power-load: 7 is outside"),
                    HasSubstr("--power-step: expected a time from 1ms")));
  r = run_program({"run", "greenice", "-n", "2", "--power-fault",
                   "at jbo+2s stop pump; at job+1s hold reset 99; at job+1s stop pmup", "--", "/bin/true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, AllOf(HasSubstr("--power-fault:1:4"), HasSubstr("a node from 0 to 31"),
                           HasSubstr("did you mean 'stop pump'?")));
}

/// A port of 127.0.0.1 that nobody has just now.
unsigned free_port() {
  const int s = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(s, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(s, reinterpret_cast<sockaddr*>(&address), &size);
  close(s);
  return ntohs(address.sin_port);
}

std::string ipmitool(unsigned port, const std::string& words) {
  const std::string command = "timeout 20 ipmitool -I lanplus -C 3 -H 127.0.0.1 -p " + std::to_string(port) +
                              " -U admin -P weft " + words + " 2>&1";
  std::string out;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char buffer[4096];
    while (std::size_t n = fread(buffer, 1, sizeof(buffer), pipe)) out.append(buffer, n);
    pclose(pipe);
  }
  return out;
}

/// Asks until the answer has what is waited for, or for some minutes.
std::string ipmitool_until(unsigned port, const std::string& words, const std::string& wanted) {
  std::string out;
  for (int i = 0; i < 200; ++i) {
    out = ipmitool(port, words);
    if (out.find(wanted) != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return out;
}

/// `weft power greenice`, a minute of it each second, with controllers that ipmitool asks.
class PowerIpmi : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v ipmi_sim >/dev/null && command -v ipmitool >/dev/null") != 0)
      GTEST_SKIP() << "needs openipmi and ipmitool";
  }

  void start(const std::vector<std::string>& more) {
    std::vector<std::string> words{"weft", "power",  "greenice",           "--time", "10h", "--pace",
                                   "60",   "--ipmi", std::to_string(port_)};
    words.insert(words.end(), more.begin(), more.end());
    child_ = fork();
    if (child_ != 0) return;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(126);
    execv(WEFT_PROGRAM, argv.data());
    _exit(127);
  }

  void TearDown() override {
    if (child_ <= 0) return;
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }

  const unsigned port_ = free_port();

 private:
  pid_t child_ = -1;
};

TEST_F(PowerIpmi, IpmitoolReadsSensorsAndSwitchesPower) {
  start({});
  EXPECT_THAT(ipmitool_until(port_, "sensor", "flow"),
              AllOf(HasSubstr("flow"), HasSubstr("pressure"), HasSubstr("chips7"), HasSubstr("degrees C")));
  EXPECT_THAT(ipmitool_until(port_, "chassis power status", "is on"), HasSubstr("Chassis Power is on"));
  ipmitool(port_, "chassis power off");
  EXPECT_THAT(ipmitool_until(port_, "chassis power status", "is off"), HasSubstr("Chassis Power is off"));
  ipmitool(port_, "chassis power on");
  EXPECT_THAT(ipmitool_until(port_, "chassis power status", "is on"), HasSubstr("Chassis Power is on"));
}

TEST_F(PowerIpmi, IpmitoolReadsEvents) {
  start({"--fault", "at 5min stop pump"});  // five seconds from here
  EXPECT_THAT(ipmitool_until(port_, "sel list", "Power Unit"), HasSubstr("Power Unit"));
}

}  // namespace
}  // namespace weft::test
