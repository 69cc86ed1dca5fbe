// What links carried, as counters of a trace.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "measure/run/transfers.hpp"
#include "report/trace.hpp"

namespace weft::report {

/// Of the busiest links, in a hundredth of the run each.
void trace_links(Trace& trace, const std::vector<measure::Transfer>& transfers, Time end,
                 const machine::Machine& machine);

}  // namespace weft::report
