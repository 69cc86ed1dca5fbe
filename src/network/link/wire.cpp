#include "network/link/wire.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "base/random.hpp"

namespace weft::network::link {

BitErrors::BitErrors(std::uint64_t seed, std::uint64_t who, double rate)
    : seed_(seed), who_(who), log_pass_(std::log1p(-rate)) {
  draw();
}

std::uint64_t BitErrors::bits() { return random_bits(seed_, who_, step_++); }

void BitErrors::draw() {
  if (log_pass_ == 0) {
    left_ = std::numeric_limits<std::uint64_t>::max();
    return;
  }
  double uniform = (static_cast<double>(bits() >> 11) + 1) * 0x1p-53;  // in (0, 1]
  double gap = std::floor(std::log(uniform) / log_pass_);
  left_ = gap < 1e18 ? static_cast<std::uint64_t>(gap) : std::uint64_t{1} << 60;
}

Wire::Wire(const WireSettings& settings)
    : settings_(settings),
      errors_(settings.seed, settings.who, settings.bit_error_rate),
      wiring_(Wiring::straight(settings.lanes)) {
  WEFT_CHECK(settings.flight >= 1 && settings.rates <= kMaxRates && settings.lanes <= 64);
  std::uint32_t slots = std::bit_ceil(settings.flight + 1);
  mask_ = slots - 1;
  frames_.resize(slots);
  bytes_.resize(std::size_t{slots} * settings.flit_bytes);
  lay_wires();
}

/// Lanes cross as described, and those that fail at a rate are drawn.
void Wire::lay_wires() {
  if (!settings_.lane_order.empty()) wiring_.wire_of_lane = settings_.lane_order;
  WEFT_CHECK(wiring_.wire_of_lane.size() == settings_.lanes);
  for (unsigned lane = 0; lane < settings_.lanes && !settings_.lane_fail_rate.empty(); ++lane) {
    double quality =
        static_cast<double>(random_bits(settings_.seed, settings_.who * 64 + lane, 0) >> 11) * 0x1p-53;
    unsigned rate = 0;
    while (rate < settings_.lane_fail_rate.size() && quality < settings_.lane_fail_rate[rate]) ++rate;
    wiring_.passes_from[wiring_.wire_of_lane[lane]] = rate < settings_.rates ? rate : kBroken;
  }
  passing_ = test_lanes(wiring_, settings_.rates, settings_.most_skew);
}

/// What of a frame is on the wire, in its order there.
template <class Step>
void Wire::each_part(Frame& frame, std::uint8_t* bytes, Step step) {
  if (frame.has_flit) {
    step(reinterpret_cast<std::uint8_t*>(&frame.flit), sizeof(FlitHeader));
    step(bytes, settings_.flit_bytes);
  }
  if (frame.has_control) step(reinterpret_cast<std::uint8_t*>(&frame.control), sizeof(Control));
}

void Wire::put(Cycle now, const Frame& frame, const std::uint8_t* bytes, const LaneSet& lanes) {
  if (cut_ || now < stalled_until_) return;
  std::uint32_t slot = static_cast<std::uint32_t>(now + settings_.flight) & mask_;
  Frame& out = frames_[slot];
  std::uint8_t* out_bytes = &bytes_[std::size_t{slot} * settings_.flit_bytes];
  out = frame;
  if (out.has_flit) std::memcpy(out_bytes, bytes, settings_.flit_bytes);
  if (out.kind == Frame::Kind::Training) {
    for (unsigned rate = 0; rate < settings_.rates; ++rate) out.training.arrived[rate] = passing_[rate];
    descrambler_ = scrambler_;  // it has had good bits enough to find its place again
    return;
  }
  if (settings_.scrambled)
    each_part(out, out_bytes, [&](std::uint8_t* part, std::size_t size) { scrambler_.scramble(part, size); });
  apply_errors(out, out_bytes);
  if (out.has_flit) {
    bool first_time = frame.flit.sequence == newest_;
    if (first_time) {
      newest_ = frame.flit.sequence + 1;
      packets_ += frame.flit.marks & kHead;
    }
    if (!flips_.empty()) apply_flips(frame.flit, out, out_bytes, first_time);
    LaneMask broken = ~passing_[lanes.rate] & lanes.up;
    if (broken) apply_broken_lanes(out, out_bytes, lanes, broken);
  }
  // Idle words are not modelled: what an error at a frame's end spreads to hits the next frame, however late.
  if (settings_.scrambled)
    each_part(out, out_bytes,
              [&](std::uint8_t* part, std::size_t size) { descrambler_.descramble(part, size); });
}

Frame* Wire::arriving(Cycle now, const std::uint8_t*& bytes) {
  std::uint32_t slot = static_cast<std::uint32_t>(now) & mask_;
  bytes = &bytes_[std::size_t{slot} * settings_.flit_bytes];
  return frames_[slot].kind == Frame::Kind::Nothing ? nullptr : &frames_[slot];
}

void Wire::deliver(Cycle arrives, const Frame& frame, const std::uint8_t* bytes) {
  const std::uint32_t slot = static_cast<std::uint32_t>(arrives) & mask_;
  frames_[slot] = frame;
  if (frame.has_flit)
    std::memcpy(&bytes_[std::size_t{slot} * settings_.flit_bytes], bytes, settings_.flit_bytes);
}

void Wire::clear() {
  for (Frame& frame : frames_) frame.kind = Frame::Kind::Nothing;
}

void Wire::reset() {
  clear();
  descrambler_ = scrambler_;
  newest_ = 0;
}

void Wire::cut() {
  cut_ = true;
  clear();
  descrambler_ = scrambler_;
}

void Wire::limit_lane(unsigned lane, unsigned rate) {
  wiring_.passes_from.at(wiring_.wire_of_lane.at(lane)) = rate;
  passing_ = test_lanes(wiring_, settings_.rates, settings_.most_skew);
}

void Wire::heal_lane(unsigned lane) {
  wiring_.passes_from.at(wiring_.wire_of_lane.at(lane)) = 0;
  passing_ = test_lanes(wiring_, settings_.rates, settings_.most_skew);
}

// A frame's image, for damage: the flit's header, its bytes, then the control part.
void Wire::damage(Frame& frame, std::uint8_t* bytes, std::uint64_t bit) {
  std::uint64_t byte = bit / 8;
  auto mask = static_cast<std::uint8_t>(1u << (bit % 8));
  std::uint64_t header = frame.has_flit ? sizeof(FlitHeader) : 0;
  std::uint64_t body = frame.has_flit ? settings_.flit_bytes : 0;
  if (byte < header)
    reinterpret_cast<std::uint8_t*>(&frame.flit)[byte] ^= mask;
  else if (byte < header + body)
    bytes[byte - header] ^= mask;
  else if (byte < header + body + sizeof(Control))
    reinterpret_cast<std::uint8_t*>(&frame.control)[byte - header - body] ^= mask;
  else
    return;
  ++damaged_;
}

void Wire::apply_errors(Frame& frame, std::uint8_t* bytes) {
  // The wire carries the flit's bytes with its share of CRC, and 8 bytes of control; the image below is
  // larger, because the model keeps numbers whole that hardware packs, so places are scaled.
  std::uint64_t flit_bits = frame.has_flit ? 8ull * settings_.flit_bytes + 32 : 0;
  std::uint64_t control_bits = frame.has_control ? 64 : 0;
  errors_.pass(flit_bits + control_bits, [&](std::uint64_t at) {
    std::uint64_t flit_image = frame.has_flit ? 8 * (sizeof(FlitHeader) + settings_.flit_bytes) : 0;
    std::uint64_t first = at < flit_bits
                              ? at * flit_image / flit_bits
                              : flit_image + (at - flit_bits) * (8 * sizeof(Control)) / control_bits;
    damage(frame, bytes, first);
    if (settings_.error_burst == 1) return;
    std::uint64_t pattern = 0;
    for (unsigned i = 1; i + 1 < settings_.error_burst; ++i) {
      if (i % 64 == 1) pattern = errors_.random();
      if (pattern & 1) damage(frame, bytes, first + i);
      pattern >>= 1;
    }
    damage(frame, bytes, first + settings_.error_burst - 1);
  });
}

void Wire::apply_flips(const FlitHeader& sent, Frame& frame, std::uint8_t* bytes, bool first_time) {
  if (!first_time) return;  // what goes again goes whole
  std::uint32_t flit_bits = 8 * settings_.flit_bytes;
  std::erase_if(flips_, [&](Flip& flip) {
    if (flip.channel < 0 && (sent.marks & kHead) && flip.packet == packets_) flip.channel = sent.channel;
    if (flip.channel != sent.channel) return false;
    bool hits = flip.bit / flit_bits == sent.index;
    if (hits) damage(frame, bytes, 8 * sizeof(FlitHeader) + flip.bit % flit_bits);
    return hits || (sent.marks & kTail);  // a bit beyond the packet's end has nothing to hit
  });
}

// Until the ends have tested their lanes anew, a broken lane goes on carrying its share. What the descrambler
// makes of a lane that does not move is noise, so every byte of it is changed.
void Wire::apply_broken_lanes(Frame& frame, std::uint8_t* bytes, const LaneSet& lanes, LaneMask broken) {
  auto spoil = [&](std::uint8_t* at, std::size_t size, std::size_t first) {
    for (std::size_t i = 0; i < size; ++i) {
      if (!(broken >> lane_of_byte(lanes.up, first + i) & 1)) continue;
      auto noise = static_cast<std::uint8_t>(errors_.random() | 1);
      at[i] ^= noise;
      damaged_ += static_cast<std::uint64_t>(std::popcount(noise));
    }
  };
  spoil(reinterpret_cast<std::uint8_t*>(&frame.flit), sizeof(FlitHeader), 0);
  spoil(bytes, settings_.flit_bytes, sizeof(FlitHeader));
}

}  // namespace weft::network::link
