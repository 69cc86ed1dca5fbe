// What is on the wire of a link in one cycle: a control part, and at most one flit.
//
// Both parts are plain bytes without padding, so that an error can hit any bit of them, and each carries a
// CRC-32. A flit's CRC goes on from that of the flit before it in its packet, so it covers the
// packet up to there: what has been checked may go on before the packet's end is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/crc.hpp"
#include "topology/cable.hpp"

namespace weft::network::link {

/// What a link says besides packets. Counts are absolute, so a message that is lost is made good by the next.
struct Control {
  std::uint32_t acknowledged;   // flits of the other direction taken in order
  std::uint16_t epoch;          // times this end has gone back
  std::uint16_t refused_epoch;  // with `refused`: the epoch in which something was damaged
  std::uint16_t credit;         // flits of `credit_channel` that have left the buffer at this end
  std::uint8_t credit_channel;
  std::uint8_t refused;    // 1: send again from `acknowledged` on
  std::uint8_t health;     // of the node: 0 is well
  std::uint8_t beat;       // 1: sent only to say that the link lives
  std::uint16_t occupied;  // flits standing in the buffer at this end
  std::uint32_t crc;
};
static_assert(sizeof(Control) == 20 && std::has_unique_object_representations_v<Control>);

struct FlitHeader {
  std::uint64_t entry;     // of a packet's first flit: who it is and where it goes
  std::uint32_t sequence;  // of the flit on this link
  std::uint16_t index;     // within its packet
  std::uint8_t channel;
  std::uint8_t marks;         // kHead, kTail
  std::uint32_t payload_crc;  // 'header-footer': of a footer, over the payload; else 0
  std::uint32_t crc;
};
static_assert(sizeof(FlitHeader) == 24 && std::has_unique_object_representations_v<FlitHeader>);

inline constexpr std::uint8_t kHead = 1, kTail = 2;

/// In training: what this end can receive at each rate, and whether it has heard the other.
inline constexpr unsigned kMaxRates = topology::kMaxLaneRates;
struct Training {
  std::uint32_t round;
  bool heard;
  std::uint64_t mine[kMaxRates];     // lanes this end receives well
  std::uint64_t arrived[kMaxRates];  // lanes on which this very frame came through
};

struct Frame {
  enum class Kind : std::uint8_t { Nothing, Flow, Training };
  Kind kind = Kind::Nothing;
  bool has_flit = false, has_control = false;
  Control control{};
  FlitHeader flit{};
  Training training{};
};

inline std::uint32_t control_crc(const Control& control) {
  return crc32(0, &control, offsetof(Control, crc));
}

/// Over a flit's header and bytes, going on from `before`.
inline std::uint32_t flit_crc(std::uint32_t before, const FlitHeader& flit, const std::uint8_t* bytes,
                              std::size_t size) {
  return crc32(crc32(before, &flit, offsetof(FlitHeader, crc)), bytes, size);
}

}  // namespace weft::network::link
