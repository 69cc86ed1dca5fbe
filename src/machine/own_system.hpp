// Accelerators that run an operating system of their own. Such a one is the processor of its node: programs
// and Linux nodes that are placed there run on its cores, in its memory, and the interface reaches both over
// its link.
#pragma once

#include "machine/description.hpp"

namespace weft::machine {

/// The accelerator that runs what a node runs; null where a processor does.
const Device* own_system_of(const Description& description, std::uint32_t node);

/// What is between a node's interface and the memory its programs lie in: `host`, or the link of such an
/// accelerator.
node::BusParameters bus_of(const Description& description, const HostParameters& host, std::uint32_t node);

/// No node has a processor beside such an accelerator, nor two of them. `endpoints`: negative where it is not
/// known.
void check_own_systems(const Description& description, double endpoints, Diagnostics& problems);

}  // namespace weft::machine
