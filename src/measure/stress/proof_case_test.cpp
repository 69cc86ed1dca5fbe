// What `weft check` says, and what happens: every registered topology and routing, with dead parts.
#include "measure/stress/proof_case.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "measure/stress/draws.hpp"
#include "run_program.hpp"

namespace weft::measure {
namespace {

TEST(ProofCases, ProofAndRunAgree) {
  constexpr std::uint64_t kSeed = 2026, kCases = 400;
  std::vector<ProofOutcome> outcomes(kCases);
  parallel_for(kCases, default_threads(),
               [&](unsigned, std::uint64_t i) { outcomes[i] = run_proof_case(make_proof_case(kSeed, i)); });
  unsigned hold = 0, broken = 0, refused = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    EXPECT_EQ(outcomes[i].problem, "") << "weft stress --proofs --seed " << kSeed << " --only " << i << "\n"
                                       << outcomes[i].proof << "\n"
                                       << outcomes[i].run;
    hold += outcomes[i].holds;
    broken += outcomes[i].broken_pairs > 0;
    refused += outcomes[i].refused;
  }
  // Cases that are all alike would show nothing.
  EXPECT_GT(hold, kCases / 4);
  EXPECT_GT(broken, kCases / 10);
  EXPECT_GT(refused, 5u);
}

// Found by hand: intermediate places in a dead group, and fewer channels than classes without a circle.
TEST(ProofCases, ADragonflyWithoutAGroupRuns) {
  for (const char* mode : {"minimal", "valiant", "ugal"}) {
    ProofCase one{fmt::format("[topology]\nkind = \"dragonfly\"\n[routing]\nkind = \"dragonfly\"\nmode = "
                              "\"{}\"\n[router]\nchannels = 4\nbuffer_flits = 8\nlatency = \"10ns\"\n",
                              mode),
                  {"faults.dead_routers=[4,5,6,7]"}};
    ProofOutcome outcome = run_proof_case(one);
    EXPECT_TRUE(outcome.holds) << mode;
    EXPECT_TRUE(outcome.delivered) << mode << ": " << outcome.run;
  }
}

TEST(ProofCases, ACommandRunsThem) {
  auto result = test::run_program({"stress", "--proofs", "--count", "20"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("20 cases: "));
  EXPECT_THAT(result.out, ::testing::HasSubstr("proof and run agree in all"));
}

}  // namespace
}  // namespace weft::measure
