// Cores that ranks share, and nodes with a processor of their own: how long the same program takes there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const std::string kCores = WEFT_BUILD "/test-programs/cores";

ProgramResult run_on(unsigned ranks, unsigned per_node, const std::vector<std::string>& settings,
                     const std::vector<std::string>& words) {
  std::vector<std::string> all{"run", "torus", "--set", "topology.dims=[2,2]", "--engine", "ideal"};
  for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), {"-n", std::to_string(ranks), "--per-node", std::to_string(per_node), "--", kCores});
  all.insert(all.end(), words.begin(), words.end());
  return run_program(all, 60);
}

/// How long each rank took, in microseconds.
std::vector<double> times(unsigned ranks, unsigned per_node, const std::vector<std::string>& settings,
                          const std::vector<std::string>& words) {
  const ProgramResult r = run_on(ranks, per_node, settings, words);
  EXPECT_EQ(r.code, 0) << r.err;
  std::vector<double> out;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const std::string begin = "rank " + std::to_string(rank) + ": ";
    const std::size_t at = r.out.find(begin);
    EXPECT_NE(at, std::string::npos) << r.out;
    out.push_back(at == std::string::npos ? 0 : std::atof(r.out.c_str() + at + begin.size()) / 1e3);
  }
  return out;
}

const std::vector<std::string> kTwoCores{"processor.cores=2", "processor.share_cores=true",
                                         "processor.share_quantum=10us"};

TEST(Cores, AreSharedByThoseWhoComputeAtATime) {
  // Everybody has a core of his own where nothing is said, and where there are enough.
  for (double took : times(4, 4, {"processor.cores=2"}, {"100"})) EXPECT_NEAR(took, 100, 0.1);
  for (double took : times(4, 2, kTwoCores, {"100"})) EXPECT_NEAR(took, 100, 0.1);
  // Four on two cores take twice as long, three half as long again.
  for (double took : times(4, 4, kTwoCores, {"100"})) EXPECT_NEAR(took, 200, 0.2);
  for (double took : times(3, 3, kTwoCores, {"100"})) EXPECT_NEAR(took, 150, 0.2);
  for (double took : times(3, 3, kTwoCores, {"in", "5", "100"})) EXPECT_NEAR(took, 150, 0.2) << "in parts";
}

TEST(Cores, AreLeftToOthersByThoseWhoAreDone) {
  // On one core: both work for 20 us of time each has 10, then the second goes on alone for 90.
  const std::vector<double> took =
      times(2, 2, {"processor.share_cores=true", "processor.share_quantum=1us"}, {"10", "100"});
  EXPECT_NEAR(took[0], 20, 0.2);
  EXPECT_NEAR(took[1], 110, 2) << "a share holds for a quantum at most";
  // What all of a node do takes as long as their work, however it is divided.
  const std::vector<double> three =
      times(3, 3, {"processor.share_cores=true", "processor.share_quantum=1us"}, {"30", "60", "90"});
  EXPECT_NEAR(three[0], 90, 3);
  EXPECT_NEAR(three[1], 150, 4);
  EXPECT_NEAR(three[2], 180, 5);
}

TEST(Cores, AreThoseOfTheNode) {
  // Node 0 has one core, node 1 four of them.
  std::vector<std::string> settings{"processor.share_cores=true", "processor.share_quantum=10us",
                                    "processor.wide.nodes=[1]", "processor.wide.cores=4"};
  const std::vector<double> took = times(4, 2, settings, {"50"});
  EXPECT_NEAR(took[0], 100, 0.2);
  EXPECT_NEAR(took[1], 100, 0.2);
  EXPECT_NEAR(took[2], 50, 0.1);
  EXPECT_NEAR(took[3], 50, 0.1);
  const ProgramResult first = run_on(4, 2, settings, {"50"}), second = run_on(4, 2, settings, {"50"});
  EXPECT_EQ(first.out, second.out);
}

TEST(Cores, OfANodesOwnProcessorAreFasterOrSlower) {
  const std::vector<double> took =
      times(3, 1,
            {"processor.clock=2GHz", "processor.nominal_clock=2GHz", "processor.slow.nodes=[1]",
             "processor.slow.clock=500MHz", "processor.fast.nodes=[2]", "processor.fast.clock=4GHz"},
            {"100"});
  EXPECT_NEAR(took[0], 100, 0.1);
  EXPECT_NEAR(took[1], 400, 0.1);
  EXPECT_NEAR(took[2], 50, 0.1);
  // A whole machine of slow processors takes as long as one whose every node has one.
  const std::vector<std::string> fixed{"host.compute=fixed", "host.compute_fixed=3us", "host.post_cost=50ns",
                                       "processor.nominal_clock=2GHz"};
  std::vector<std::string> all = fixed, each = fixed;
  all.push_back("processor.clock=1GHz");
  each.insert(each.end(),
              {"processor.clock=2GHz", "processor.slow.nodes=[0, 1, 2, 3]", "processor.slow.clock=1GHz"});
  EXPECT_EQ(times(2, 1, all, {"0"}), times(2, 1, each, {"0"}));
}

TEST(Cores, MistakesAreToldAllAtOnce) {
  const ProgramResult r = run_on(
      2, 1,
      {"processor.a.nodes=[1, 9]", "processor.b.nodes=[2, 3]", "processor.c.nodes=[3]", "processor.d.cores=2",
       "processor.e.nodes=[0]", "processor.e.clok=1GHz", "processor.f.nodes=[1]", "processor.f.clock=1GHz"},
      {"1"});
  EXPECT_EQ(r.code, 2);
  for (const char* expected :
       {"processor.a.nodes: there is no node 9; the machine has 4, from 0",
        "processor.c.nodes: node 3 has the processor of [processor.b] already",
        "processor.d.nodes: names no node that has this processor", "processor.e.clok: unknown key",
        "did you mean 'clock'", "processor.f.clock: nothing follows from it without processor.nominal_clock"})
    EXPECT_THAT(r.err, HasSubstr(expected));
}

}  // namespace
}  // namespace weft::test
