// A job's own heat: chips of single nodes against the plant's, what a warm start costs, when a job slows
// itself down, and what ends it.
#include "measure/run/run_heat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.hpp"
#include "machine/description.hpp"

namespace weft::measure {
namespace {

using ::testing::HasSubstr;

constexpr Time kSecond{1'000'000'000'000};
constexpr Time kMinute{60 * kSecond.value};

Time times(std::int64_t n, Time t) { return Time{n * t.value}; }

/// What happens to a machine that is in operation for an hour before the job.
HeatOptions with_script(const std::string& machine, const std::string& script) {
  HeatOptions out;
  power::operate::Names names = power::operate::Operation::names(*machine::describe(machine, {}).body);
  names.job = out.before;
  Diagnostics problems;
  out.events = power::operate::read_script(script, names, "test", problems);
  problems.throw_if_any();
  return out;
}

/// Cold plates with so little to spare that full load is too much for chips that slow down at 65 C.
const std::vector<std::string> kWeak{"power.part.knc.throttle_c=65"};

struct Job {
  machine::Description machine;
  JobHeat heat;
  std::vector<double> slow, busy;
  Time now{0};

  Job(const std::string& name, const std::vector<std::string>& settings, const HeatOptions& options,
      std::vector<unsigned> nodes)
      : machine(machine::describe(name, settings)),
        heat(*machine.body, options, nodes),
        slow(nodes.size(), 0),
        busy(nodes.size(), 1) {
    heat.begin(slow);
  }

