#include "workload/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "machines.hpp"
#include "run_program.hpp"
#include "workload/synthetic.hpp"

namespace weft::workload {
namespace {

using test::Settings;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A pattern on a machine of its own.
struct Arranged {
  machine::Machine machine;
  Members members;
  std::unique_ptr<Pattern> pattern;

  Arranged(const std::string& name, const Settings& settings, machine::Machine m, std::uint64_t seed = 1)
      : machine(std::move(m)), members(*machine.graph, *machine.faults) {
    Workload w = read_workload({name, "bernoulli", "1", settings, {}});
    pattern = w.pattern->make(w.pattern_parameters.get(), {members, seed});
  }

  std::vector<Member> targets(std::uint64_t packet = 0) const {
    std::vector<Member> out;
    for (Member m = 0; m < members.count(); ++m)
      out.push_back(pattern->rate(m) > 0 ? pattern->destination(m, packet) : FixedPattern::kNobody);
    return out;
  }
};

machine::Machine torus(const std::string& dims, const Settings& more = {}) {
  return test::make_machine("torus", {"dims=" + dims}, "dimension-order", {}, 4, more);
}

/// A machine that is no grid.
machine::Machine crossbar(unsigned endpoints) {
  return test::make_machine("fully-connected", {"routers=" + std::to_string(endpoints)}, "shortest-path", {},
                            4);
}

std::string mistake(const std::string& name, const Settings& settings, machine::Machine m) {
  try {
    Arranged(name, settings, std::move(m));
  } catch (const UserError& error) {
    return error.diagnostics().front().text();
  }
  return "no mistake";
}

bool is_permutation(std::vector<Member> targets) {
  std::sort(targets.begin(), targets.end());
  for (Member m = 0; m < targets.size(); ++m)
    if (targets[m] != m) return false;
  return true;
}

TEST(Pattern, PatternsOverBinaryDigits) {
  EXPECT_THAT(Arranged("bit-complement", {}, torus("[8]")).targets(), ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(Arranged("bit-reversal", {}, torus("[8]")).targets(), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(Arranged("shuffle", {}, torus("[8]")).targets(), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

TEST(Pattern, TransposeSwapsCoordinates) {
  EXPECT_THAT(Arranged("transpose", {}, torus("[3,3]")).targets(), ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
}

TEST(Pattern, TornadoAndNeighbourFollowTheGrid) {
  EXPECT_THAT(Arranged("tornado", {}, torus("[8]")).targets(), ElementsAre(3, 4, 5, 6, 7, 0, 1, 2));
  EXPECT_EQ(Arranged("tornado", {}, torus("[5,4]")).targets()[0], 2u + 5 * 1);
  EXPECT_THAT(Arranged("neighbour", {}, torus("[4]")).targets(), ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(Arranged("neighbour", {}, torus("[5,4]")).targets()[4], 0u + 5 * 1) << "round the ring, and up";
  auto two_each =
      test::make_machine("torus", {"dims=[4]", "endpoints_per_router=2"}, "dimension-order", {}, 4);
  EXPECT_THAT(Arranged("neighbour", {}, std::move(two_each)).targets(), ElementsAre(2, 3, 4, 5, 6, 7, 0, 1));
}

TEST(Pattern, TornadoAndNeighbourWithoutAGridGoRoundTheNumbers) {
  EXPECT_THAT(Arranged("tornado", {}, crossbar(6)).targets(), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(Arranged("neighbour", {}, crossbar(4)).targets(), ElementsAre(1, 2, 3, 0));
}

TEST(Pattern, PermutationsAreBijectionsAndDependOnTheSeed) {
  for (const char* name :
       {"permutation", "transpose", "bit-reversal", "bit-complement", "shuffle", "tornado", "neighbour"})
    EXPECT_TRUE(is_permutation(Arranged(name, {}, torus("[8,8]")).targets())) << name;
  EXPECT_NE(Arranged("permutation", {}, torus("[8,8]"), 1).targets(),
            Arranged("permutation", {}, torus("[8,8]"), 2).targets());
  EXPECT_EQ(Arranged("permutation", {}, torus("[8,8]"), 2).targets(),
            Arranged("permutation", {}, torus("[8,8]"), 2).targets());
}

TEST(Pattern, RandomPairsAnswerEachOther) {
  auto targets = Arranged("random-pairs", {}, torus("[9]")).targets();
  unsigned silent = 0;
  for (Member m = 0; m < 9; ++m) {
    if (targets[m] == FixedPattern::kNobody) {
      ++silent;
      continue;
    }
    EXPECT_NE(targets[m], m);
    EXPECT_EQ(targets[targets[m]], m);
  }
  EXPECT_EQ(silent, 1u);
}

TEST(Pattern, AllToAllVisitsAllOthersAndNeverCollides) {
  Arranged s("all-to-all", {}, torus("[7]"));
  std::vector<unsigned> seen(7);
  for (unsigned packet = 0; packet < 12; ++packet) {
    EXPECT_TRUE(is_permutation(s.targets(packet)));
    ++seen[s.pattern->destination(2, packet)];
  }
  EXPECT_THAT(seen, ElementsAre(2, 2, 0, 2, 2, 2, 2));
}

TEST(Pattern, IncastHasOneTarget) {
  constexpr Member none = FixedPattern::kNobody;
  EXPECT_THAT(Arranged("incast", {"target=1"}, torus("[4]")).targets(), ElementsAre(1, none, 1, 1));
  EXPECT_THAT(Arranged("incast", {"target=2", "sources=2"}, torus("[4]")).targets(),
              ElementsAre(2, none, none, 2));
}

TEST(Pattern, StencilsCycleThroughNeighbours) {
  Arranged s("stencil-2d", {"dims=[4,3]"}, torus("[12]"));
  std::vector<Member> at_5;
  for (unsigned packet = 0; packet < 5; ++packet) at_5.push_back(s.pattern->destination(5, packet));
  EXPECT_THAT(at_5, ElementsAre(6, 4, 9, 1, 6));
  EXPECT_EQ(s.pattern->destination(3, 0), 0u) << "periodic";
  Arranged cube("stencil-3d", {}, torus("[4,4,4]"));
  std::vector<Member> at_0;
  for (unsigned packet = 0; packet < 6; ++packet) at_0.push_back(cube.pattern->destination(0, packet));
  EXPECT_THAT(at_0, ElementsAre(1, 3, 4, 12, 16, 48)) << "without dims, the nearest to a cube";
  EXPECT_EQ(Arranged("stencil-2d", {}, torus("[7]")).pattern->destination(6, 0), 0u)
      << "7 is 7 by 1: only one dimension";
}

double chi_square(const Pattern& pattern, unsigned members, std::function<double(Member)> share) {
  constexpr unsigned kPackets = 200;
  std::vector<double> seen(members);
  for (Member source = 0; source < members; ++source)
    for (unsigned packet = 0; packet < kPackets; ++packet) ++seen[pattern.destination(source, packet)];
  double sum = 0, total = double{kPackets} * members;
  for (Member m = 0; m < members; ++m) {
    double expected = share(m) * total;
    sum += (seen[m] - expected) * (seen[m] - expected) / expected;
  }
  return sum;
}

TEST(Pattern, UniformAndHotSpotPassAChiSquareTest) {
  constexpr double kLimit = 103.4;  // 63 degrees of freedom, 0.1%
  auto even = [](Member) { return 1.0 / 64; };
  EXPECT_LT(chi_square(*Arranged("uniform", {}, torus("[8,8]")).pattern, 64, even), kLimit);
  Arranged without_self("uniform", {"self=false"}, torus("[8,8]"));
  EXPECT_LT(chi_square(*without_self.pattern, 64, even), kLimit);
  for (Member m = 0; m < 64; ++m)
    for (unsigned packet = 0; packet < 100; ++packet)
      EXPECT_NE(without_self.pattern->destination(m, packet), m);
  Arranged hot("hot-spot", {"fraction=0.25", "targets=[3, 9]"}, torus("[8,8]"));
  auto hot_share = [](Member m) { return 0.75 / 64 + (m == 3 || m == 9 ? 0.125 : 0); };
  EXPECT_LT(chi_square(*hot.pattern, 64, hot_share), kLimit);
}

TEST(Pattern, MatrixSaysWhereAndHowMuch) {
  test::ScratchFolder folder;
  std::ofstream(folder.file("m.csv")) << "# weights\n0, 3, 1\n\n0;0;0\n1\t1 0\n";
  Arranged s("matrix", {"file=" + folder.file("m.csv")}, torus("[3]"));
  EXPECT_DOUBLE_EQ(s.pattern->rate(0), 1);
  EXPECT_DOUBLE_EQ(s.pattern->rate(1), 0);
  EXPECT_DOUBLE_EQ(s.pattern->rate(2), 0.5);
  std::vector<unsigned> seen(3);
  for (unsigned packet = 0; packet < 4000; ++packet) ++seen[s.pattern->destination(0, packet)];
  EXPECT_EQ(seen[0], 0u);
  EXPECT_NEAR(seen[1], 3000, 100);
}

TEST(Pattern, AMatrixThatDoesNotFitIsRefusedWithItsLine) {
  test::ScratchFolder folder;
  auto refuse = [&](const std::string& text) {
    std::ofstream(folder.file("m.csv"), std::ios::trunc) << text;
    return mistake("matrix", {"file=" + folder.file("m.csv")}, torus("[3]"));
  };
  EXPECT_THAT(refuse("0 1 2\n0 x 1\n1 1 1\n"), HasSubstr("m.csv:2:3: expected a weight, 0 or more, got 'x'"));
  EXPECT_THAT(refuse("0 1 2\n0 -1 1\n1 1 1\n"), HasSubstr(":2:3: expected a weight"));
  EXPECT_THAT(refuse("0 1 2\n0 1\n1 1 1\n"),
              HasSubstr(":2:1: expected 3 weights, one for each endpoint, got 2"));
  EXPECT_THAT(refuse("0 1 2\n0 1 2\n"), HasSubstr("expected 3 rows, one for each endpoint, got 2"));
  EXPECT_THAT(refuse("0 1 2\n0 1 2\n0 1 2\n0 1 2\n"), HasSubstr(":4:1: one row too many"));
  EXPECT_THAT(refuse("0 0 0\n0 0 0\n0 0 0\n"), HasSubstr("nobody sends"));
  EXPECT_THAT(mistake("matrix", {}, torus("[3]")), HasSubstr("pattern.file: is missing"));
  EXPECT_THAT(mistake("matrix", {"file=/no/such/file"}, torus("[3]")), HasSubstr("there is no file"));
}

TEST(Pattern, WhatDoesNotFitIsRefusedWithWhatWould) {
  EXPECT_THAT(mistake("transpose", {}, torus("[12]")), HasSubstr("there are 12, and 9 or 16 would fit"));
  EXPECT_THAT(mistake("bit-reversal", {}, torus("[12]")), HasSubstr("there are 12, and 8 or 16 would fit"));
  EXPECT_THAT(mistake("shuffle", {}, torus("[6]")), HasSubstr("there are 6, and 4 or 8 would fit"));
  EXPECT_THAT(mistake("bit-complement", {}, torus("[6]")), HasSubstr("power of two"));
  EXPECT_THAT(mistake("stencil-2d", {"dims=[4,4]"}, torus("[12]")), HasSubstr("[4, 3] would"));
  EXPECT_THAT(mistake("stencil-3d", {"dims=[4,4]"}, torus("[16]")),
              HasSubstr("expected 3 dimensions, got 2"));
  EXPECT_THAT(mistake("incast", {"target=12"}, torus("[12]")), HasSubstr("numbered 0 to 11"));
  EXPECT_THAT(mistake("incast", {"sources=12"}, torus("[12]")), HasSubstr("at most 11 would"));
  EXPECT_THAT(mistake("hot-spot", {"targets=[12]"}, torus("[12]")), HasSubstr("there is no endpoint 12"));
  EXPECT_THAT(mistake("hot-spot", {"fraction=1.5"}, torus("[12]")), HasSubstr("1.5 is outside 0 to 1"));
  EXPECT_THAT(mistake("unifrom", {}, torus("[12]")), HasSubstr("did you mean 'uniform'?"));
  EXPECT_THAT(mistake("hot-spot", {"fractoin=1"}, torus("[12]")), HasSubstr("did you mean 'fraction'?"));
  EXPECT_THAT(mistake("hot-spot", {"fraction"}, torus("[12]")),
              HasSubstr("--pattern-set fraction: expected key=value"));
  EXPECT_THAT(mistake("uniform", {}, torus("[1]")), HasSubstr("at least 2 endpoints"));
}

TEST(Pattern, GroupShiftGoesToTheNextGroupThatIsLeft) {
  const Settings size{"routers_per_group=4", "endpoints_per_router=2", "global_cables_per_router=2"};
  Arranged whole("group-shift", {}, test::make_machine("dragonfly", size, "dragonfly", {}, 4));
  std::vector<bool> seen(72);
  for (std::uint64_t packet = 0; packet < 200; ++packet)
    for (Member m = 0; m < 72; ++m) {
      Member to = whole.pattern->destination(m, packet);
      ASSERT_EQ(to / 8, (m / 8 + 1) % 9);
      seen[to] = true;
    }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 72);
  Arranged broken(
      "group-shift", {},
      test::make_machine("dragonfly", size, "dragonfly", {}, 4, {"faults.dead_routers=[4,5,6,7]"}));
  EXPECT_EQ(broken.members.endpoint[broken.pattern->destination(0, 0)] / 8, 2u) << "group 1 is dead";
  EXPECT_THAT(mistake("group-shift", {}, torus("[12]")), HasSubstr("only a dragonfly has groups"));
  EXPECT_THAT(mistake("group-shift", {"group=12"}, torus("[12]")), HasSubstr("leave one group"));
}

TEST(Pattern, EndpointsOfDeadRoutersTakeNoPart) {
  auto m = test::make_machine("torus", {"dims=[4]"}, "up-down", {}, 4, {"faults.dead_routers=[1]"});
  Arranged s("neighbour", {}, std::move(m));
  EXPECT_THAT(s.members.endpoint, ElementsAre(0, 2, 3));
  EXPECT_THAT(s.targets(), ElementsAre(1, 2, 0));
}

}  // namespace
}  // namespace weft::workload
