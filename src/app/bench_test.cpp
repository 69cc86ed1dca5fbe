#include "app/bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "machine/description.hpp"
#include "run_program.hpp"

namespace weft::app {
namespace {

using ::testing::HasSubstr;

TEST(Bench, PeakMemoryIsThatOfTheCase) {
  constexpr std::size_t kBytes = 200'000'000;
  Json large = measure_in_own_process([] {
    std::vector<char> memory(kBytes, 1);
    return Json{{"sum", memory[1] + memory[kBytes - 1]}};
  });
  Json small = measure_in_own_process([] { return Json{{"answer", 42}}; });
  EXPECT_EQ(large["sum"], 2);
  EXPECT_EQ(small["answer"], 42);
  EXPECT_GE(large["peak_bytes"], kBytes);
  EXPECT_LT(small["peak_bytes"], kBytes) << "the case before does not count";
}

TEST(Bench, ACaseThatFailsIsReported) {
  auto thrown = measure_in_own_process([]() -> Json { throw std::runtime_error("no luck"); });
  EXPECT_EQ(thrown["error"], "no luck");
  auto killed = measure_in_own_process([]() -> Json { _exit(9); });
  EXPECT_EQ(killed["error"], "ended early");
}

TEST(Bench, TopologyStaysWithinItsLimits) {
  auto r = test::run_program({"bench", "topology", "--json"});
  EXPECT_EQ(r.err, "");
  auto parsed = Json::parse(r.out);
  ASSERT_TRUE(parsed);
  const Json& out = *parsed;
  EXPECT_EQ(out["bench"], "topology");
  ASSERT_EQ(out["cases"].size(), 2u);
  for (const auto& one : out["cases"]) {
    EXPECT_FALSE(one.contains("error")) << one.dump(2);
    EXPECT_EQ(one["endpoints"], 1'000'000);
    EXPECT_LE(one["peak_bytes"], one["limit_bytes"]);
  }
}

TEST(Bench, UnknownNamesAreTheUsersMistake) {
  auto r = test::run_program({"bench", "topolgy"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no bench 'topolgy' (did you mean 'topology'?)"));
}

TEST(Bench, OnlyTheCasesThatAreAskedForAreMeasured) {
  auto r = test::run_program({"bench", "topology", "--json", "--only", "fat tree"});
  auto parsed = Json::parse(r.out);
  ASSERT_TRUE(parsed);
  ASSERT_EQ((*parsed)["cases"].size(), 1u);
  for (const auto& one : (*parsed)["cases"]) EXPECT_EQ(one["case"], "fat tree of 1,000,000");
  r = test::run_program({"bench", "topology", "--only", "fat three"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("no case of bench 'topology' has 'fat three' in its name; there are:"));
  EXPECT_THAT(r.err, HasSubstr("fat tree of 1,000,000"));
}

/// Every bench asks before it measures: of one that somebody wants nothing of, nothing runs.
TEST(Bench, WhatNobodyAsksForCostsNothing) {
  for (const auto& [name, bench] : Benches::all()) {
    const double before = cpu_seconds();
    BenchResults results("no case has this name", [&](BenchCase one) { ADD_FAILURE() << one.name; });
    bench.run(results);
    EXPECT_TRUE(results.empty());
    EXPECT_FALSE(results.names().empty()) << name;
    EXPECT_LT(cpu_seconds() - before, 2) << name;
  }
}

TEST(Bench, MachinesAreDescribedInTheKeysOfToday) {
  std::size_t read = 0;
  for (const auto& [name, bench] : Benches::all())
    for (const Bench::Machine& m : bench.machines) {
      EXPECT_NO_THROW(machine::describe(m.profile, m.settings)) << name << ": " << m.profile;
      ++read;
    }
  EXPECT_GE(read, 11u);
}

}  // namespace
}  // namespace weft::app
