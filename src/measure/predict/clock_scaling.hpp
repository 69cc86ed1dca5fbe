// Message rate, bandwidth and latency over all message sizes, and how they compare between two machines: how
// the EXTOLL paper tells what a change of the chip's clock does.
#pragma once

#include <array>
#include <vector>

#include "machine/machine.hpp"

namespace weft::measure {

struct ClockScaling {
  std::vector<std::uint64_t> sizes;
  std::vector<double> rate, bandwidth, latency;  // by size
};

ClockScaling clock_scaling(const machine::Machine& machine, bool quick);

/// Each figure compared with the base, averaged over the sizes; more is better for all three.
std::array<double, 3> compared(const ClockScaling& at, const ClockScaling& base);

}  // namespace weft::measure
