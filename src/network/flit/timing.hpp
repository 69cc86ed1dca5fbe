// A machine's times in cycles of the flit engine.
//
// Flits move in whole cycles, times do not. So hops take the whole cycles within their time, and what is left
// of each, its remainder, is added up by the packet and made good when it arrives: a path's latency is exact,
// however many hops it has.
#pragma once

#include <cstdint>

#include "machine/machine.hpp"
#include "network/cycle_time.hpp"
#include "network/packet.hpp"

namespace weft::network::flit {

struct Timing {
  CycleTime cycle;
  // A head that arrives in cycle c requests a channel in c + route, for the switch `allocate` later, and is
  // on the cable `traverse` after it won the switch. Their sum is the router's latency.
  unsigned route_cycles = 1, allocate_cycles = 1, traverse_cycles = 2;
  unsigned endpoint_cycles = 1;    // between an endpoint and its router
  Remainder router_remainder = 0;  // of the router's latency

  unsigned router_cycles() const { return route_cycles + allocate_cycles + traverse_cycles; }
};

Timing timing_of(const machine::Machine& machine);

/// A cable, with the router before it: the time from router to router is what counts.
struct CableTiming {
  std::uint64_t cycles = 0;    // of flight
  std::uint64_t interval = 0;  // 1/256 cycles from flit to flit
  Remainder remainder = 0;
};
CableTiming cable_timing(const machine::Machine& machine, const Timing& timing, topology::CableId cable);

}  // namespace weft::network::flit
