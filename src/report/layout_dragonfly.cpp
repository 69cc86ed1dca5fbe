// Dragonflies: groups on a large circle, the routers of a group on a small one, cables between groups bent
// towards the middle.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "report/layout.hpp"

namespace weft::report {

using topology::CableId;
using topology::DragonflyShape;
using topology::Graph;
using topology::RouterId;

Layout lay_out_dragonfly(const Graph& graph, const DragonflyShape& shape) {
  constexpr double kPi = std::numbers::pi;
  Layout layout(graph);
  layout.cable_opacity = std::clamp(500.0 / graph.cables(), 0.45, 0.9);
  double spacing = std::clamp(4200.0 / graph.routers(), 11.0, 30.0);  // of the routers of a group
  double radius = spacing * 0.29;
  double group = std::max(spacing * 0.9, spacing * shape.group_routers / (2 * kPi));
  double tick = std::min(9.0, radius * 1.2);
  double room = 2 * (group + radius + tick) + 12;
  double circle = shape.groups == 1 ? 0 : std::max(room * shape.groups / (2 * kPi), room * 0.75);

  for (std::uint32_t g = 0; g < shape.groups; ++g) {
    Point centre = on_circle(circle, g, shape.groups);
    layout.disc(centre, group + radius + tick + 3);
    // Groups are turned so that their first router points away from the middle.
    double turn = 2 * kPi * g / shape.groups;
    for (std::uint32_t i = 0; i < shape.group_routers; ++i) {
      double angle = turn + 2 * kPi * i / shape.group_routers;
      Point out{std::sin(angle), -std::cos(angle)};
      RouterId r = g * shape.group_routers + i;
      layout.place(r, centre + out * (shape.group_routers == 1 ? 0 : group), radius);
      fan_of_ticks(layout, graph, r, out, tick);
    }
    if (shape.groups > 1) {
      Point out = on_circle(1, g, shape.groups);
      layout.caption(out * (circle + group + radius + tick + 17) + Point{0, 4},
                     g == 0 ? "group 0" : fmt::format("{}", g));
    }
  }

  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    Point p = layout.routers[a], q = layout.routers[b];
    Point aside = across(p, q) * (places[c] * 3);
    if (shape.group(a) == shape.group(b))
      layout.line(c, p + aside, q + aside);
    else
      layout.curve(c, p, (p + q) * 0.14 + aside * 2, q);
  }
  if (shape.groups > 2 && graph.cables() >= kManyCables)
    layout.show_in_full(
        graph, [&](RouterId r) { return shape.group(r) == 0; }, true, "Group 0 and its cables");
  return layout;
}

}  // namespace weft::report
