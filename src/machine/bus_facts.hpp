// What is known of a host's bus beyond its rate.
#pragma once

#include "machine/nic_parameters.hpp"

namespace weft::machine {

/// Bytes that go the other way for each transaction: acknowledgements and credits.
unsigned bus_acknowledgement(Bus bus);
/// Serial lanes, each with a transceiver; 0: the bus is parallel.
unsigned bus_lanes(Bus bus);

}  // namespace weft::machine
