#include "network/flit/grid_route.hpp"

namespace weft::network::flit {

using topology::GridShape;

bool GridRoute::fits(const topology::Graph& graph) {
  const auto* grid = graph.shape_as<GridShape>();
  if (!grid || grid->parallel != 1 || !grid->attached_to.empty()) return false;
  for (const auto& d : grid->dimensions)
    if (d.length > 4096) return false;
  return true;
}

GridRoute::GridRoute(const topology::Graph& graph, routing::Dateline dateline)
    : balanced_(dateline == routing::Dateline::Balanced) {
  const GridShape& grid = *graph.shape_as<GridShape>();
  dimensions_ = static_cast<unsigned>(grid.dimensions.size());
  coordinates_.reserve(std::size_t{graph.routers()} * dimensions_);
  for (std::uint32_t r = 0; r < graph.routers(); ++r)
    for (unsigned d = 0; d < dimensions_; ++d) coordinates_.push_back(static_cast<std::uint16_t>(grid.coordinate(r, d)));
  for (unsigned i = 0; i < dimensions_; ++i) {
    const GridShape::Dimension& d = grid.dimensions[i];
    first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
    length_.push_back(d.length);
    tie_offset_.push_back(d.length * d.length);
    first_port_.push_back(d.plus);
    last_port_.push_back(d.length == 1 ? d.plus : static_cast<std::uint16_t>(d.minus + 1));
    for (bool second : {false, true})
      for (std::uint32_t from = 0; from < d.length; ++from)
        for (std::uint32_t to = 0; to < d.length; ++to) {
          GridShape::Step way = grid.step(i, from, to);
          bool plus = way.plus != second;
          if (second && !way.tie) plus = way.plus;
          bool crosses = d.wraps && (plus ? to < from : to > from);
          std::uint32_t middle = (d.length - 1) / 2;
          bool crosses_middle = plus ? from <= middle && to > middle : from > middle && to <= middle;
          std::uint8_t classes = 1;
          if (d.wraps && !balanced_) classes = crosses ? 2 : 1;
          if (d.wraps && balanced_) classes = crosses ? 2 : crosses_middle ? 1 : 3;
          steps_.push_back({static_cast<std::uint16_t>(way.hops), plus ? d.plus : d.minus, classes, way.tie, d.wraps});
        }
  }
}

}  // namespace weft::network::flit
