#include "network/link/reconfigure.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "machines.hpp"

namespace weft::network::link {
namespace {

using Action = Reconfigurer::Action;
using Phase = Reconfigurer::Phase;

Reconfigurer make(const machine::Machine& m, const ReconfigureSettings& settings) {
  routing::VerifyOptions how;
  how.channels = m.description.router.channels;
  how.threads = 1;
  return Reconfigurer(*m.description.routing, m.description.routing_parameters.get(), *m.graph, *m.faults,
                      how, settings);
}

TEST(Reconfigure, GoesFromAReportToNewRoutesInItsTime) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 4);
  ReconfigureSettings s{.report = 10, .compute = 20, .write_per_router = 3, .quiet = 5, .longest_drain = 100};
  Reconfigurer r = make(m, s);
  EXPECT_EQ(r.step(0, true, false), Action::None);
  r.report(0, true, 100);
  r.report(0, true, 101);  // the other end says the same
  for (Cycle now = 100; now < 110; ++now) EXPECT_EQ(r.step(now, false, true), Action::None);
  EXPECT_EQ(r.step(110, false, true), Action::StopSending);
  for (Cycle now = 111; now < 130; ++now)
    EXPECT_EQ(r.step(now, false, true), Action::None) << "still draining";
  EXPECT_EQ(r.step(130, true, false), Action::None) << "empty: nothing to take back";
  EXPECT_EQ(r.phase(), Phase::Writing);
  EXPECT_EQ(r.routing_name(), "dimension-order") << "the old relation until the last table is written";
  Cycle done = 130 + 20 + 3 * 12;
  for (Cycle now = 131; now < done; ++now) EXPECT_EQ(r.step(now, true, false), Action::None);
  EXPECT_EQ(r.step(done, true, false), Action::Switch);
  EXPECT_EQ(r.routing_name(), "fault-avoiding over dimension-order");
  EXPECT_TRUE(r.verdict().serves_what_is_left());
  EXPECT_TRUE(r.faults().cable_dead(0));
  EXPECT_EQ(r.phase(), Phase::Steady);
}

TEST(Reconfigure, TakesBackWhatCannotLeave) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 4);
  ReconfigureSettings s{.report = 1, .compute = 1, .write_per_router = 1, .quiet = 50, .longest_drain = 1000};
  Reconfigurer r = make(m, s);
  r.report(3, true, 0);
  EXPECT_EQ(r.step(1, false, true), Action::StopSending);
  for (Cycle now = 2; now < 51; ++now) EXPECT_EQ(r.step(now, false, false), Action::None);
  EXPECT_EQ(r.step(51, false, false), Action::TakeBack) << "nothing has moved for 50 cycles";
}

TEST(Reconfigure, AReportTakenBackInTimeChangesNothing) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 4);
  Reconfigurer r = make(m, {.report = 10});
  r.report(3, true, 0);
  r.report(3, false, 5);
  EXPECT_EQ(r.step(10, false, true), Action::None);
  EXPECT_EQ(r.phase(), Phase::Steady);
}

TEST(Reconfigure, RoutesCanBeAskedFor) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 4);
  Reconfigurer r = make(m, {.report = 10, .compute = 5, .write_per_router = 0});
  r.ask_for_routes(3);
  EXPECT_EQ(r.step(13, true, false), Action::StopSending);
  EXPECT_EQ(r.step(14, true, false), Action::None);
  EXPECT_EQ(r.step(19, true, false), Action::Switch);
  EXPECT_EQ(r.phase(), Phase::Steady);
}

TEST(Reconfigure, ReportsDuringARoundStartTheNext) {
  auto m = test::make_machine("torus", {"dims=[4,3]"}, "dimension-order", {}, 4);
  ReconfigureSettings s{.report = 1, .compute = 10, .write_per_router = 0, .quiet = 5, .longest_drain = 10};
  Reconfigurer r = make(m, s);
  r.report(3, true, 0);
  EXPECT_EQ(r.step(1, true, false), Action::StopSending);
  EXPECT_EQ(r.step(2, true, false), Action::None);
  r.report(5, true, 3);
  EXPECT_EQ(r.step(12, true, false), Action::Switch);
  EXPECT_TRUE(r.faults().cable_dead(3));
  EXPECT_FALSE(r.faults().cable_dead(5));
  EXPECT_EQ(r.step(13, true, false), Action::StopSending);
  EXPECT_EQ(r.step(14, true, false), Action::None);
  EXPECT_EQ(r.step(24, true, false), Action::Switch);
  EXPECT_TRUE(r.faults().cable_dead(5));
}

// Random reports against a model of a network that drains or does not: sending stops before a switch, the
// network is empty at every switch, every relation is proved, and the last one knows every report.
TEST(Reconfigure, NoPacketOfTheOldRelationMeetsTheNew) {
  auto m = test::make_machine("torus", {"dims=[3,3]"}, "dimension-order", {}, 4);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ReconfigureSettings s{.report = 1 + random_below(seed, 0, 0, 30),
                          .compute = random_below(seed, 0, 1, 30),
                          .write_per_router = random_below(seed, 0, 2, 3),
                          .quiet = 20,
                          .longest_drain = 200};
    Reconfigurer r = make(m, s);
    std::vector<bool> dead(m.graph->cables());
    unsigned in_network = 5;
    bool sending = true;
    std::uint64_t switches = 0;
    for (Cycle now = 0; now < 4000; ++now) {
      if (now < 3000 && random_below(seed, 1, now, 200) == 0) {
        std::uint32_t cable = random_below(seed, 2, now, m.graph->cables());
        dead[cable] = !dead[cable];
        r.report(cable, dead[cable], now);
      }
      bool moved =
          random_below(seed, 3, now, 3) == 0 && in_network > 0 && random_below(seed, 4, now / 500, 2);
      if (sending && in_network < 50) ++in_network;
      if (moved) --in_network;
      switch (r.step(now, in_network == 0, moved)) {
        case Action::None:
          break;
        case Action::StopSending:
          EXPECT_TRUE(sending);
          sending = false;
          break;
        case Action::TakeBack:
          EXPECT_FALSE(sending);
          in_network = 0;
          break;
        case Action::Switch:
          EXPECT_FALSE(sending);
          EXPECT_EQ(in_network, 0u);
          EXPECT_TRUE(r.verdict().serves_what_is_left());
          sending = true;
          ++switches;
          break;
      }
    }
    for (topology::CableId c = 0; c < m.graph->cables(); ++c)
      EXPECT_EQ(r.faults().cable_dead(c), dead[c]) << "cable " << c;
    EXPECT_GT(switches, 0u);
  }
}

}  // namespace
}  // namespace weft::network::link
