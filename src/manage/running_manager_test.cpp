#include "manage/running_manager.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"

namespace weft::manage {
namespace {

TEST(RunningManager, TakesTheTimeOfItsReadsAndWrites) {
  auto m = test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 4);
  auto larger = test::make_machine("torus", {"dims=[8,8]"}, "dimension-order", {}, 4);
  RunningManager manager(m, 0), further(m, 5), large(larger, 0);
  EXPECT_GT(manager.detect().value, 0);
  EXPECT_GT(large.detect().value, 4 * manager.detect().value) << "four times the routers, further away";
  topology::Faults faults(*m.graph);
  faults.kill_cable(3);
  const Time one = manager.write(faults);
  EXPECT_GT(one.value, 0);
  topology::Faults mended(*m.graph);
  EXPECT_GT(manager.write(mended).value, 0) << "and back";
  faults.kill_router(5);
  EXPECT_GT(further.write(faults).value, 0) << "its own router is dead: another takes over";
}

TEST(RunningManager, TwoOfThemAgree) {
  auto m = test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 4);
  RunningManager a(m, 3), b(m, 3);
  topology::Faults faults(*m.graph);
  faults.kill_cable(7);
  EXPECT_EQ(a.detect(), b.detect());
  EXPECT_EQ(a.write(faults), b.write(faults));
}

}  // namespace
}  // namespace weft::manage
