// Grids of one dimension: rings, and lines that turn back at the edge of the page.
#include <algorithm>
#include <numbers>

#include "report/layout.hpp"

namespace weft::report {

using topology::CableId;
using topology::Graph;
using topology::GridShape;
using topology::RouterId;

Layout lay_out_ring(const Graph& graph, const GridShape& shape, unsigned dimension) {
  Layout layout(graph);
  std::uint32_t length = shape.dimensions[dimension].length;
  double spacing = std::clamp(1500.0 / length, 11.0, 90.0);
  double circle = std::max(110.0, spacing * length / (2 * std::numbers::pi));
  double radius = std::clamp(spacing * 0.17, 3.0, 12.0);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    Point out = on_circle(1, shape.coordinate(shape.grid_router(r), dimension), length);
    bool device = r >= shape.grid_routers;
    layout.place(r, out * (device ? circle - 4 * radius : circle), device ? radius * 0.7 : radius);
    fan_of_ticks(layout, graph, r, device ? out * -1 : out, radius * 0.9);
  }
  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    Point p = layout.routers[a], q = layout.routers[b], middle = (p + q) * 0.5;
    if (std::max(a, b) >= shape.grid_routers) {
      layout.line(c, p, q);
    } else {
      // The middle of the curve lies on the circle, or beside it for cables side by side.
      double reach = 2 * (circle + 4 * places[c]) / middle.length() - 1;
      layout.curve(c, p, middle * reach, q);
    }
  }
  return layout;
}

Layout lay_out_line(const Graph& graph, const GridShape& shape, unsigned dimension) {
  Layout layout(graph);
  std::uint32_t length = shape.dimensions[dimension].length, in_row = std::min(length, 32u);
  double step = std::clamp(1000.0 / in_row, 34.0, 92.0), radius = std::clamp(step * 0.16, 5.0, 12.0);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    std::uint32_t i = shape.coordinate(shape.grid_router(r), dimension);
    std::uint32_t row = i / in_row, place = row % 2 == 0 ? i % in_row : in_row - 1 - i % in_row;
    Point at = Point{1.0 * place, 1.7 * row} * step;
    bool device = r >= shape.grid_routers;
    layout.place(r, device ? at - Point{0, 3.4 * radius} : at, device ? radius * 0.7 : radius);
    fan_of_ticks(layout, graph, r, {0, device ? -1.0 : 1.0}, radius * 0.9);
  }
  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    Point p = layout.routers[a], q = layout.routers[b];
    Point aside = across(p, q) * (places[c] * 4);
    layout.line(c, p + aside, q + aside);
  }
  return layout;
}

}  // namespace weft::report
