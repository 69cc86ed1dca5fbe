// Buffers against the time their credits take: what a cable needs to be kept busy, and what it has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "network/flit/timing.hpp"

namespace weft::network::flit {

/// Cycles from a flit's winning the switch until the credit for its place behind the cable is back, when
/// nobody is in its way there.
unsigned credit_round_trip(const Timing& timing, unsigned cable_cycles);

/// Flits of each channel's own buffer behind a cable, as the description says or, where it says "auto": a
/// credit's round trip at the cable's rate, and the longest packet, which cut-through takes room for as a
/// whole.
unsigned buffer_flits(const machine::Machine& machine, const Timing& timing, topology::CableId cable,
                      unsigned longest_packet_flits);
/// The same of the buffers behind an endpoint's link to its router.
unsigned local_buffer_flits(const machine::Machine& machine, const Timing& timing,
                            unsigned longest_packet_flits);

/// Flits of the longest packet that the machine's interface sends, or of what traces are cut into where that
/// is less.
unsigned usual_packet_flits(const machine::Machine& machine);

/// Cables of one type and length, and the buffer at either end of them.
struct CableBuffers {
  std::string type;
  std::uint32_t cables = 0;
  unsigned round_trip_cycles = 0;
  unsigned round_trip_flits = 0;  // what the cable carries in that time
  unsigned channels = 0;          // of each message class
  unsigned own_flits = 0;         // of each channel
  unsigned shared_flits = 0;      // of the port
  unsigned flit_bytes = 0;

  /// Of a port, for one message class.
  unsigned port_flits() const { return channels * own_flits + shared_flits; }
  /// The share of the cable's rate that its credits allow, of one channel and of all together.
  double one_channel() const { return share(own_flits + shared_flits); }
  double all_channels() const { return share(port_flits()); }

 private:
  double share(unsigned flits) const {
    return flits >= round_trip_flits ? 1 : static_cast<double>(flits) / round_trip_flits;
  }
};

/// Of all cables of a machine, in the order of their types and lengths.
std::vector<CableBuffers> cable_buffers(const machine::Machine& machine);

/// One sentence for each of these whose buffers cap it below its rate.
std::vector<std::string> buffer_warnings(const std::vector<CableBuffers>& buffers);

}  // namespace weft::network::flit
