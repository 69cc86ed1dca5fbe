// Dimension-order routing for the engine's hot path: the same relation, from small tables instead of
// arithmetic and branches.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "routing/dimension_order.hpp"

namespace weft::network::flit {

/// Only for grids of up to four dimensions without parallel cables or attached devices; others take the
/// general way.
class GridRoute {
 public:
  static constexpr unsigned kMaxDimensions = 4;
  static bool fits(const topology::Graph& graph);
  explicit GridRoute(const topology::Graph& graph, routing::Dateline dateline);

  /// The place of a router: four coordinates of 16 bits in a word.
  using Place = std::uint64_t;
  Place place(topology::RouterId router) const { return places_[router]; }
  /// Whether the coordinates' sum is odd.
  static std::uint32_t parity(Place place) {
    return static_cast<std::uint32_t>(place ^ place >> 16 ^ place >> 32 ^ place >> 48) & 1;
  }
  /// Where a packet may go next: a port of the router, and one class, or either of two.
  struct Step {
    std::uint16_t port;
    std::uint8_t only;    // the class,
    std::uint8_t either;  // unless this is 1
  };

  /// Where the table's rows begin for packets that came in by a port, by the dimension they go on in.
  using Rows = std::array<std::uint32_t, kMaxDimensions>;
  Rows rows(topology::RouterId router, unsigned in_port) const;

  /// The way from `here` to `there`, another place with that parity, for a packet that came in class
  /// `in_class` by a port with these rows.
  [[gnu::always_inline]] Step next(Place here, Place there, std::uint32_t there_parity, const Rows& rows,
                                   std::uint32_t in_class) const {
    // The lowest bit in which two places differ names the dimension.
    auto bit = static_cast<unsigned>(std::countr_zero(here ^ there));
    auto to = static_cast<std::uint32_t>(there >> (bit & ~15u)) & 0xffff;
    return table_[rows[bit / 16] + to * 4 + there_parity * 2 + in_class];
  }

  std::uint32_t distance(Place from, Place to) const;

 private:
  struct Dimension {
    std::uint32_t first = 0, length = 1;  // of its steps
    std::uint32_t first_port = 0, ports = 0;
    bool ring = false;
  };

  Dimension dimensions_[kMaxDimensions];
  std::vector<Place> places_;  // by router
  // [dimension][came along it][from][to][parity of the destination][class it came in]. Half way round a ring
  // there are two ways; half the pairs take each.
  std::vector<Step> table_;
};

}  // namespace weft::network::flit
