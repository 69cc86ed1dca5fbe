// Links of PCI Express: generations and widths, what they carry, and one direction of a link in time.
//
// A direction sends one packet after the other, and only what the other end has said it has room for: credits
// for headers and for data, of posted requests, of non-posted ones and of completions. A packet's credits
// come back when the other end has passed it on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"
#include "pcie/tlp.hpp"

namespace weft::pcie {

struct Generation {
  unsigned number;
  std::int64_t transfers;  // of a lane, a second
  unsigned carried, sent;  // bits of data in bits on the line
  unsigned framing;        // bytes around a packet: start, sequence number, check sum, end
};

inline constexpr std::array<Generation, 5> kGenerations{{
    {1, 2'500'000'000, 8, 10, 8},
    {2, 5'000'000'000, 8, 10, 8},
    {3, 8'000'000'000, 128, 130, 10},
    {4, 16'000'000'000, 128, 130, 10},
    {5, 32'000'000'000, 128, 130, 10},
}};
inline constexpr std::array<unsigned, 6> kWidths{1, 2, 4, 8, 12, 16};
/// A packet of the data link layer, which goes the other way for a transaction: acknowledgement or credits.
inline constexpr unsigned kAcknowledgement = 8;

/// What a link carries each way, after its line coding.
constexpr DataRate rate_of(unsigned generation, unsigned width) {
  const Generation& g = kGenerations[generation - 1];
  return {static_cast<std::int64_t>(static_cast<__int128>(g.transfers) * width * g.carried / g.sent)};
}
/// Bytes around the data of a write with a 64-bit address.
constexpr unsigned overhead_of(unsigned generation) {
  return kGenerations[generation - 1].framing + kLongHeader;
}

/// Room of a receiver, by class; data in units of 16 bytes.
struct Credits {
  static constexpr std::uint32_t kUnit = 16;
  std::array<std::uint32_t, kClasses> headers{32, 32, 32};
  std::array<std::uint32_t, kClasses> data{256, 32, 256};
};

class Direction {
 public:
  Direction(DataRate rate, unsigned framing, Time latency, const Credits& credits)
      : rate_(rate.value), framing_(framing), latency_(latency), left_(credits) {}

  bool has_credits(const Tlp& tlp) const {
    const auto c = static_cast<std::size_t>(tlp.traffic());
    return left_.headers[c] > 0 && left_.data[c] >= units(tlp);
  }

  /// Sends a packet there are credits for; returns when its last byte is there.
  Time send(Time at, const Tlp& tlp) {
    const auto c = static_cast<std::size_t>(tlp.traffic());
    --left_.headers[c];
    left_.data[c] -= units(tlp);
    free_ = later(std::max(at, free_), transfer_time(tlp.wire_bytes() + framing_, rate_));
    return free_ + latency_;
  }

  /// The other end has passed it on.
  void give_back(const Tlp& tlp) {
    const auto c = static_cast<std::size_t>(tlp.traffic());
    ++left_.headers[c];
    left_.data[c] += units(tlp);
  }

 private:
  static std::uint32_t units(const Tlp& tlp) {
    return tlp.has_data() ? (tlp.bytes + Credits::kUnit - 1) / Credits::kUnit : 0;
  }

  std::int64_t rate_;
  unsigned framing_;
  Time latency_;
  Credits left_;
  Time free_{0};
};

}  // namespace weft::pcie
