// One chip of one node, for a moment in which the coolant around it stays as it is.
//
// The plant has one set of states for all nodes of a zone. A job's nodes do not all do the same: each has
// chips of its own, in the coolant that the plant has.
#pragma once

#include "power/thermal/medium.hpp"

namespace weft::power::thermal {

struct Chip {
  double junction_c = 0, surface_c = 0;
};

/// Power of a chip at a load and temperature; W. Far beyond its limit a chip no longer works, and draws
/// nothing.
double chip_watts(const Part& part, double load, double junction_c);

/// What becomes of a chip in so many seconds at a load; the medium has been prepared for its state.
Chip chip_after(Chip chip, const Part& part, double load, const Medium& medium, double seconds);

}  // namespace weft::power::thermal
