// The physical layer: serial lanes bonded into one link.
//
// Bytes are striped over the lanes that are up. Wires may be crossed and each lane may be late; training
// frames tell the receiver which lane came in on which wire, how late, and whether it can be used. Both ends
// then agree on the lanes and the rate both can work with (TH Express-2, 2.1.1 and 4.3).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/cable.hpp"

namespace weft::network::link {

using LaneMask = std::uint64_t;

inline LaneMask all_lanes(unsigned lanes) { return lanes >= 64 ? ~LaneMask{0} : (LaneMask{1} << lanes) - 1; }

/// What a link runs on: the lanes that are up, and the rate of each (0: nominal, then the fall-back rates).
struct LaneSet {
  LaneMask up = 0;
  unsigned rate = 0;
  unsigned count() const { return static_cast<unsigned>(std::popcount(up)); }
  friend bool operator==(const LaneSet&, const LaneSet&) = default;
};

/// The rates of a lane, fastest first.
std::vector<DataRate> lane_rates(const topology::CableType& type);
/// What is left for packets on a set of lanes.
DataRate payload_rate(const topology::CableType& type, const LaneSet& set);

/// Lanes that pass the test at each rate, fastest first.
using Passing = std::vector<LaneMask>;

/// The fastest rate at which enough lanes pass; nothing where there is none.
std::optional<LaneSet> select_lanes(const Passing& passing, unsigned fewest);
/// What both ends of a cable can use, each having tested what it receives. The same whoever asks.
std::optional<LaneSet> agree(const Passing& here, const Passing& there, unsigned fewest);

/// The lane that carries byte `index` of a frame: bytes go round the lanes that are up.
unsigned lane_of_byte(LaneMask up, std::size_t index);

/// How the wires of one direction are: who is crossed with whom, who is late, who is broken.
struct Wiring {
  std::vector<unsigned> wire_of_lane;  // a permutation
  std::vector<unsigned> skew;          // by wire, in byte times
  std::vector<unsigned> passes_from;   // by wire: number of the fastest rate it passes at; large: none
  static Wiring straight(unsigned lanes);
};

/// What arrives on each wire, a byte at each byte time.
using Wires = std::vector<std::vector<std::uint8_t>>;

/// One lane's training frame: a mark no other place in it has, the lane's number, and words that exercise the
/// lane (a different sequence on each).
std::vector<std::uint8_t> training_frame(unsigned lane);
inline constexpr unsigned kTrainingBytes = 64;

/// Sends frames on all lanes, or bytes striped over those of a set, over wires as they are.
Wires send_training(const Wiring& wiring, unsigned rate);
Wires send_striped(std::span<const std::uint8_t> bytes, LaneMask up, const Wiring& wiring, unsigned rate);

/// What a receiver learns from training: which lane is on which wire, and how long it must hold each back.
struct Alignment {
  LaneMask good = 0;                   // lanes whose frame came through whole
  std::vector<unsigned> wire_of_lane;  // for good lanes
  std::vector<unsigned> late;          // by lane, in byte times
};

/// `most_skew`: depth of the elastic buffer in byte times; a lane later than that is not usable.
Alignment align(const Wires& arrived, unsigned most_skew);
/// The bytes that were striped, put together again: lanes re-ordered and aligned.
std::vector<std::uint8_t> receive_striped(const Wires& arrived, const Alignment& alignment, LaneMask up,
                                          std::size_t bytes);

/// Tests every lane at every rate: what a receiver with an elastic buffer of that depth can use.
Passing test_lanes(const Wiring& wiring, unsigned rates, unsigned most_skew);

/// The buffer between the sender's clock and the receiver's. The sender puts in a word that may be skipped
/// after every `words_between` others; the receiver drops or repeats such words to stay near the middle.
class ElasticBuffer {
 public:
  ElasticBuffer(unsigned depth, unsigned words_between) : depth_(depth), between_(words_between) {}
  /// Largest difference of the two clocks, in parts per million, that it takes without overrun.
  double tolerance_ppm() const;
  /// What came out in so many beats of the receiver's clock.
  struct Run {
    bool whole = true;  // the buffer neither ran over nor ran dry
    std::uint64_t payload = 0, dropped = 0, repeated = 0;
  };
  /// Word by word, with a sender's clock faster by `ppm` than the receiver's.
  Run run(double ppm, std::uint64_t beats) const;
  bool runs(double ppm, std::uint64_t beats) const { return run(ppm, beats).whole; }

 private:
  unsigned depth_, between_;
};

}  // namespace weft::network::link
