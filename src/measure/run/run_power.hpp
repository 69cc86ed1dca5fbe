// What a run of programs drew: its energy by part and over time, on the nodes it had, from what ranks did and
// what interfaces and links carried; and how warm the machine is under such a load.
#pragma once

#include <array>
#include <vector>

#include "measure/run/run_details.hpp"
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
  double watts() const { return seconds > 0 ? total() / seconds : 0; }

  struct Slice {
    double seconds;  // where it begins
    std::array<double, power::kRoles> watts;
  };
  std::vector<Slice> slices;  // evenly, over the run

  // With all nodes of the machine at the job's load, long enough for a steady state.
  double steady_chip_c = 0, chip_limit_c = 0, steady_speed = 1, pue = 0;
};

/// How the machine is when the job starts.
struct BodyState {
  std::vector<double> speed;  // by zone, of 1
  std::vector<bool> powered;
  unsigned nodes_of_zone = 1;
  double hottest_c = 0;
  bool shutdown = false;
  std::string cause;
  /// How many times as long a rank's work takes on a node; 0 where the node has no power.
  double slowness(std::uint32_t node) const;
};

/// An hour at full load, with what a script does meanwhile (`weft power --fault`). Throws UserError.
BodyState body_after(const power::Body& body, const std::string& script);

RunPower power_of(const ProgramResult& result, const RunDetails& details, const machine::Machine& machine);

}  // namespace weft::measure
