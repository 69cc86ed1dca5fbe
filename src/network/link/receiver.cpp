// The receiving half of a link.
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "network/link/protocol.hpp"

namespace weft::network::link {

Receiver::Receiver(const LinkSettings& settings)
    : flit_bytes_(settings.flit_bytes),
      selective_(settings.retry == topology::Retry::HeaderFooter),
      crc_(settings.channels) {
  std::uint32_t room = selective_ ? std::bit_ceil(settings.window) : 1;
  mask_ = room - 1;
  held_.resize(room);
  held_bytes_.resize(std::size_t{room} * flit_bytes_);
}

void Receiver::refuse() {
  refused_ = true;
  refused_epoch_ = peer_epoch_;
  speak_ = true;
}

void Receiver::hand_over(const FlitHeader& flit, Arrival& out) const {
  out.has_flit = true;
  out.flit = {flit.entry, flit.channel, (flit.marks & kHead) != 0, (flit.marks & kTail) != 0};
  out.damaged = false;
}

bool Receiver::take(const FlitHeader& flit, const std::uint8_t* bytes, Arrival& out, LinkCounters& counters) {
  if (selective_) return hold(flit, bytes, counters) && take_held(out, counters);
  if (!accept_packet_mode(flit, bytes, counters)) return false;
  hand_over(flit, out);
  out.bytes = bytes;
  return true;
}

bool Receiver::accept_packet_mode(const FlitHeader& flit, const std::uint8_t* bytes, LinkCounters& counters) {
  if (static_cast<std::int32_t>(flit.sequence - expected_) < 0) {  // here already: its answer was lost
    speak_ = true;
    return false;
  }
  bool in_turn = flit.sequence == expected_ && flit.channel < crc_.size();
  std::uint32_t before = in_turn && !(flit.marks & kHead) ? crc_[flit.channel] : 0;
  bool intact = in_turn && flit_crc(before, flit, bytes, flit_bytes_) == flit.crc;
  if (!intact) {
    counters.refused += in_turn;
    refuse();
    return false;
  }
  crc_[flit.channel] = flit.crc;
  ++expected_;
  ++counters.accepted;
  refused_ = false;
  speak_ = true;
  return true;
}

// 'header-footer': a flit whose header is intact has its place, whatever came before it. Damaged payload is
// taken as it is; a damaged header or footer is asked for again, and nothing overtakes it.
bool Receiver::hold(const FlitHeader& flit, const std::uint8_t* bytes, LinkCounters& counters) {
  bool payload = !(flit.marks & (kHead | kTail));
  bool intact = (payload ? flit_crc(0, flit, nullptr, 0) : flit_crc(0, flit, bytes, flit_bytes_)) == flit.crc;
  if (intact && static_cast<std::int32_t>(flit.sequence - expected_) < 0) {
    speak_ = true;
    return false;
  }
  if (!intact || flit.sequence - expected_ > mask_) {
    ++counters.refused;
    refuse();
    return false;
  }
  Held& place = held_[flit.sequence & mask_];
  place = {flit, true};
  std::memcpy(&held_bytes_[std::size_t{flit.sequence & mask_} * flit_bytes_], bytes, flit_bytes_);
  if (!held_[expected_ & mask_].here) refuse();
  return true;
}

bool Receiver::take_held(Arrival& out, LinkCounters& counters) {
  if (!selective_) return false;
  Held& place = held_[expected_ & mask_];
  if (!place.here) return false;
  WEFT_CHECK(place.flit.sequence == expected_);
  const std::uint8_t* bytes = &held_bytes_[std::size_t{expected_ & mask_} * flit_bytes_];
  hand_over(place.flit, out);
  out.bytes = bytes;
  std::uint32_t& crc = crc_[out.flit.channel];
  if (out.flit.head) crc = 0;
  if (!out.flit.head && !out.flit.tail) crc = crc32(crc, bytes, flit_bytes_);
  out.damaged = out.flit.tail && place.flit.payload_crc != crc;
  counters.damaged_packets += out.damaged;
  place.here = false;
  ++expected_;
  ++counters.accepted;
  refused_ = false;
  speak_ = true;
  return true;
}

void Receiver::fill(Control& control) const {
  control.acknowledged = expected_;
  control.refused = refused_;
  control.refused_epoch = refused_epoch_;
}

}  // namespace weft::network::link
