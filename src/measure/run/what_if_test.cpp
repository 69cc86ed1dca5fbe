#include "measure/run/what_if.hpp"

#include <gtest/gtest.h>

namespace weft::measure {
namespace {

/// Rank 1 computes longer, and rank 0 hears of it.
workload::Program late_program(Time late) {
  workload::ProgramBuilder b(2);
  b.compute(0, Time{1'000'000});
  b.compute(1, late);
  b.send(1, 0, 64, 0);
  b.receive(0, 1, 64, 0);
  b.wait(0);
  b.wait(1);
  return std::move(b).finish("late");
}

machine::Machine ring() { return machine::build(machine::describe("torus", {"topology.dims=[8]"})); }

WhatIf of(const workload::Program& program, const std::string& engine) {
  const machine::Machine machine = ring();
  return what_if(machine, program, {.engine = engine, .nodes = {0, 4}});
}

TEST(WhatIf, BalancedProgramsComputeAsMuchAsBefore) {
  const workload::Program even = balanced(late_program(Time{9'000'000}));
  std::vector<std::uint64_t> each;
  for (const workload::Operation& step : even.operations)
    if (step.kind == workload::Operation::Kind::Compute) each.push_back(step.amount);
  EXPECT_EQ(each, (std::vector<std::uint64_t>{5'000'000, 5'000'000}));
}

TEST(WhatIf, ALateRankIsWhatBalanceGainsAndAnEvenOneGainsNothing) {
  for (const char* engine : {"flow", "ideal"}) {
    const WhatIf late = of(late_program(Time{9'000'000}), engine),
                 even = of(late_program(Time{1'000'000}), engine);
    ASSERT_FALSE(late.alternatives.empty());
    EXPECT_EQ(late.alternatives[0].what, "all ranks compute alike");
    EXPECT_NEAR(late.change(late.alternatives[0]), -4.0 / 9.5, 0.05);
    EXPECT_EQ(even.change(even.alternatives[0]), 0);
  }
}

TEST(WhatIf, APlaceNearByIsShorter) {
  const WhatIf far = of(late_program(Time{1'000'000}), "flow");
  bool found = false;
  for (const Alternative& a : far.alternatives)
    if (a.what == "--place linear") {
      found = true;
      EXPECT_EQ(a.failure, "");
      EXPECT_LT(far.change(a), 0) << "next to each other instead of four cables apart";
    }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace weft::measure