  std::string run(Time length) {
    const Time end = now + length;
    std::string problem;
    while (now < end && problem.empty()) {
      const Time next = std::min(end, now + heat.interval());
      problem = heat.pass(now, next, busy, slow);
      now = next;
    }
    return problem;
  }
};

TEST(JobHeat, AChipOfANodeIsAsWarmAsItsZoneWhereAllNodesDoTheSame) {
  for (const char* machine : {"deep-booster", "greenice", "quong"}) {
    const machine::Description d = machine::describe(machine, {});
    power::operate::OperationOptions options;
    options.load = 0;
    power::operate::Operation operation(*d.body, options);
    operation.advance(times(20, kMinute));
    std::size_t part = 0;
    while (d.body->parts[part].role != power::Role::Accelerator) ++part;
    power::thermal::Chip chip = operation.plant().chip(0, part);
    operation.set_load(1);
    for (int i = 1; i <= 600; ++i) {
      operation.advance(times(20, kMinute) + Time{i * kSecond.value / 10});
      operation.plant().look_at_coolant();
      chip = operation.plant().chip_after(chip, part, 1, 0.1);
      if (i % 100 == 0)
        EXPECT_NEAR(chip.junction_c, operation.plant().chip(0, part).junction_c, 0.3)
            << machine << " after " << i / 10 << " s";
    }
  }
}

TEST(JobHeat, AMachineTakenAsOneBankBeforeTheJobIsInTheSameState) {
  for (const char* name : {"greenice", "quong", "deep-booster"}) {
    const machine::Description d = machine::describe(name, {});
    power::operate::OperationOptions options;
    power::operate::Operation whole(*d.body, options);
    whole.advance(times(60, kMinute));
    JobHeat heat(*d.body, {}, {0});
    EXPECT_NEAR(heat.result().start_c, whole.plant().read().hottest_c, 0.1) << name;
  }
}

TEST(JobHeat, AnIdleNodeStaysColderThanTheBusyOneBesideIt) {
  HeatOptions options;
  options.before = times(10, kMinute);
  options.load = 0;
  Job job("deep-booster", kWeak, options, {0, 1});
  job.busy = {1, 0};
  EXPECT_EQ(job.run(times(60, kSecond)), "");
  EXPECT_GT(job.slow[0], 1.05);
  EXPECT_EQ(job.slow[1], 1);
  const RunHeat heat = job.heat.result();
  EXPECT_EQ(heat.throttled_nodes, 1u);
  EXPECT_EQ(heat.most_lost_rank, 0u);
}

TEST(JobHeat, AJobOnAColdMachineStartsAtFullSpeedAndSlowsItselfDown) {
  HeatOptions options;
  options.before = times(10, kMinute);
  options.load = 0;
  Job job("deep-booster", kWeak, options, {0, 1, 2, 3});
  EXPECT_EQ(job.slow[0], 1);
  EXPECT_EQ(job.run(times(60, kSecond)), "");
  const RunHeat heat = job.heat.result();
  EXPECT_GT(heat.throttled_from, 1) << "it takes seconds to warm up";
  EXPECT_LT(heat.throttled_from, 40);
  EXPECT_NEAR(heat.throttled_until, 60, 1e-9);
  EXPECT_NEAR(heat.work_seconds, 4 * 60, 1e-6);
  EXPECT_GT(heat.lost_seconds, 1);
  EXPECT_NEAR(heat.most_lost_seconds, heat.lost_seconds / 4, 1e-6) << "all do the same";
  EXPECT_NEAR(heat.mean_speed, 1 - heat.lost_seconds / heat.work_seconds, 1e-9);
  EXPECT_LT(heat.hottest_c, heat.limit_c);
}

TEST(JobHeat, OnAMachineThatHasBeenBusyTheSameJobIsSlowFromTheStart) {
  HeatOptions busy_before;
  Job job("deep-booster", kWeak, busy_before, {0});
  EXPECT_GT(job.slow[0], 1.05);
  EXPECT_EQ(job.run(times(10, kSecond)), "");
  EXPECT_EQ(job.heat.result().throttled_from, 0);
}

TEST(JobHeat, AMachineWithinItsLimitsKeepsItsSpeed) {
  Job job("deep-booster", {}, {}, {0, 1});
  EXPECT_EQ(job.run(times(30, kSecond)), "");
  EXPECT_EQ(job.slow[0], 1);
  EXPECT_FALSE(job.heat.result().throttled());
  EXPECT_EQ(job.heat.result().lost_seconds, 0);
}

TEST(JobHeat, TheIntervalDoesNotMatter) {
  HeatOptions coarse, fine;
  coarse.before = fine.before = times(10, kMinute);
  coarse.load = fine.load = 0;
  fine.interval = Time{10'000'000'000};
  Job a("deep-booster", kWeak, coarse, {0}), b("deep-booster", kWeak, fine, {0});
  a.run(times(60, kSecond));
  b.run(times(60, kSecond));
  const RunHeat x = a.heat.result(), y = b.heat.result();
  EXPECT_NEAR(x.hottest_c, y.hottest_c, 0.005 * y.hottest_c);
  EXPECT_NEAR(x.mean_speed, y.mean_speed, 0.005);
  EXPECT_NEAR(x.throttled_from, y.throttled_from, 0.15);
}

TEST(JobHeat, IsTheSameTwice) {
  auto once = [] {
    Job job("deep-booster", kWeak, {}, {0, 5});
    job.busy = {1, 0.5};
    job.run(times(20, kSecond));
    const RunHeat heat = job.heat.result();
    return std::vector<double>{heat.hottest_c, heat.mean_speed, heat.lost_seconds, job.slow[0], job.slow[1]};
  };
  EXPECT_EQ(once(), once());
}

TEST(JobHeat, APumpAtHalfSpeedDuringTheRunSlowsTheJob) {
  const HeatOptions options = with_script("deep-booster", "at job+5s set pump 50%");
  Job job("deep-booster", {"power.part.knc.throttle_c=80"}, options, {0});
  EXPECT_EQ(job.run(times(120, kSecond)), "");
  const RunHeat heat = job.heat.result();
  EXPECT_GT(heat.throttled_from, 5);
  EXPECT_LT(heat.least_speed, 1);
  ASSERT_FALSE(heat.log.empty());
  EXPECT_EQ(heat.log.front().text, "set pump 50%");
  EXPECT_EQ(heat.log.front().at, times(5, kSecond)) << "as the run counts time";
}

TEST(JobHeat, AShutdownEndsTheJobAndSaysWhy) {
  const HeatOptions options = with_script("greenice", "at job+2s stop pump");
  Job job("greenice", {}, options, {0, 9});
  EXPECT_THAT(job.run(times(10, kSecond)), HasSubstr("node 0 has no power: flow 0.0 l/min is below"));
  EXPECT_LT(job.now, times(4, kSecond));
}

TEST(JobHeat, ASupplyThatFailsEndsOnlyJobsOnItsNodes) {
  const HeatOptions options = with_script("greenice", "at job+1s fail supply 2");
  EXPECT_EQ(Job("greenice", {}, options, {0, 31}).run(times(5, kSecond)), "");
  EXPECT_THAT(Job("greenice", {}, options, {8}).run(times(5, kSecond)), HasSubstr("node 8 has no power"));
}

TEST(JobHeat, ANodeHeldInResetDoesNotCompute) {
  const HeatOptions options = with_script("greenice", "at job+1s hold reset 3.knc");
  EXPECT_EQ(Job("greenice", {}, options, {2}).run(times(3, kSecond)), "");
  EXPECT_THAT(Job("greenice", {}, options, {3}).run(times(3, kSecond)), HasSubstr("node 3 is held in reset"));
}

TEST(JobHeat, NothingStartsWithoutPower) {
  const HeatOptions options = with_script("greenice", "at 5min stop pump");
  EXPECT_THROW(Job("greenice", {}, options, {0}), UserError);
}

TEST(JobHeat, LongRunsKeepNoMoreMoments) {
  HeatOptions options;
  options.before = kMinute;
  Job job("deep-booster", {}, options, {0});
  job.run(times(400, kSecond));
  const RunHeat heat = job.heat.result();
  EXPECT_LE(heat.moments.size(), 1024u);
  EXPECT_NEAR(heat.moments.back().seconds, 400, 1);
}

}  // namespace
}  // namespace weft::measure
