// One direction of a cable as a wire: frames under way, and everything that can go wrong with them.
//
// The sending end owns it and writes into the slot of the cycle of arrival; the receiving end reads the slot
// of the present cycle. Flight is at least one cycle, so the two never meet.
#pragma once

#include <vector>

#include "base/cycle.hpp"
#include "network/link/frame.hpp"
#include "network/link/lanes.hpp"
#include "network/link/scrambler.hpp"

namespace weft::network::link {

/// Bit errors at a rate: instead of asking for every bit, draws how many bits pass before the next error
/// (exact: the geometric distribution).
class BitErrors {
 public:
  BitErrors(std::uint64_t seed, std::uint64_t who, double rate);
  /// Calls flip(first bit) for every error that starts within the next `bits` bits.
  template <class Flip>
  void pass(std::uint64_t bits, Flip flip) {
    std::uint64_t at = 0;
    while (left_ < bits - at) {
      at += left_;
      flip(at++);
      draw();
    }
    left_ -= bits - at;
  }
  std::uint64_t random() { return bits(); }

 private:
  void draw();
  std::uint64_t bits();
  std::uint64_t seed_, who_, step_ = 0;
  double log_pass_;         // ln(1 - rate); 0: no errors
  std::uint64_t left_ = 0;  // bits before the next error
};

struct WireSettings {
  unsigned flit_bytes = 16;
  unsigned flight = 1;  // cycles
  unsigned lanes = 4;
  unsigned rates = 1;
  unsigned most_skew = 64;  // byte times the elastic buffer can hold a lane back
  double bit_error_rate = 0;
  unsigned error_burst = 1;
  std::vector<unsigned> lane_order;    // wire of each lane; empty: straight
  std::vector<double> lane_fail_rate;  // share of lanes that fail at each rate; what is missing is 0
  bool scrambled = false;
  std::uint64_t seed = 1, who = 0;
};

class Wire {
 public:
  explicit Wire(const WireSettings& settings);

  /// Puts a frame on the wire; faults do to it what they do.
  void put(Cycle now, const Frame& frame, const std::uint8_t* bytes, const LaneSet& lanes);
  /// What arrives now, or nothing. The receiver marks it as taken by making its kind Nothing.
  Frame* arriving(Cycle now, const std::uint8_t*& bytes);

  /// At the receiving end, where the sending one is another process: what that has put on the wire.
  void deliver(Cycle arrives, const Frame& frame, const std::uint8_t* bytes);

  void cut();
  void restore() { cut_ = false; }
  bool is_cut() const { return cut_; }
  void stall(Cycle until) { stalled_until_ = until; }
  /// A lane passes its test only at this rate and slower; `kBroken`: at none.
  static constexpr unsigned kBroken = 1000;
  void limit_lane(unsigned lane, unsigned rate);
  void heal_lane(unsigned lane);
  /// Damages one bit of a packet still to come: the `packet`-th whose first flit is sent from now on,
  /// counted from 1, at this bit of its bytes.
  void flip(std::uint32_t packet, std::uint32_t bit) { flips_.push_back({packets_ + packet, bit, -1}); }
  /// Nothing is under way any more, and both ends count from 0 again. Broken parts stay broken.
  void reset();

  std::uint64_t bits_damaged() const { return damaged_; }
  unsigned flight() const { return settings_.flight; }
  const Wiring& wiring() const { return wiring_; }

 private:
  struct Flip {
    std::uint64_t packet;
    std::uint32_t bit;
    int channel;  // it came on; -1 before its head
  };
  void clear();
  void lay_wires();
  template <class Step>
  void each_part(Frame& frame, std::uint8_t* bytes, Step step);
  void damage(Frame& frame, std::uint8_t* bytes, std::uint64_t image_bit);
  void apply_errors(Frame& frame, std::uint8_t* bytes);
  void apply_flips(const FlitHeader& sent, Frame& frame, std::uint8_t* bytes, bool first_time);
  void apply_broken_lanes(Frame& frame, std::uint8_t* bytes, const LaneSet& lanes, LaneMask broken);

  WireSettings settings_;
  BitErrors errors_;
  Wiring wiring_;
  Passing passing_;  // of the wiring as it is
  Scrambler scrambler_, descrambler_;
  std::vector<Frame> frames_;
  std::vector<std::uint8_t> bytes_;
  std::uint32_t mask_;
  bool cut_ = false;
  Cycle stalled_until_ = 0;
  std::vector<Flip> flips_;
  std::uint64_t packets_ = 0;  // sent for the first time
  std::uint32_t newest_ = 0;   // sequence after the last flit sent for the first time
  std::uint64_t damaged_ = 0;
};

}  // namespace weft::network::link
