// The management network ([management]): a tree of its own beside the machine's, by which one station reads
// the monitors of every chip.
#pragma once

#include "base/quantity.hpp"
#include "config/schema.hpp"

namespace weft::machine {

struct ManagementParameters {
  DataRate rate{1'000'000'000};
  Time latency{10'000'000};
  unsigned fan_out = 48;
  DataSize request{64};
  DataSize header{64};
  DataSize port_state{64};
};

const config::Section& management_section();

}  // namespace weft::machine
