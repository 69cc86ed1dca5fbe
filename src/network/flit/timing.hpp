// A machine's times in cycles of the flit engine.
//
// Flits move in whole cycles, times do not. So hops take the whole cycles within their time, and what is left
// of each, its remainder, is added up by the packet and made good when it arrives: a path's latency is exact,
// however many hops it has.
#pragma once

#include <cstdint>

#include "machine/machine.hpp"
#include "network/packet.hpp"

namespace weft::network::flit {

/// How long a cycle is: `picoseconds / over`, exactly.
struct CycleTime {
  std::int64_t picoseconds = 1000, over = 1;
  /// Whole cycles that cover a time.
  std::uint64_t cycles(Time t) const {
    return static_cast<std::uint64_t>((static_cast<__int128>(t.value) * over + picoseconds - 1) /
                                      picoseconds);
  }
  /// Whole cycles within a time, and what is left of it.
  std::uint64_t whole_cycles(Time t) const {
    return static_cast<std::uint64_t>(static_cast<__int128>(t.value) * over / picoseconds);
  }
  Remainder remainder(Time t, std::uint64_t less_cycles) const {
    __int128 rest = static_cast<__int128>(t.value) * over - static_cast<__int128>(less_cycles) * picoseconds;
    return static_cast<Remainder>(rest * kCycleParts / picoseconds);
  }
  /// When a cycle ends or begins, to the picosecond.
  Time time(std::uint64_t cycles, Remainder parts = 0) const {
    __int128 all = static_cast<__int128>(cycles) * kCycleParts + parts;
    return {static_cast<std::int64_t>(all * picoseconds / over / kCycleParts)};
  }
  double nanoseconds(double cycles) const {
    return cycles * static_cast<double>(picoseconds) / static_cast<double>(over) / 1000;
  }
};

struct Timing {
  CycleTime cycle;
  // A head that arrives in cycle c asks for a channel in c + route, for the switch `allocate` later, and is
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
