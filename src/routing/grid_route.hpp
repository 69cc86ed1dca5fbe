// Dimension-order routing for an engine's hot path: the same relation as arithmetic on coordinates, with
// small tables instead of branches.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "routing/dimension_order.hpp"

namespace weft::routing {

/// Only for grids of up to four dimensions without parallel cables or attached devices; other relations are
/// called.
class GridRoute {
 public:
  static constexpr unsigned kMaxDimensions = 4;
  static bool fits(const topology::Graph& graph);
  /// Where it can stand for a relation: dimension order, on a whole machine that fits.
  static std::optional<GridRoute> of(const Routing& routing);
  explicit GridRoute(const topology::Graph& graph, Dateline dateline);

  /// The place of a router: four coordinates of 8 bits in a word.
  using Place = std::uint32_t;
  static constexpr unsigned kCoordinateBits = 8, kMaxLength = 1u << kCoordinateBits;
  Place place(topology::RouterId router) const { return places_[router]; }
  /// Whether the coordinates' sum is odd.
  static std::uint32_t parity(Place place) { return (place ^ place >> 8 ^ place >> 16 ^ place >> 24) & 1; }
  /// Where a packet goes next: a port of the router, and the class of channels it takes.
  struct Output {
    std::uint32_t port, channel_class;
  };

  /// The table's rows for packets that came in by a port, by the dimension they go on in.
  using Rows = std::array<std::uint16_t, kMaxDimensions>;
  Rows rows(topology::RouterId router, unsigned in_port) const;

  /// The output on the route from `here` to `there`, another place with that parity, for a packet that came
  /// in class `in_class` by a port with these rows. Where it may take either class, `coin` (0 or 1) is the
  /// one. No branch: it would be a guess.
  [[gnu::always_inline]] Output next(Place here, Place there, std::uint32_t there_parity, const Rows& rows,
                                     std::uint32_t in_class, std::uint32_t coin) const {
    // The lowest bit in which two places differ names the dimension.
    auto bit = static_cast<unsigned>(std::countr_zero(here ^ there));
    std::uint32_t to = there >> (bit & ~(kCoordinateBits - 1)) & (kMaxLength - 1);
    std::uint32_t row = rows[bit / kCoordinateBits];
    Step step = table_[(row & kRowMask) * row_steps_ + to * 2 + there_parity];
    std::uint32_t chosen = (step.either & coin) | step.only;
    std::uint32_t kept = -(row >> kKeepsClassBit);
    return {step.port, chosen ^ ((chosen ^ in_class) & kept)};
  }

  std::uint32_t distance(Place from, Place to) const;

  // The tables themselves, for engines that copy them elsewhere.
  struct Step {
    std::uint16_t port;
    std::uint8_t only;    // the class,
    std::uint8_t either;  // unless this is 1
  };
  static constexpr std::uint32_t kNotAround = 2 * kMaxLength;  // longer than any route there is
  struct Dimension {
    std::uint32_t first_row = 0;
    std::uint32_t first_port = 0, ports = 0;
    std::uint32_t around = kNotAround;  // steps once round
    bool ring = false;
  };
  const Dimension& dimension(unsigned i) const { return dimensions_[i]; }
  const std::vector<Step>& steps() const { return table_; }
  std::uint32_t row_steps() const { return row_steps_; }
  /// Do packets that came along the dimension keep the class they came in?
  bool keeps_class(unsigned i) const { return dimensions_[i].ring && balanced_; }

 private:
  // The top bit of a row's number: packets that came along the dimension keep the class they came in.
  static constexpr unsigned kKeepsClassBit = 15, kRowMask = (1u << kKeepsClassBit) - 1;

  Dimension dimensions_[kMaxDimensions];
  bool balanced_;
  std::uint32_t row_steps_ = 0;
  std::vector<Place> places_;  // by router
  // [row: dimension, from][to][parity of the destination]. Half way round a ring there are two routes; half
  // the pairs take each.
  std::vector<Step> table_;
};

}  // namespace weft::routing
