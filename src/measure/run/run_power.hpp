// What a run of programs drew: its energy by part and over time, on the nodes it had, from what ranks did and
// what interfaces and links carried; and how warm the machine is under such a load.
#pragma once

#include <array>
#include <vector>

#include "measure/run/run_details.hpp"
#include "measure/run/run_heat.hpp"
#include "measure/run/run_stats.hpp"
#include "power/body.hpp"

namespace weft::measure {

struct RunPower {
  unsigned nodes = 0;  // of the job
  double seconds = 0;
  std::array<double, power::kRoles> joules{};  // by role of parts
  double conversion = 0;                       // lost in converters and supplies
  double busy_share = 0;                       // of the processors' time
  double total() const;
  /// Of what the parts draw: taken as the same over the run.
  double conversion_share() const { return total() > conversion ? conversion / (total() - conversion) : 0; }
  double watts() const { return seconds > 0 ? total() / seconds : 0; }

  struct Slice {
    double seconds;  // where it begins
    std::array<double, power::kRoles> watts;
  };
  std::vector<Slice> slices;  // evenly, over the run

  RunHeat heat;
  // With all nodes of the machine at the job's load, long enough for a steady state.
  double steady_chip_c = 0, chip_limit_c = 0, steady_speed = 1, pue = 0;
};

/// `heat`: how fast chips were, which draw less where they are slow.
RunPower power_of(const ProgramResult& result, const RunDetails& details, const machine::Machine& machine,
                  const RunHeat& heat);

}  // namespace weft::measure
