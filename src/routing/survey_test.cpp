#include "routing/survey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines.hpp"
#include "run_program.hpp"

namespace weft::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Survey survey_of(const machine::Machine& m, unsigned faults, unsigned threads = 1, std::uint64_t cases = 40) {
  SurveyOptions options;
  options.faults = faults;
  options.most = cases;
  options.verify.channels = m.description.router.channels;
  options.verify.threads = threads;
  return survey(*m.description.routing, m.description.routing_parameters.get(), *m.graph, *m.faults, options);
}

TEST(Survey, DimensionOrderNeedsReRoutingAfterEveryFailureOfATorus) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 4);
  Survey s = survey_of(m, 1);
  EXPECT_TRUE(s.all_singles);
  EXPECT_EQ(s.cases.size(), 24u + 12u);
  for (const FailureCase& c : s.cases) {
    EXPECT_FALSE(c.own_serves) << c.failed.text(*m.graph);
    EXPECT_GT(c.own_broken, 0u) << c.failed.text(*m.graph);
    EXPECT_TRUE(c.serves) << c.failed.text(*m.graph);
    EXPECT_EQ(c.rerouted, "fault-avoiding over dimension-order");
    EXPECT_EQ(c.cut_off.size(), c.failed.routers.size()) << "a torus stays in one piece";
  }
}

TEST(Survey, ReRoutingTakesTheChannelsThereAre) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 2);
  for (const FailureCase& c : survey_of(m, 1).cases) {
    EXPECT_EQ(c.rerouted, "up-down") << "a third class would need a third channel";
    EXPECT_TRUE(c.serves);
  }
}

TEST(Survey, RoutingsThatKnowFaultsNeedNoOther) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "up-down", {}, 2);
  Survey s = survey_of(m, 3);
  EXPECT_EQ(s.cases.size(), 24u + 12u + 40u);
  EXPECT_EQ(s.count(&FailureCase::own_serves), s.cases.size());
}

TEST(Survey, NamesWhoIsCutOff) {
  // A chain r0 - r1 - r2 - r3: its second cable parts it in halves, its middle routers cut off one side.
  auto m = test::make_machine("mesh", {"dims=[4]"}, "dimension-order", {}, 4);
  Survey s = survey_of(m, 1);
  ASSERT_EQ(s.cases.size(), 3u + 4u);
  EXPECT_THAT(s.cases[0].cut_off, ElementsAre(0u));
  EXPECT_THAT(s.cases[1].cut_off, ElementsAre(2u, 3u));
  EXPECT_THAT(s.cases[2].cut_off, ElementsAre(3u));
  EXPECT_THAT(s.cases[4].cut_off, ElementsAre(0u, 1u)) << "r1 is dead and r0 alone";
  EXPECT_EQ(s.cases[1].cut_off_pairs, 8u) << "2 sources x 2 destinations, both ways";
  for (const FailureCase& c : s.cases) EXPECT_TRUE(c.serves) << c.failed.text(*m.graph);
}

TEST(Survey, DoesNotDependOnThreads) {
  auto m = test::make_machine("torus", {"dims=[3,3]"}, "dimension-order", {}, 4);
  Survey one = survey_of(m, 4, 1), two = survey_of(m, 4, 2);
  ASSERT_EQ(one.cases.size(), two.cases.size());
  for (std::size_t i = 0; i < one.cases.size(); ++i) {
    EXPECT_EQ(one.cases[i].failed.text(*m.graph), two.cases[i].failed.text(*m.graph));
    EXPECT_EQ(one.cases[i].own_broken, two.cases[i].own_broken);
    EXPECT_EQ(one.cases[i].longest, two.cases[i].longest);
  }
}

TEST(Survey, PiecesOfABrokenNetworkStillTalkWithin) {
  // A 4 x 4 mesh cut in two halves: up*/down* must serve both.
  auto m = test::make_machine("mesh", {"dims=[4,4]"}, "up-down", {}, 2);
  topology::Faults faults(*m.graph);
  for (topology::CableId c = 0; c < m.graph->cables(); ++c) {
    RouterId a = m.graph->port_router(m.graph->cable_ends(c).a),
             b = m.graph->port_router(m.graph->cable_ends(c).b);
    if ((a % 4 == 1 && b % 4 == 2) || (a % 4 == 2 && b % 4 == 1)) faults.kill_cable(c);
  }
  auto routing = m.description.routing->make(m.description.routing_parameters.get(), *m.graph, faults);
  VerifyOptions how;
  how.channels = 2;
  Verdict v = verify(*routing, how);
  EXPECT_EQ(v.cut_off_pairs, 2u * 8 * 8);
  EXPECT_TRUE(v.serves_what_is_left());
}

TEST(Survey, IsACommand) {
  auto result = test::run_program({"check", "torus", "--set", "topology.dims=[4,4]", "--faults", "2"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("every one of 32 cables and 16 routers; 200 cases of several"));
  EXPECT_THAT(result.out, HasSubstr("torus survives every failure looked at"));
  result = test::run_program({"check", "mesh", "--set", "topology.dims=[3]", "--faults", "1"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("cable r0.p0: e0\n")) << "whom a failure cuts off is named";
}

}  // namespace
}  // namespace weft::routing
