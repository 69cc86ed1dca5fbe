// What the flit engine needs to know of a machine, in cycles and flits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "network/packet.hpp"

namespace weft::network::flit {

using machine::Allocator;
using machine::RouterKind;
using machine::Switching;

/// How long a cycle is: `picoseconds / over`, exactly.
struct CycleTime {
  std::int64_t picoseconds = 1000, over = 1;
  /// Whole cycles that cover a time.
  std::uint64_t cycles(Time t) const {
    return static_cast<std::uint64_t>((static_cast<__int128>(t.value) * over + picoseconds - 1) /
                                      picoseconds);
  }
  /// When a cycle ends or begins, to the picosecond.
  Time time(std::uint64_t cycles) const {
    return {static_cast<std::int64_t>(static_cast<__int128>(cycles) * picoseconds / over)};
  }
  double nanoseconds(double cycles) const {
    return cycles * static_cast<double>(picoseconds) / static_cast<double>(over) / 1000;
  }
};

/// A tiled router: port i sits in tile (i / columns, i % columns). A flit goes from its input buffer over the
/// row's bus into a row buffer of the tile in the output's column, through that tile's sub-crossbar into a
/// column buffer of the output's tile, and there through a multiplexer out.
struct Tiles {
  unsigned rows = 4, columns = 6;
  unsigned row_buffer_flits = 16, column_buffer_flits = 16;  // for all channels of an input, of a row
};

struct Settings {
  RouterKind kind = RouterKind::InputQueued;
  Tiles tiles;
  unsigned channels = 2;  // of each message class
  unsigned message_classes = 1;
  unsigned buffer_flits = 16;  // of each channel of an input port, its own
  unsigned shared_flits = 0;   // of each input port, for any of its channels (DAMQ)
  Switching switching = Switching::CutThrough;
  Allocator allocator = Allocator::Islip;
  unsigned iterations = 1;
  std::vector<unsigned> local_yield;  // by a router's local ports in turn
  unsigned local_headers = 0;         // of each channel of a local input, in a queue of their own; 0: none

  // A head that arrives in cycle c asks for a channel in c + route, for the switch `allocate` later, and is
  // on the cable `traverse` after it won the switch. Their sum is the router's latency.
  unsigned route_cycles = 1, allocate_cycles = 1, traverse_cycles = 2;
  unsigned endpoint_cycles = 1;               // between an endpoint and its router
  std::vector<std::uint16_t> cable_cycles;    // by cable
  std::vector<std::uint16_t> cable_interval;  // by cable: 1/256 cycles per flit
  Cycle age_limit = 0;                        // a packet in the network for longer ends the run; 0: none does
  bool tell_departures = false;               // Observer::departed is called
  unsigned threads = 1;
  std::uint64_t seed = 1;

  CycleTime cycle;

  unsigned all_channels() const { return channels * message_classes; }
};

/// What a machine's description means in cycles and flits. Throws UserError where it cannot be run: too few
/// channels for the routing, buffers smaller than `largest_packet_flits` under cut-through.
Settings settings_for(const machine::Machine& machine, unsigned largest_packet_flits);

}  // namespace weft::network::flit
