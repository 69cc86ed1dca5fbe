// `weft show` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Show, DescribesATorus) {
  ProgramResult r = run_program({"show", "torus"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("topology     torus, dims = [8, 8, 8]\n"), HasSubstr("endpoints    512\n"),
                    HasSubstr("512, 7 ports each, 3,584 of 3,584 ports in use"),
                    ContainsRegex("default +1,536 +1,536 +20Gbps +2m +90ns +3.072km"),
                    HasSubstr("6.012 cables on average between two endpoints, at most 12 (exact)"),
                    HasSubstr("at most 128 cables, 2.56Tbps each way, 0.50 of full bisection (estimate")));
  EXPECT_THAT(
      r.out,
      HasSubstr("1.86us between r0 (0,0,0) and r292 (4,4,4): 780ns in 13 routers, 1.08us in 12 cables"));
}

TEST(Show, HopHistogramOfATree) {
  ProgramResult r = run_program(
      {"show", "torus", "--set", "topology.kind=th-express", "--set", "routing.kind=fat-tree", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto facts = parse_json(r.out);
  std::vector<int> hops;
  std::uint64_t pairs = 0, endpoints = facts["endpoints"];
  for (const auto& bar : facts["distance"]["hops"]) {
    hops.push_back(bar["routers_crossed"]);
    pairs += bar["pairs"].get<std::uint64_t>();
  }
  EXPECT_EQ(hops, (std::vector<int>{1, 3, 5, 7, 9})) << "TH Express-2, section 6.1";
  EXPECT_EQ(pairs, endpoints * (endpoints - 1));
}

TEST(Show, SourcesOfEveryParameter) {
  ProgramResult r = run_program({"show", "torus", "--sources", "--set", "router.channels=4"});
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, AllOf(ContainsRegex("topology.dims +\\[8, 8, 8\\] +assumed: an example size"),
                           ContainsRegex("topology.endpoints_per_router +1 +default"),
                           ContainsRegex("topology.kind +\"torus\" +set, no source given"),
                           ContainsRegex("router.channels +4 +--set")));
  EXPECT_THAT(run_program({"show", "torus"}).out, Not(HasSubstr("assumed:")));
}

TEST(Show, JsonIsOneObjectAndNothingElse) {
  ScratchFolder scratch;
  std::string path = scratch.file("ring.svg");
  ProgramResult r =
      run_program({"show", "torus", "--set", "topology.dims=[4,2,4]", "--json", "--picture", path});
  ASSERT_EQ(r.code, 0) << r.err;
  auto facts = parse_json(r.out);
  EXPECT_EQ(facts["routers"], 32);
  EXPECT_EQ(facts["cables"], 80);
  EXPECT_EQ(facts["distance"]["diameter_cables"], 5);
  EXPECT_DOUBLE_EQ(facts["distance"]["mean_cables"], 80.0 / 31.0);
  EXPECT_EQ(facts["picture"], path);
  EXPECT_THAT(read_file(path), HasSubstr("</svg>"));
}

TEST(Show, APictureThatCannotBeWrittenIsTheUsersMistake) {
  ProgramResult r = run_program({"show", "torus", "--picture", "/no/such/folder/x.svg"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "error: /no/such/folder/x.svg: cannot be written: No such file or directory\n");
}

TEST(Show, MistakesEndWithCodeTwo) {
  EXPECT_EQ(run_program({"show"}).code, 2);
  EXPECT_EQ(run_program({"show", "no-such-machine"}).code, 2);
  EXPECT_EQ(run_program({"show", "torus", "--set", "topology.dims=[0]"}).code, 2);
}

TEST(Show, SmallestMachine) {
  ProgramResult r = run_program({"show", "torus", "--set", "topology.dims=[1]"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("cables       none\n"), HasSubstr("no two endpoints are joined"),
                           HasSubstr("all endpoints are on one router")));
}

}  // namespace
}  // namespace weft::test
