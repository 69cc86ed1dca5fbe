// What the flit engine needs to know of a machine, in cycles and flits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "network/flit/timing.hpp"
#include "network/packet.hpp"
#include "network/ranks.hpp"

namespace weft::network::flit {

using machine::Allocator;
using machine::Switching;

struct Settings : Timing {
  machine::RouterModel router = {};
  unsigned inner_own_flits = 1;  // of an inner port's buffer, for each channel alone
  unsigned channels = 2;         // of each message class
  unsigned message_classes = 1;  // of all traffic classes; without that of packets for many, behind them
  std::vector<unsigned> class_weights{1};  // by traffic class, which have equally many message classes
  unsigned buffer_flits = 16;              // of each channel of an input port, its own
  unsigned shared_flits = 0;               // of each input port, for any of its channels (DAMQ)
  Switching switching = Switching::CutThrough;
  Allocator allocator = Allocator::Islip;
  unsigned iterations = 1;
  std::vector<unsigned> local_yield;  // by a router's local ports in turn
  unsigned local_headers = 0;         // of each channel of a local input, in a queue of their own; 0: none

  Cycle reduction_cycles = 0;         // from a group's last contribution to what all make together,
  Remainder reduction_remainder = 0;  // and what is left of that time

  std::vector<std::uint16_t> cable_cycles;    // by cable
  std::vector<std::uint16_t> cable_interval;  // by cable: 1/256 cycles per flit
  std::vector<std::uint16_t>
      cable_buffer;                        // by cable: of each channel, instead of buffer_flits; may be empty
  std::vector<Remainder> cable_remainder;  // by cable: of a hop over it; may be empty
  std::uint32_t most_packets = 1u << 24;   // at once; room is reserved for them
  unsigned source_queue = 0;     // packets that wait at an endpoint before it refuses; 0: any number
  Cycle age_limit = 0;           // a packet in the network for longer ends the run; 0: none does
  bool tell_departures = false;  // Observer::departed is called
  unsigned threads = 1;          // of this process; once there is a fabric, of all ranks together
  Ranks* ranks = nullptr;        // who run the machine together with this process
  std::uint64_t seed = 1;

  bool multicast() const { return router.multicast; }
  unsigned traffic_classes() const { return static_cast<unsigned>(class_weights.size()); }
  bool weighted() const { return class_weights.size() > 1; }
  unsigned traffic_class_of(unsigned message_class) const {
    return weighted() ? message_class * traffic_classes() / message_classes : 0;
  }
  bool reduces() const { return router.reduction.groups > 0; }
  unsigned all_channels() const { return channels * (message_classes + multicast()); }
};

/// Whether Observer::departed is called when a packet starts: then nothing comes between its flits.
inline bool tells_departures_ahead(const Settings& settings, bool link_layer) {
  return settings.tell_departures && settings.switching == Switching::CutThrough && !link_layer;
}

/// What a machine's description means in cycles and flits. Throws UserError where it cannot be run: too few
/// channels for the routing, buffers smaller than `largest_packet_flits` under cut-through.
Settings settings_for(const machine::Machine& machine, unsigned largest_packet_flits);

}  // namespace weft::network::flit
