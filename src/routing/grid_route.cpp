#include "routing/grid_route.hpp"

#include <algorithm>

namespace weft::routing {

using topology::GridShape;

bool GridRoute::fits(const topology::Graph& graph) {
  const auto* grid = graph.shape_as<GridShape>();
  if (!grid || grid->dimensions.size() > kMaxDimensions || grid->parallel != 1 || !grid->attached_to.empty())
    return false;
  for (const auto& d : grid->dimensions)
    if (d.length > kMaxLength) return false;
  return true;
}

GridRoute::GridRoute(const topology::Graph& graph, Dateline dateline)
    : balanced_(dateline == Dateline::Balanced) {
  const GridShape& grid = *graph.shape_as<GridShape>();
  for (std::uint32_t r = 0; r < graph.routers(); ++r) {
    Place word = 0;
    for (unsigned d = 0; d < grid.dimensions.size(); ++d)
      word |= Place{grid.coordinate(r, d)} << (kCoordinateBits * d);
    places_.push_back(word);
  }
  std::uint32_t longest = 1, rows = 0;
  for (const GridShape::Dimension& d : grid.dimensions) {
    longest = std::max<std::uint32_t>(longest, d.length);
    rows += d.length;
  }
  row_steps_ = longest * 2;
  table_.resize(std::size_t{rows} * row_steps_);
  rows = 0;
  for (unsigned i = 0; i < grid.dimensions.size(); ++i) {
    const GridShape::Dimension& d = grid.dimensions[i];
    std::uint32_t ports = d.length == 1 ? 0 : d.minus - d.plus + 1u;
    dimensions_[i] = {rows, d.plus, ports, d.wraps ? d.length : kNotAround, d.wraps};
    for (std::uint32_t from = 0; from < d.length; ++from, ++rows)
      for (std::uint32_t to = 0; to < d.length; ++to)
        for (std::uint32_t there_parity : {0u, 1u}) {
          GridShape::Step way = grid.step(i, from, to);
          bool plus = way.tie ? ((from ^ to ^ there_parity) & 1) == 0 : way.plus;
          bool crosses = plus ? to < from : to > from;
          std::uint32_t middle = (d.length - 1) / 2;
          bool crosses_middle = plus ? from <= middle && to > middle : from > middle && to <= middle;
          Step& step = table_[std::size_t{rows} * row_steps_ + to * 2 + there_parity];
          step = {plus ? d.plus : d.minus, 0, 0};
          if (d.wraps && crosses) step.only = 1;
          if (d.wraps && balanced_ && !crosses && !crosses_middle) step.either = 1;
        }
  }
}

GridRoute::Rows GridRoute::rows(topology::RouterId router, unsigned in_port) const {
  Rows out{};
  for (unsigned i = 0; i < kMaxDimensions; ++i) {
    const Dimension& d = dimensions_[i];
    bool came_along = in_port - d.first_port < d.ports;
    std::uint32_t row = d.first_row + (places_[router] >> (kCoordinateBits * i) & (kMaxLength - 1));
    if (d.ring && balanced_ && came_along) row |= 1u << kKeepsClassBit;
    out[i] = static_cast<std::uint16_t>(row);
  }
  return out;
}

std::uint32_t GridRoute::distance(Place a, Place b) const {
  std::uint32_t hops = 0;
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    std::uint32_t from = a >> (kCoordinateBits * d) & (kMaxLength - 1);
    std::uint32_t to = b >> (kCoordinateBits * d) & (kMaxLength - 1);
    std::uint32_t apart = from < to ? to - from : from - to;
    hops += std::min(apart, dimensions_[d].around - apart);
  }
  return hops;
}

std::optional<GridRoute> GridRoute::of(const Routing& routing) {
  const auto* order = dynamic_cast<const DimensionOrder*>(&routing);
  if (!order || !fits(routing.graph()) || routing.faults().any()) return std::nullopt;
  return GridRoute(routing.graph(), order->dateline());
}

}  // namespace weft::routing
