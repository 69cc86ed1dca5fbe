#include "network/flit/grid_route.hpp"

#include <algorithm>

namespace weft::network::flit {

using topology::GridShape;

bool GridRoute::fits(const topology::Graph& graph) {
  const auto* grid = graph.shape_as<GridShape>();
  if (!grid || grid->dimensions.size() > kMaxDimensions || grid->parallel != 1 || !grid->attached_to.empty())
    return false;
  for (const auto& d : grid->dimensions)
    if (d.length > 512) return false;  // its table would not stay in a cache
  return true;
}

GridRoute::GridRoute(const topology::Graph& graph, routing::Dateline dateline) {
  const bool balanced = dateline == routing::Dateline::Balanced;
  const GridShape& grid = *graph.shape_as<GridShape>();
  for (std::uint32_t r = 0; r < graph.routers(); ++r) {
    Place word = 0;
    for (unsigned d = 0; d < grid.dimensions.size(); ++d)
      word |= std::uint64_t{grid.coordinate(r, d)} << (16 * d);
    places_.push_back(word);
  }
  for (unsigned i = 0; i < grid.dimensions.size(); ++i) {
    const GridShape::Dimension& d = grid.dimensions[i];
    std::uint32_t ports = d.length == 1 ? 0 : d.minus - d.plus + 1u;
    dimensions_[i] = {static_cast<std::uint32_t>(table_.size()), d.length, d.plus, ports, d.wraps};
    for (bool came_along : {false, true})
      for (std::uint32_t from = 0; from < d.length; ++from)
        for (std::uint32_t to = 0; to < d.length; ++to)
          for (std::uint32_t there_parity : {0u, 1u})
            for (std::uint8_t in_class : {std::uint8_t{0}, std::uint8_t{1}}) {
              GridShape::Step way = grid.step(i, from, to);
              bool plus = way.tie ? ((from ^ to ^ there_parity) & 1) == 0 : way.plus;
              bool crosses = plus ? to < from : to > from;
              std::uint32_t middle = (d.length - 1) / 2;
              bool crosses_middle = plus ? from <= middle && to > middle : from > middle && to <= middle;
              Step step{plus ? d.plus : d.minus, 0, 0};
              if (d.wraps && crosses) step.only = 1;
              if (d.wraps && balanced && !crosses && !crosses_middle) step.either = 1;
              if (d.wraps && balanced && came_along) step.only = in_class, step.either = 0;
              table_.push_back(step);
            }
  }
}

GridRoute::Rows GridRoute::rows(topology::RouterId router, unsigned in_port) const {
  Rows out{};
  for (unsigned i = 0; i < kMaxDimensions; ++i) {
    const Dimension& d = dimensions_[i];
    bool came_along = in_port - d.first_port < d.ports;
    auto from = static_cast<std::uint32_t>(places_[router] >> (16 * i)) & 0xffff;
    out[i] = d.first + (came_along * d.length + from) * d.length * 4;
  }
  return out;
}

std::uint32_t GridRoute::distance(Place a, Place b) const {
  std::uint32_t hops = 0;
  for (unsigned d = 0; a != b; ++d, a >>= 16, b >>= 16) {
    std::uint32_t from = a & 0xffff, to = b & 0xffff;
    std::uint32_t apart = from < to ? to - from : from - to;
    hops += dimensions_[d].ring ? std::min(apart, dimensions_[d].length - apart) : apart;
  }
  return hops;
}

}  // namespace weft::network::flit
