// Links of PCI Express and of HyperTransport: generations, clocks and widths, what they carry, and one
// direction of a link in time.
//
// A line carries one packet after the other. A direction sends only what the other end has said it has room
// for: credits for headers and for data, of posted requests, of non-posted ones and of completions. A
// packet's credits come back when the other end has passed it on. What travels is the same on both; a link of
// HyperTransport carries it as packets of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"
#include "pcie/hyper_transport.hpp"
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

/// A link as a description has it.
struct LinkParameters {
  unsigned generation = 3, width = 16;
  std::uint32_t max_payload = 256;
  Time latency{0};     // of the link and of the bridge above it
  unsigned clock = 0;  // of HyperTransport, MHz; 0: it is PCI Express

  bool is_hyper_transport() const { return clock != 0; }
};

inline DataRate rate_of(const LinkParameters& link) {
  return link.is_hyper_transport() ? hyper_transport::rate_of(link.clock, link.width)
                                   : rate_of(link.generation, link.width);
}

/// Room of a receiver, by class: for packets, and for data in units of the link.
struct Credits {
  static constexpr std::uint32_t kUnit = 16;
  std::array<std::uint32_t, kClasses> headers{32, 32, 32};
  std::array<std::uint32_t, kClasses> data{256, 32, 256};
};
/// HyperTransport has a buffer of 64 bytes for the data of each packet.
inline constexpr Credits kHyperTransportCredits{{16, 16, 16}, {16, 16, 16}};
inline Credits credits_of(const LinkParameters& link) {
  return link.is_hyper_transport() ? kHyperTransportCredits : Credits();
}

/// Bytes of a packet on a link.
inline std::uint32_t wire_bytes(const LinkParameters& link, const Tlp& tlp) {
  return link.is_hyper_transport() ? hyper_transport::wire_bytes(tlp, link.clock)
                                   : tlp.wire_bytes() + kGenerations[link.generation - 1].framing;
}

/// One direction of a link's wires: whatever crosses it takes its turn.
class Line {
 public:
  explicit Line(const LinkParameters& link) : link_(link), rate_(rate_of(link).value) {}
  /// When its last byte has left.
  Time send(Time at, const Tlp& tlp) {
    free_ = later(std::max(at, free_), transfer_time(wire_bytes(link_, tlp), rate_));
    return free_;
  }

 private:
  LinkParameters link_;
  std::int64_t rate_;
  Time free_{0};
};

/// The way between the root and a function: its own link, with room at the other end, and others that it
/// shares.
class Direction {
 public:
  /// `end`: the link of the function, which says what its credits are for.
  Direction(const LinkParameters& end, std::vector<Line*> lines, Time latency, const Credits& credits)
      : is_hyper_transport_(end.is_hyper_transport()),
        lines_(std::move(lines)),
        latency_(latency),
        most_(credits),
        left_(credits) {}

  bool has_credits(const Tlp& tlp) const {
    const auto c = static_cast<std::size_t>(tlp.traffic());
    return left_.headers[c] >= headers(tlp) && left_.data[c] >= units(tlp);
  }

  /// Sends a packet there are credits for; returns when its last byte is there. Bridges pass on what is still
  /// coming in, so the slowest of the links is what it takes.
  Time send(Time at, const Tlp& tlp) {
    const auto c = static_cast<std::size_t>(tlp.traffic());
    left_.headers[c] -= headers(tlp);
    left_.data[c] -= units(tlp);
    Time there = at;
    for (Line* line : lines_) there = std::max(there, line->send(at, tlp));
    return there + latency_;
  }

  /// The other end has passed it on.
  void give_back(const Tlp& tlp) {
    const auto c = static_cast<std::size_t>(tlp.traffic());
    left_.headers[c] += headers(tlp);
    left_.data[c] += units(tlp);
  }

 private:
  /// What has more parts than there are buffers for goes through them a part at a time.
  std::uint32_t headers(const Tlp& tlp) const {
    const std::uint32_t packets = is_hyper_transport_ ? hyper_transport::packets_of(tlp) : 1;
    return std::min(packets, most_.headers[static_cast<std::size_t>(tlp.traffic())]);
  }
  std::uint32_t units(const Tlp& tlp) const {
    if (!tlp.has_data()) return 0;
    const std::uint32_t units = is_hyper_transport_ ? hyper_transport::packets_of(tlp)
                                                    : (tlp.bytes + Credits::kUnit - 1) / Credits::kUnit;
    return std::min(units, most_.data[static_cast<std::size_t>(tlp.traffic())]);
  }

  bool is_hyper_transport_;
  std::vector<Line*> lines_;
  Time latency_;
  Credits most_, left_;
};

}  // namespace weft::pcie
