#include "network/flit/settings.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"

namespace weft::network::flit {
namespace {

machine::Machine grid(const std::vector<std::string>& settings) {
  return machine::build(machine::describe_text(
      "[topology]\nkind = \"mesh\"\ndims = [3]\n[routing]\nkind = \"dimension-order\"\n[router]\nflit = "
      "\"8B\"\n"
      "latency = \"20ns\"\n[cable.default]\nlanes = 1\nlane_rate = \"10Gbps\"\ncoding = \"none\"\n",
      "test", settings));
}

TEST(FlitSettings, MarksOfAFlitTakeTimeOnTheLink) {
  // 64 data bits, and with 4 + 2 bits beside them 70: a flit takes 7 ns instead of 6.4.
  machine::Machine plain = grid({}), marked = grid({"router.flit_overhead_bits=6"});
  EXPECT_DOUBLE_EQ(settings_for(plain, 1).cycle.nanoseconds(10), 64);
  EXPECT_DOUBLE_EQ(settings_for(marked, 1).cycle.nanoseconds(10), 70);
}

TEST(FlitSettings, TimesAndCyclesAgree) {
  for (CycleTime clock :
       {CycleTime{1000, 1}, CycleTime{6400, 1}, CycleTime{1'000'000, 849}, CycleTime{10, 3}})
    for (std::uint64_t cycle : {0ull, 1ull, 2ull, 3ull, 1000ull, 123'456'789ull})
      EXPECT_EQ(clock.cycles(clock.time(cycle)), cycle);
}

}  // namespace
}  // namespace weft::network::flit
