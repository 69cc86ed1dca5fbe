// The network by which the monitors of all chips are read, where it has a topology of its own
// ([management.topology]): its first endpoint is the station, the next are the machine's routers in order.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"

namespace weft::machine {

/// Links between the station and each router of the machine. Without a topology, levels of a tree of switches
/// with `fan_out` links each. Throws UserError where the topology has too few endpoints, or no way.
std::vector<std::uint32_t> management_hops(const Machine& machine);

}  // namespace weft::machine
