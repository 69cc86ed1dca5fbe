#include "network/flit/grid_route.hpp"

namespace weft::network::flit {

using topology::GridShape;

bool GridRoute::fits(const topology::Graph& graph) {
  const auto* grid = graph.shape_as<GridShape>();
  if (!grid || grid->dimensions.size() > kMaxDimensions || grid->parallel != 1 || !grid->attached_to.empty())
    return false;
  for (const auto& d : grid->dimensions)
    if (d.length > 2048) return false;  // its table would not stay in a cache
  return true;
}

GridRoute::GridRoute(const topology::Graph& graph, routing::Dateline dateline) {
  const bool balanced = dateline == routing::Dateline::Balanced;
  const GridShape& grid = *graph.shape_as<GridShape>();
  for (std::uint32_t r = 0; r < graph.routers(); ++r) {
    std::uint64_t word = 0;
    for (unsigned d = 0; d < grid.dimensions.size(); ++d)
      word |= std::uint64_t{grid.coordinate(r, d)} << (16 * d);
    places_.push_back(word);
  }
  for (unsigned i = 0; i < grid.dimensions.size(); ++i) {
    const GridShape::Dimension& d = grid.dimensions[i];
    std::uint32_t ports = d.length == 1 ? 0 : d.minus - d.plus + 1u;
    dimensions_[i] = {static_cast<std::uint32_t>(steps_.size()), d.length, d.plus, ports};
    for (bool second : {false, true})
      for (std::uint32_t from = 0; from < d.length; ++from)
        for (std::uint32_t to = 0; to < d.length; ++to) {
          GridShape::Step way = grid.step(i, from, to);
          bool plus = way.tie ? !second : way.plus;
          bool crosses = plus ? to < from : to > from;
          std::uint32_t middle = (d.length - 1) / 2;
          bool crosses_middle = plus ? from <= middle && to > middle : from > middle && to <= middle;
          unsigned classes = 1;
          if (d.wraps && !balanced) classes = crosses ? 2 : 1;
          if (d.wraps && balanced) classes = crosses ? 2 : crosses_middle ? 1 : 3;
          steps_.push_back({static_cast<std::uint16_t>(way.hops), plus ? d.plus : d.minus,
                            static_cast<std::uint8_t>(classes), way.tie, balanced && d.wraps});
        }
  }
}

std::uint32_t GridRoute::distance(Place a, Place b) const {
  std::uint32_t hops = 0;
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    if (dimensions_[d].ports == 0) continue;
    std::uint32_t from = a >> (16 * d) & 0xffff, to = b >> (16 * d) & 0xffff;
    hops += steps_[dimensions_[d].first + from * dimensions_[d].length + to].hops;
  }
  return hops;
}

}  // namespace weft::network::flit
