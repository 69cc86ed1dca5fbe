// Dimension-order routing for the engine's hot path: the same relation, from small tables instead of
// arithmetic.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "routing/dimension_order.hpp"

namespace weft::network::flit {

/// Where a packet may go next: one port of the router and a set of classes, one bit each.
struct NextHop {
  std::uint16_t port;
  std::uint8_t classes;
};

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

  /// The way from `here` to `there`, another place; `in_port` counts from the router's first port.
  NextHop next(Place here, Place there, unsigned in_port, unsigned in_class) const {
    // The lowest bit in which two places differ names the dimension.
    unsigned shift = static_cast<unsigned>(std::countr_zero(here ^ there)) & ~15u;
    const Dimension& d = dimensions_[shift / 16];
    unsigned from = static_cast<unsigned>(here >> shift) & 0xffff,
             to = static_cast<unsigned>(there >> shift) & 0xffff;
    const Step* step = &steps_[d.first + from * d.length + to];
    if (step->tie && tie_goes_minus(from, there & ~(std::uint64_t{0xffff} << shift)))
      step += d.length * d.length;
    bool keeps_class = step->keeps && in_port - d.first_port < d.ports;
    return {step->port, keeps_class ? static_cast<std::uint8_t>(1u << in_class) : step->classes};
  }

  std::uint32_t distance(Place from, Place to) const;

 private:
  struct Step {
    std::uint16_t hops, port;
    std::uint8_t classes;
    bool tie, keeps;  // half way round; stays in the class it came in
  };
  struct Dimension {
    std::uint32_t first = 0, length = 1;  // of its steps
    std::uint32_t first_port = 0, ports = 0;
  };
  static bool tie_goes_minus(unsigned from, std::uint64_t others) {
    std::uint64_t parity = from ^ others ^ others >> 16 ^ others >> 32 ^ others >> 48;
    return parity & 1;
  }

  Dimension dimensions_[kMaxDimensions];
  std::vector<Place> places_;  // by router
  std::vector<Step> steps_;    // [dimension][from][to], then the other way for ties
};

}  // namespace weft::network::flit
