// Hours of machines: steady states by hand, energy, steps, scenarios, and scenarios nobody thought of.
#include "power/operate/operation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.hpp"
#include "machine/description.hpp"

namespace weft::power::operate {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMinute = 60'000'000'000'000;

OperationResult operate(const std::string& machine, int minutes, const std::string& script = "",
                        double load = 1, double tolerance = 1e-6, std::vector<std::string> settings = {}) {
  const machine::Description d = machine::describe(machine, settings);
  OperationOptions options;
  options.duration = Time{minutes * kMinute};
  options.load = load;
  options.tolerance = tolerance;
  if (!script.empty()) options.events = read_script(script, Operation::names(*d.body));
  return Operation(*d.body, options).run();
}

TEST(Operation, GreeniceReachesTheSteadyStateThatOneCalculatesByHand) {
  const machine::Description d = machine::describe("greenice", {});
  OperationOptions options;
  Operation operation(*d.body, options);
  operation.advance(Time{40 * kMinute});
  const thermal::Accounts before = operation.result().energy;
  operation.advance(Time{60 * kMinute});
  const OperationResult end = operation.result();
  // 32 x (300 + 25) W, through converters of 99% and supplies at 1313 W of 1600 (between 94 and 91%).
  const double parts = 32 * 325, output = parts / 0.99, load = output / 8 / 1600;
  const double efficiency = 0.94 + (load - 0.5) / 0.5 * (0.91 - 0.94);
  const double equipment = output / efficiency + 5;
  EXPECT_NEAR((end.energy.equipment() - before.equipment()) / 1200, equipment, 0.001 * equipment);
  // All of it leaves: with the water, with its pump's 50 W, or through the walls.
  const double leaves =
      (end.energy.stream + end.energy.room + end.energy.lost - before.stream - before.room - before.lost) /
      1200;
  EXPECT_NEAR(leaves, equipment + 50, 0.005 * equipment);
  // Water: rise = heat / (flow x density x heat capacity).
  const double water = (end.energy.stream - before.stream) / 1200 - 50;
  EXPECT_NEAR(end.samples.back().outlet_c - 25, water / (25 / 60e3 * 1000 * 4184), 0.05);
  EXPECT_NEAR(end.highest_flux, 187'500, 100) << "300 W over 16 cm2";
  EXPECT_FALSE(end.shutdown);
}

TEST(Operation, ColdPlatesReachTheSteadyStateThatOneCalculatesByHand) {
  const OperationResult r = operate("deep-booster", 120);
  // A rack: 128 x (300 + 30) W, converters of 95% on the cards; supplies lose their heat to the room.
  const double heat = 128 * 330 / 0.95;
  const double rise = heat / (120 / 60e3 * (1000 - 0.53 * 10) * 4184 + 5);
  EXPECT_NEAR(r.samples.back().outlet_c, 35 + rise, 0.15);
  EXPECT_NEAR(r.samples.back().hottest_c, r.samples.back().outlet_c + 300 * (0.05 + 0.08), 0.1);
}

TEST(Operation, CoatingTakesTwentyKelvin) {
  EXPECT_NEAR(operate("greenice", 60, "", 1, 1e-6, {"power.part.knc.surface=bare"}).hottest_c, 100, 2);
  EXPECT_NEAR(operate("greenice", 60).hottest_c, 80, 2);
}

TEST(Operation, OneCoilIsNotEnoughAndTwoAre) {
  const OperationResult one = operate("greenice", 60, "", 1, 1e-6, {"cooling.coils=1"});
  EXPECT_GT(one.coolant_lost_litres, 1) << "what cannot condense leaves by the relief valve";
  EXPECT_TRUE(one.shutdown);
  const OperationResult two = operate("greenice", 60);
  EXPECT_LT(two.coolant_lost_litres, 0.05);
}

TEST(Operation, TheReliefValveLetsAirOutAndThenTheTankIsInBalance) {
  const OperationResult r = operate("greenice", 60);
  EXPECT_NEAR(r.highest_overpressure_mbar, 200, 15);
  EXPECT_GT(r.samples.back().vapour_share, 0.3);
  EXPECT_NEAR(r.samples.back().overpressure_mbar, r.samples[r.samples.size() * 3 / 4].overpressure_mbar, 1);
}

TEST(Operation, StepSizesDoNotMatter) {
  for (const char* script :
       {"", "at 10min stop pump", "at 8min wet coil 50%", "at 5min leak 60l/h", "at 8min fail phase 2",
        "at 8min hang controller", "at 8min stick sensor flow; at 9min stop pump"}) {
    const OperationResult coarse = operate("greenice", 30, script, 1, 1e-5),
                          fine = operate("greenice", 30, script, 1, 1e-8);
    EXPECT_NEAR(coarse.energy.total(), fine.energy.total(), 0.005 * fine.energy.total()) << script;
    EXPECT_NEAR(coarse.hottest_c, fine.hottest_c, 0.005 * fine.hottest_c) << script;
    EXPECT_NEAR(coarse.samples.back().liquid_c, fine.samples.back().liquid_c,
                0.005 * fine.samples.back().liquid_c)
        << script;
    EXPECT_EQ(coarse.shutdown, fine.shutdown) << script;
    EXPECT_NEAR(coarse.shutdown_seconds, fine.shutdown_seconds, 2) << script;
  }
}

TEST(Operation, IsTheSameTwice) {
  const OperationResult a = operate("greenice", 20, "at 10min stop pump"),
                        b = operate("greenice", 20, "at 10min stop pump");
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i)
    EXPECT_EQ(a.samples[i].hottest_c, b.samples[i].hottest_c);
}

TEST(Operation, EveryMachineRunsForHoursAndKeepsItsEnergy) {
  for (const char* machine :
       {"greenice", "deep-booster", "quong", "exanest-track1", "exanest-track2", "exanest-trenz", "tianhe2",
        "extoll-r1", "extoll-tourmalet", "apenet-plus", "infiniband-qdr", "ethernet-10g"}) {
    const OperationResult r = operate(machine, 120);
    EXPECT_FALSE(r.shutdown) << machine << ": " << r.shutdown_cause;
    EXPECT_FALSE(r.over_limit) << machine;
    EXPECT_LT(std::abs(r.balance_error), 1e-3) << machine;
    EXPECT_EQ(r.least_speed, 1) << machine << " throttles at full load: " << r.hottest_c;
  }
}

/// Does the log have, when it shut down, something critical that says why?
bool cause_is_logged(const OperationResult& r) {
  for (const bmc::LogEntry& entry : r.log)
    if (entry.severity == bmc::LogEntry::Severity::Critical &&
        std::abs(static_cast<double>(entry.at.value) * 1e-12 - r.shutdown_seconds) < 1e-6 &&
        (entry.text == r.shutdown_cause || r.shutdown_cause.starts_with(entry.source)))
      return true;
  return false;
}

struct Scenario {
  const char* script;
  const char* cause;        // of the shutdown; empty: there is none
  double earliest, latest;  // minutes
  int minutes = 60;
};

TEST(Operation, ScenariosEndAsTheyShould) {
  const Scenario scenarios[] = {
      {"at 20min stop pump", "flow", 20, 20.05},
      {"at 20min wet coil 50%", "level", 25, 40},
      {"at 10min leak 1l/h", "", 0, 0},
      {"at 10min leak 1l/h", "level", 60 * 9, 60 * 13, 60 * 13},
      {"at 20min fail phase 1", "", 0, 0},
      {"at 20min fail supply 4", "", 0, 0},
      {"at 20min hang controller", "watchdog", 20 + 8.0 / 60, 20 + 11.0 / 60},
      // A sensor that is stuck or lies: another sees what comes of it, later.
      {"at 20min stick sensor flow; at 21min stop pump", "outlet", 21.05, 22},
      {"at 20min lie sensor flow 0.0004; at 21min stop pump", "outlet", 21.05, 22},
      {"at 20min lie sensor outlet 20; at 21min wet coil 60%", "level", 22, 40},
      {"at 20min lie sensor level 1; at 21min leak 60l/h", "chips", 40, 50},
      {"at 20min stick sensor pressure; at 21min block valve; at 22min warm inlet 15", "outlet", 22, 30},
      {"at 20min lie sensor chips3 120", "chips3", 20, 20.05},
      {"at 20min lie sensor pressure 0; at 21min block valve; at 22min stop pump", "flow", 22, 22.05},
      {"at 10min open tank", "level", 20, 50},
  };
  for (const Scenario& s : scenarios) {
    const OperationResult r = operate("greenice", s.minutes, s.script);
    const bool shuts_down = *s.cause != 0;
    EXPECT_EQ(r.shutdown, shuts_down) << s.script << ": " << r.shutdown_cause;
    EXPECT_THAT(r.shutdown_cause, HasSubstr(s.cause)) << s.script;
    if (shuts_down) {
      EXPECT_GE(r.shutdown_seconds / 60, s.earliest) << s.script;
      EXPECT_LE(r.shutdown_seconds / 60, s.latest) << s.script;
      EXPECT_TRUE(cause_is_logged(r)) << s.script << ": " << r.shutdown_cause;
    }
    EXPECT_FALSE(r.over_limit) << s.script << ": " << r.hottest_c;
    EXPECT_LT(std::abs(r.balance_error), 1e-3) << s.script;
  }
}

TEST(Operation, AChipPassesItsLimitOnlyWhenTwoSafeguardsAreBroken) {
  const OperationResult r =
      operate("greenice", 120, "at 20min hang controller; at 20min disable watchdog; at 20min stop pump");
  EXPECT_TRUE(r.over_limit) << "nothing is left that would stop it: " << r.hottest_c;
  EXPECT_LT(std::abs(r.balance_error), 1e-3);
  EXPECT_LT(r.least_speed, 1) << "it throttled first";
}

TEST(Operation, APhaseTakesItsThreeSuppliesAndNoMore) {
  const OperationResult r = operate("greenice", 40, "at 20min fail phase 2");
  EXPECT_NEAR(r.samples.back().role_watts[static_cast<std::size_t>(Role::Accelerator)], 6 * 4 * 300, 1)
      << "phase 2 feeds two of eight";
}

TEST(Operation, ANodeHeldInResetDrawsWhatItDrawsIdle) {
  const OperationResult r = operate("greenice", 20, "at 10min hold reset 5.knc");
  EXPECT_NEAR(r.samples.back().role_watts[static_cast<std::size_t>(Role::Accelerator)], 31 * 300 + 100, 1);
  const OperationResult again =
      operate("greenice", 20, "at 10min hold reset 5.knc; at 15min release reset 5");
  EXPECT_NEAR(again.samples.back().role_watts[static_cast<std::size_t>(Role::Accelerator)], 32 * 300, 1);
}

TEST(Operation, PowerUpIsInOrderAndTakesItsTime) {
  // Eight supplies of 500 ms, one after the other; then 100 ms of reset, and three stages of chips.
  const OperationResult r = operate("greenice", 1);
  for (const bmc::LogEntry& entry : r.log) {
    if (entry.text.find("resets are released") == std::string::npos) continue;
    EXPECT_NEAR(static_cast<double>(entry.at.value) * 1e-12, 8 * 0.5 + 0.1 + 2 * 0.05, 0.5);
    return;
  }
  FAIL() << "it never came up";
}

/// A few faults at random; at most one of them breaks a safeguard.
std::string random_script(std::uint64_t seed, std::uint64_t scenario) {
  std::uint64_t step = 0;
  auto draw = [&](std::uint64_t below) { return random_bits(seed, scenario, step++) % below; };
  const char* faults[] = {"stop pump",        "set pump 60%",  "wet coil 50%", "leak 5l/h",
                          "open tank",        "fail supply 2", "fail phase 3", "warm inlet 15",
                          "warm room 20",     "load 30%",      "start pump",   "close tank",
                          "restore supply 2", "power off",     "power on",     "mend leak"};
  const char* safeguards[] = {"hang controller",       "disable watchdog",   "block valve",
                              "stick sensor flow",     "stick sensor level", "lie sensor outlet 20",
                              "lie sensor pressure 0", "stick sensor chips3"};
  std::string out;
  const std::uint64_t count = 1 + draw(4);
  for (std::uint64_t i = 0; i < count; ++i)
    out += fmt::format("at {}s {}; ", 30 + draw(1100), faults[draw(std::size(faults))]);
  if (draw(2)) out += fmt::format("at {}s {}", 30 + draw(1100), safeguards[draw(std::size(safeguards))]);
  return out;
}

TEST(Operation, RandomScenariosMakeNoEnergyAndShutDownWithACause) {
  const std::uint64_t scenarios = std::getenv("WEFT_LONG_TESTS") ? 500 : 40;
  const machine::Description d = machine::describe("greenice", {});
  const Names names = Operation::names(*d.body);
  unsigned shutdowns = 0;
  for (std::uint64_t i = 0; i < scenarios; ++i) {
    const std::string script = random_script(7, i);
    OperationOptions options;
    options.duration = Time{20 * kMinute};
    options.events = read_script(script, names);
    options.samples = 60;
    options.tolerance = 1e-6;
    const OperationResult r = Operation(*d.body, options).run();
    EXPECT_LT(std::abs(r.balance_error), 1e-3) << "scenario " << i << ": " << script;
    EXPECT_FALSE(r.over_limit) << "scenario " << i << ": " << script << ": " << r.hottest_c << " C";
    if (!r.shutdown) continue;
    ++shutdowns;
    EXPECT_FALSE(r.shutdown_cause.empty()) << script;
    EXPECT_TRUE(cause_is_logged(r)) << "scenario " << i << ": " << script << ": " << r.shutdown_cause;
  }
  EXPECT_GT(shutdowns, scenarios / 10) << "scenarios are too kind";
}

TEST(Script, ErrorsComeAllAtOnceWithLineColumnAndWhatWasMeant) {
  Diagnostics problems;
  const Names names{8, true, {"flow", "level"}};
  parse_script("at 20min stop pmup\nat soon stop pump\nat 1h fail supply 9; at 1h stick sensor flwo", "f",
               names, problems);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_THAT(problems.all()[0].text(), HasSubstr("did you mean 'stop pump'?"));
  EXPECT_THAT(problems.all()[1].text(), HasSubstr("f:2:4"));
  EXPECT_THAT(problems.all()[2].text(), HasSubstr("a number from 0 to 7"));
  EXPECT_THAT(problems.all()[3].text(), HasSubstr("did you mean 'flow'?"));
}

TEST(Script, NothingHappensBeforeTheMachineIsSwitchedOn) {
  Diagnostics problems;
  EXPECT_TRUE(parse_script("at -1s stop pump; at -5min stop pump", "f", {}, problems).empty());
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems.all()[0].text(), HasSubstr("-1s is outside 0 to 90d"));
}

TEST(Script, TimesOfAJobAreForRuns) {
  Diagnostics problems;
  Names names;
  EXPECT_TRUE(parse_script("at job+2s stop pump", "f", names, problems).empty());
  EXPECT_EQ(problems.size(), 1u);
  names.job = Time{3'600'000'000'000'000};
  const std::vector<Event> events =
      parse_script("at job+2s stop pump; at job load 50%", "f", names, problems);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at, *names.job);
  EXPECT_EQ(events[1].at, *names.job + Time{2'000'000'000'000});
}

TEST(Script, TankWordsAreForTanks) {
  Diagnostics problems;
  parse_script("at 1min open tank", "f", {1, false, {}}, problems);
  EXPECT_EQ(problems.size(), 1u);
}

}  // namespace
}  // namespace weft::power::operate
