// Dimension-order routing for the engine's hot path: the same relation, from small tables instead of arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/dimension_order.hpp"

namespace weft::network::flit {

/// Where a packet may go next: one port and a set of classes, one bit each.
struct NextHop {
  std::uint16_t port;
  std::uint8_t classes;
};

/// Only for grids without parallel cables or attached devices; others take the general way.
class GridRoute {
 public:
  static bool fits(const topology::Graph& graph);
  explicit GridRoute(const topology::Graph& graph, routing::Dateline dateline);

  NextHop operator()(std::uint32_t router, std::uint32_t goal, std::uint16_t in_port, std::uint8_t in_class) const {
    const std::uint16_t* here = &coordinates_[std::size_t{router} * dimensions_];
    const std::uint16_t* there = &coordinates_[std::size_t{goal} * dimensions_];
    unsigned d = 0;
    while (here[d] == there[d]) ++d;
    Step step = steps_[first_step_[d] + here[d] * length_[d] + there[d]];
    if (step.tie && tie_goes_minus(d, here[d], there)) step = steps_[first_step_[d] + tie_offset_[d] + here[d] * length_[d] + there[d]];
    bool continues = in_port >= first_port_[d] && in_port < last_port_[d];
    return {step.port, balanced_ && continues && step.ring ? static_cast<std::uint8_t>(1u << in_class) : step.classes};
  }

  std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t hops = 0;
    for (unsigned d = 0; d < dimensions_; ++d)
      hops += steps_[first_step_[d] + coordinates_[std::size_t{a} * dimensions_ + d] * length_[d] +
                     coordinates_[std::size_t{b} * dimensions_ + d]]
                  .hops;
    return hops;
  }

 private:
  struct Step {
    std::uint16_t hops;
    std::uint16_t port;
    std::uint8_t classes;
    bool tie : 4, ring : 4;
  };
  bool tie_goes_minus(unsigned d, std::uint16_t from, const std::uint16_t* there) const {
    unsigned parity = from;
    for (unsigned other = 0; other < dimensions_; ++other)
      if (other != d) parity += there[other];
    return parity & 1;
  }

  bool balanced_;
  unsigned dimensions_ = 0;
  std::vector<std::uint16_t> coordinates_;  // [router][dimension]
  std::vector<std::uint32_t> first_step_, length_, tie_offset_;
  std::vector<std::uint16_t> first_port_, last_port_;
  std::vector<Step> steps_;                 // [dimension][from][to], then the other way for ties
};

}  // namespace weft::network::flit
