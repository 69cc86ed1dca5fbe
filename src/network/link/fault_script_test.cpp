#include "network/link/fault_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines.hpp"

namespace weft::network::link {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const machine::Machine& torus() {
  static const machine::Machine m =
      test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 4,
                         {"cable.default.lanes=8", "cable.default.lane_rate=14Gbps",
                          "cable.default.fallback_rates=[\"10Gbps\", \"5Gbps\"]"});
  return m;
}

std::vector<FaultEvent> good(const std::string& text) {
  Diagnostics problems;
  auto events = parse_fault_script(text, "s", *torus().graph, problems);
  for (const Diagnostic& d : problems.all()) ADD_FAILURE() << d.text();
  return events;
}

TEST(FaultScript, ReadsEveryKindOfStatement) {
  auto events = good(
      "# a morning\n"
      "at 3us cut r12.p3; at 5us kill router 7\n"
      "at 8us restore r12.p3   # back again\n"
      "at 8us restore router r7\n"
      "at 9us lane r0.p1 5 stuck; at 9us lane r0.p1 6 10Gbps; at 9us lane r0.p1 5 heal\n"
      "at 9.5us flip r0.p1 packet 4 bit 17\n"
      "at 10us stall r0.p1 for 2us;;\n");
  using Kind = FaultEvent::Kind;
  std::vector<Kind> kinds;
  for (const FaultEvent& e : events) kinds.push_back(e.kind);
  EXPECT_THAT(kinds, ElementsAre(Kind::Cut, Kind::KillRouter, Kind::Restore, Kind::RestoreRouter, Kind::Lane,
                                 Kind::Lane, Kind::Lane, Kind::Flip, Kind::Stall));
  ASSERT_EQ(events.size(), 9u);
  EXPECT_EQ(events[0].at, Time{3'000'000});
  EXPECT_EQ(events[0].port, torus().graph->port(12, 3));
  EXPECT_EQ(events[0].text, "cut r12.p3");
  EXPECT_EQ(events[1].router, 7u);
  EXPECT_EQ(events[5].rate, 1u);
  EXPECT_EQ(events[7].packet, 4u);
  EXPECT_EQ(events[7].bit, 17u);
  EXPECT_EQ(events[8].duration, Time{2'000'000});
}

TEST(FaultScript, NamesTheCablesThatCanFail) {
  auto events = good("at 1us cut r0.p0; at 2us kill router 5");
  EXPECT_EQ(cables_of(events, *torus().graph).size(), 1u + 4u);
}

struct Bad {
  std::string script, place, reason;
};

class BadFaultScript : public ::testing::TestWithParam<Bad> {};

TEST_P(BadFaultScript, IsRefusedWithPlaceAndReason) {
  Diagnostics problems;
  parse_fault_script(GetParam().script, "faults.txt", *torus().graph, problems);
  ASSERT_FALSE(problems.empty()) << GetParam().script;
  EXPECT_THAT(problems.all().front().text(), HasSubstr("faults.txt:" + GetParam().place + ": "));
  EXPECT_THAT(problems.all().front().text(), HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Scripts, BadFaultScript,
    ::testing::Values(
        Bad{"cut r0.p0", "1:1", "expected a statement such as 'at 3us cut r12.p3', got 'cut'"},
        Bad{"at", "1:3", "expected a time after 'at'"}, Bad{"at noon cut r0.p0", "1:4", "expected a time"},
        Bad{"at 3 cut r0.p0", "1:4", "expected a time"},
        Bad{"at -3us cut r0.p0", "1:4", "-3us is in the past: a run starts at 0"},
        Bad{"at 3us", "1:7", "expected cut, restore, kill, lane, flip, stall after '3us'"},
        Bad{"at 3us cutt r0.p0", "1:8", "got 'cutt' (did you mean 'cut'?)"},
        Bad{"at 3us cut", "1:11", "expected a port such as r12.p3 after 'cut'"},
        Bad{"at 3us cut 12.3", "1:12", "expected a port such as r12.p3, got '12.3'"},
        Bad{"at 3us cut r16.p0", "1:12", "there is no router r16: there are r0 to r15"},
        Bad{"at 3us cut r0.p9", "1:12", "there is no port r0.p9: router r0 has p0 to p4"},
        Bad{"at 3us cut r0.p4", "1:12", "r0.p4 leads to endpoint e0, not to a cable"},
        Bad{"at 3us cut r0.p0 now", "1:18", "'now' is too much"},
        Bad{"at 3us cut r0.p0\nat 2us cut r0.p2", "2:4",
            "2us is in the past: the statement before it is at 3us"},
        Bad{"at 3us cut r0.p0\nat 4us cut r1.p1", "2:12", "that cable is cut already"},
        Bad{"at 3us restore r0.p0", "1:16", "that cable is up already"},
        Bad{"at 3us cut r0.p0; at 4us restore r0.p0; at 5us restore r0.p0", "1:56",
            "that cable is up already"},
        Bad{"at 3us kill 7", "1:13", "expected 'router', got '7'"},
        Bad{"at 3us kill router", "1:19", "expected a router's number after 'router'"},
        Bad{"at 3us kill router seven", "1:20", "expected a router's number, got 'seven'"},
        Bad{"at 3us kill router 16", "1:20", "there is no router r16"},
        Bad{"at 3us kill router 7; at 4us kill router 7", "1:42", "router r7 is dead already"},
        Bad{"at 3us restore router 7", "1:23", "router r7 is up already"},
        Bad{"at 3us kill router 7; at 4us cut r7.p0", "1:34", "router r7 at that cable was killed before"},
        Bad{"at 3us lane r0.p0", "1:18", "expected a lane's number after 'r0.p0'"},
        Bad{"at 3us lane r0.p0 8 stuck", "1:19",
            "there is no lane 8: cables of type 'default' have lanes 0 to 7"},
        Bad{"at 3us lane r0.p0 3 stcuk", "1:21", "(did you mean 'stuck'?)"},
        Bad{"at 3us lane r0.p0 3 7Gbps", "1:21", "expected one of the fallback_rates 10Gbps, 5Gbps"},
        Bad{"at 3us flip r0.p0 bit 3", "1:19", "expected 'packet', got 'bit'"},
        Bad{"at 3us flip r0.p0 packet 0 bit 3", "1:26", "packets are counted from 1"},
        Bad{"at 3us flip r0.p0 packet 2 bit", "1:31", "expected a bit's number after 'bit'"},
        Bad{"at 3us flip r0.p0 packet 2 bit 99999999999", "1:32",
            "expected a bit's number, got '99999999999'"},
        Bad{"at 3us stall r0.p0 2us", "1:20", "expected 'for', got '2us'"},
        Bad{"at 3us stall r0.p0 for 0us", "1:24", "expected a time above 0"}));

TEST(FaultScript, ReportsEveryBadStatementAtOnce) {
  Diagnostics problems;
  parse_fault_script("at 1us cut r99.p0\nat 2us cut r0.p0\nat 3us burn r0.p0\n", "f", *torus().graph,
                     problems);
  EXPECT_EQ(problems.size(), 2u);
}

TEST(FaultScript, AFileThatIsNotThereIsAMistake) {
  EXPECT_THROW(read_faults("no-such-file", *torus().graph), UserError);
  EXPECT_THROW(read_faults("  ;  ", *torus().graph), UserError);
  EXPECT_EQ(read_faults("at 1us cut r0.p0", *torus().graph).size(), 1u);
}

}  // namespace
}  // namespace weft::network::link
