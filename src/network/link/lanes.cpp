#include "network/link/lanes.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/random.hpp"

namespace weft::network::link {

namespace {
constexpr std::uint8_t kMark[] = {0xf6, 0xf6, 0xf6, 0x28, 0x28, 0x28};  // repeats nowhere within a frame
constexpr std::uint8_t kNoise = 0x55;                                   // what a broken lane seems to send
}  // namespace

std::vector<DataRate> lane_rates(const topology::CableType& type) {
  std::vector<DataRate> out{type.lane_rate};
  out.insert(out.end(), type.fallback_rates.begin(), type.fallback_rates.end());
  return out;
}

DataRate payload_rate(const topology::CableType& type, const LaneSet& set) {
  return type.rate_of(set.count(), lane_rates(type).at(set.rate));
}

std::optional<LaneSet> select_lanes(const Passing& passing, unsigned fewest) {
  for (unsigned rate = 0; rate < passing.size(); ++rate) {
    LaneSet set{passing[rate], rate};
    if (set.count() >= std::max(1u, fewest)) return set;
  }
  return std::nullopt;
}

std::optional<LaneSet> agree(const Passing& here, const Passing& there, unsigned fewest) {
  WEFT_CHECK(here.size() == there.size(), "both ends of a cable know the same rates");
  Passing both(here.size());
  for (std::size_t rate = 0; rate < here.size(); ++rate) both[rate] = here[rate] & there[rate];
  return select_lanes(both, fewest);
}

unsigned lane_of_byte(LaneMask up, std::size_t index) {
  auto skip = static_cast<unsigned>(index % static_cast<unsigned>(std::popcount(up)));
  for (; skip > 0; --skip) up &= up - 1;
  return static_cast<unsigned>(std::countr_zero(up));
}

Wiring Wiring::straight(unsigned lanes) {
  Wiring out;
  for (unsigned i = 0; i < lanes; ++i) out.wire_of_lane.push_back(i);
  out.skew.assign(lanes, 0);
  out.passes_from.assign(lanes, 0);
  return out;
}

std::vector<std::uint8_t> training_frame(unsigned lane) {
  std::vector<std::uint8_t> out(std::begin(kMark), std::end(kMark));
  out.push_back(static_cast<std::uint8_t>(lane));
  out.push_back(static_cast<std::uint8_t>(~lane));
  // Words without the mark's bytes, so that nothing in the frame looks like its beginning.
  for (std::uint64_t step = 0; out.size() < kTrainingBytes; ++step) {
    auto byte = static_cast<std::uint8_t>(random_bits(0x7ea1, lane, step));
    if (byte != kMark[0]) out.push_back(byte);
  }
  return out;
}

namespace {

/// Puts one lane's bytes on its wire, late by the wire's skew, or noise where the wire does not pass.
void put(Wires& wires, const Wiring& wiring, unsigned lane, unsigned rate,
         const std::vector<std::uint8_t>& bytes) {
  unsigned wire = wiring.wire_of_lane[lane];
  std::vector<std::uint8_t>& out = wires[wire];
  out.assign(wiring.skew[wire], 0);
  bool passes = rate >= wiring.passes_from[wire];
  for (std::uint8_t byte : bytes) out.push_back(passes ? byte : kNoise);
}

}  // namespace

Wires send_training(const Wiring& wiring, unsigned rate) {
  Wires out(wiring.wire_of_lane.size());
  for (unsigned lane = 0; lane < out.size(); ++lane) put(out, wiring, lane, rate, training_frame(lane));
  return out;
}

Wires send_striped(std::span<const std::uint8_t> bytes, LaneMask up, const Wiring& wiring, unsigned rate) {
  std::vector<std::vector<std::uint8_t>> by_lane(wiring.wire_of_lane.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) by_lane[lane_of_byte(up, i)].push_back(bytes[i]);
  Wires out(by_lane.size());
  for (unsigned lane = 0; lane < out.size(); ++lane)
    if (up >> lane & 1) put(out, wiring, lane, rate, by_lane[lane]);
  return out;
}

Alignment align(const Wires& arrived, unsigned most_skew) {
  auto lanes = static_cast<unsigned>(arrived.size());
  Alignment out{0, std::vector<unsigned>(lanes), std::vector<unsigned>(lanes)};
  for (unsigned wire = 0; wire < lanes; ++wire) {
    const std::vector<std::uint8_t>& bytes = arrived[wire];
    auto mark = std::search(bytes.begin(), bytes.end(), std::begin(kMark), std::end(kMark));
    auto late = static_cast<unsigned>(mark - bytes.begin());
    if (late > most_skew || static_cast<std::size_t>(bytes.end() - mark) < kTrainingBytes) continue;
    unsigned lane = mark[sizeof kMark];
    if (lane >= lanes || mark[sizeof kMark + 1] != static_cast<std::uint8_t>(~lane)) continue;
    std::vector<std::uint8_t> expected = training_frame(lane);
    if (!std::equal(expected.begin(), expected.end(), mark)) continue;
    out.good |= LaneMask{1} << lane;
    out.wire_of_lane[lane] = wire;
    out.late[lane] = late;
  }
  return out;
}

std::vector<std::uint8_t> receive_striped(const Wires& arrived, const Alignment& alignment, LaneMask up,
                                          std::size_t bytes) {
  WEFT_CHECK((up & ~alignment.good) == 0, "only lanes that passed their test carry bytes");
  std::vector<std::uint8_t> out(bytes);
  std::vector<std::size_t> at(arrived.size());
  for (unsigned lane = 0; lane < at.size(); ++lane) at[lane] = alignment.late[lane];
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned lane = lane_of_byte(up, i);
    const std::vector<std::uint8_t>& wire = arrived[alignment.wire_of_lane[lane]];
    WEFT_CHECK(at[lane] < wire.size(), "every byte striped arrives");
    out[i] = wire[at[lane]++];
  }
  return out;
}

Passing test_lanes(const Wiring& wiring, unsigned rates, unsigned most_skew) {
  Passing out;
  for (unsigned rate = 0; rate < rates; ++rate)
    out.push_back(align(send_training(wiring, rate), most_skew).good);
  return out;
}

double ElasticBuffer::tolerance_ppm() const {
  // One skip takes back one word of drift. A slow sender's round is longest: the words between, the skip and
  // its repetition.
  return 1e6 / (between_ + 2.0);
}

ElasticBuffer::Run ElasticBuffer::run(double ppm, std::uint64_t beats) const {
  Run out;
  std::int64_t middle = depth_ / 2, read = 0;  // words taken from the stream, skips included
  bool again = false;                          // the word that may be skipped has been repeated
  auto may_skip = [&](std::int64_t word) { return word % (std::int64_t{between_} + 1) == between_; };
  for (std::uint64_t beat = 0; beat < beats; ++beat) {
    auto written =
        middle + static_cast<std::int64_t>(std::floor(static_cast<double>(beat) * (1 + ppm * 1e-6)));
    std::int64_t fill = written - read;
    if (fill <= 0 || fill > depth_) {
      out.whole = false;
      return out;
    }
    if (may_skip(read)) {
      if (fill < middle && !again) {
        again = true;
        ++out.repeated;
        continue;
      }
      again = false;
      if (fill > middle) ++out.dropped, ++read;
    }
    out.payload += !may_skip(read);
    ++read;
  }
  return out;
}

}  // namespace weft::network::link
