// Grids of several dimensions: a plane for two, planes side by side seen at an angle for three, blocks of
// blocks for more.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/layout.hpp"

namespace weft::report {

using topology::CableId;
using topology::Graph;
using topology::GridShape;
using topology::RouterId;

namespace {

/// How one dimension lies on the page.
struct Axis {
  unsigned dimension = 0;
  std::uint32_t length = 1;
  Point step;        // from one router to the next
  Point stub;        // from the last router outwards, where a ring closes
  double bulge = 0;  // cables along it bend aside by this much: they pass over routers
};

struct Look {
  std::vector<Axis> axes;
  double radius = 5;
  bool arcs = false;         // rings close by a whole arc, not by stubs
  Point device{-1, 1};       // from a router to the device on it
  Point tick{0.707, 0.707};  // direction of the endpoints
  double tick_length = 0;    // 0: no room for them
};

/// Dimensions of more than one router, the shortest first; of equals, the last.
std::vector<Axis> axes_of(const GridShape& shape) {
  std::vector<Axis> axes;
  for (unsigned d = 0; d < shape.dimensions.size(); ++d)
    if (shape.dimensions[d].length > 1) axes.push_back({d, shape.dimensions[d].length, {}, {}, 0});
  std::sort(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) {
    return x.length != y.length ? x.length < y.length : x.dimension > y.dimension;
  });
  return axes;
}

Look plane(std::vector<Axis> axes) {
  double step = std::clamp(1000.0 / axes.back().length, 26.0, 92.0);
  Look look;
  look.axes = std::move(axes);
  look.radius = std::clamp(step * 0.15, 4.0, 11.0);
  look.arcs = true;
  look.axes[1].step = {step, 0};
  look.axes[0].step = {0, -step};
  look.device = Point{-0.36, 0.36} * step;
  look.tick_length = step * 0.13;
  return look;
}

/// The longest dimension runs to the right and the shortest into the page. Steps are chosen so that no two
/// cables and no two routers lie on each other.
Look planes_side_by_side(std::vector<Axis> axes, bool devices) {
  Look look;
  look.axes = std::move(axes);
  auto [into, up, right] = std::tie(look.axes[0], look.axes[1], look.axes[2]);
  Point depth = devices ? Point{21, -13} : Point{15, -9};
  double height = into.length * -depth.y + 18, width = into.length * depth.x + 42;
  double scale = std::clamp(1150 / (width * right.length), 0.45, 2.6);
  into.step = depth * scale;
  up.step = Point{0, -height} * scale;
  right.step = Point{width, 0} * scale;
  into.stub = into.step * 0.62;
  up.stub = Point{0, -13} * scale;
  right.stub = Point{17, 0} * scale;
  look.radius = std::min(10.0, 4.4 * scale);
  look.device = Point{0.62 * depth.x, -0.45 * depth.y} * scale;
  look.tick = {0.45, 0.89};
  look.tick_length = scale > 1.4 ? 5 * scale : 0;
  return look;
}

/// Dimensions take turns to run right and up; each block of routers is one step of the dimension after next.
Look nested(std::vector<Axis> axes) {
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.dimension < b.dimension; });
  Look look;
  look.axes = std::move(axes);
  double extent[2] = {24, 24};  // of the block so far, with the gap to the next
  for (std::size_t i = 0; i < look.axes.size(); ++i) {
    Axis& axis = look.axes[i];
    Point direction = i % 2 == 0 ? Point{1, 0} : Point{0, -1};
    axis.step = direction * extent[i % 2];
    axis.stub = direction * 11.0;
    axis.bulge = i < 2 ? 0 : 3 + 0.05 * extent[i % 2];
    extent[i % 2] = extent[i % 2] * axis.length + 14;
  }
  double scale = std::clamp(900 / std::max(extent[0], extent[1]), 0.6, 2.4);
  for (Axis& axis : look.axes) {
    axis.step = axis.step * scale;
    axis.stub = axis.stub * scale;
    axis.bulge *= scale;
  }
  look.radius = 4.5 * scale;
  look.device = Point{-9, 9} * scale;
  return look;
}

Point position(const GridShape& shape, const Look& look, RouterId r) {
  Point at;
  for (const Axis& axis : look.axes) at = at + axis.step * shape.coordinate(r, axis.dimension);
  return at;
}

/// Bends a cable aside; the bend of a curve is half of its control point's offset.
void bent(Layout& layout, CableId c, Point a, Point b, double bulge) {
  if (bulge == 0)
    layout.line(c, a, b);
  else
    layout.curve(c, a, (a + b) * 0.5 + across(a, b) * (2 * bulge), b);
}

/// The cable that closes a ring, around the routers between its ends.
void closing_arc(Layout& layout, CableId c, Point last, Point first, const Axis& axis, double shift) {
  double step = axis.step.length();
  Point along = axis.step * (1 / step);
  Point aside = (std::abs(along.x) > 0.5 ? Point{0, -1} : Point{1, 0}) * (step * 0.5 + shift * 3);
  double pull = step * std::min(0.9, 0.3 * axis.length);
  layout.curve(c, first, first + along * pull + aside, last - along * pull + aside, last);
}

void draw_grid_cable(Layout& layout, const GridShape& shape, const Look& look, CableId c, RouterId a,
                     RouterId b, double place) {
  if (a >= shape.grid_routers || b >= shape.grid_routers) {
    layout.line(c, layout.routers[a], layout.routers[b]);
    return;
  }
  for (const Axis& axis : look.axes) {
    std::uint32_t from = shape.coordinate(a, axis.dimension), to = shape.coordinate(b, axis.dimension);
    if (from == to) continue;
    if (from > to) std::swap(a, b), std::swap(from, to);
    Point p = layout.routers[a], q = layout.routers[b];
    Point aside = across(p, q) * (place * 2.6);
    bool closes = to - from > 1;
    if (!closes) {
      bent(layout, c, p + aside, q + aside, axis.bulge);
    } else if (look.arcs) {
      closing_arc(layout, c, q, p, axis, place);
    } else {
      layout.line(c, p + aside, p + aside - axis.stub);
      layout.line(c, q + aside, q + aside + axis.stub);
      layout.stubs = true;
    }
    return;
  }
}

/// Names the axes at the lower left: which way each dimension runs and, where they are few, how long it is.
void name_axes(Layout& layout, const Look& look) {
  std::string right, up, into;
  for (const Axis& axis : look.axes) {
    bool upwards = std::abs(axis.step.x) < 0.01, flat = std::abs(axis.step.y) < 0.01;
    std::string& way = upwards ? up : flat ? right : into;
    way += fmt::format("{} {}", way.empty() ? "" : ",", axis.dimension);
    if (look.axes.size() <= 3) way += fmt::format(", {} routers", axis.length);
  }
  std::string line;
  std::string_view noun = look.axes.size() <= 3 ? "dimension" : "dimensions";
  for (auto [arrow, dimensions] :
       {std::pair("\u2192", right), std::pair("\u2191", up), std::pair("\u2197", into)})
    if (!dimensions.empty()) line += fmt::format("{} {}{}\u2003\u2003", arrow, noun, dimensions);
  layout.caption({layout.low.x, layout.high.y + 34}, line, Anchor::Start);
}

/// A pale ground under each plane of a three-dimensional grid, so that the eye finds the planes.
void ground_planes(Layout& layout, const Look& look) {
  const Axis &into = look.axes[0], &up = look.axes[1], &right = look.axes[2];
  Point wide = into.step * (into.length - 1), high = up.step * (up.length - 1);
  double margin = look.radius * 1.5;
  Point a = Point{0, 0} - into.step * 0.3 + Point{0, margin}, b = wide + into.step * 0.3 + Point{0, margin};
  Point c = wide + high + into.step * 0.3 - Point{0, margin}, d = high - into.step * 0.3 - Point{0, margin};
  for (std::uint32_t i = 0; i < right.length; ++i) {
    Point at = right.step * i;
    layout.polygon({at + a, at + b, at + c, at + d});
  }
}

}  // namespace

Layout lay_out_grid(const Graph& graph, const GridShape& shape) {
  std::vector<Axis> axes = axes_of(shape);
  if (axes.empty()) return lay_out_line(graph, shape, 0);
  if (axes.size() == 1) {
    unsigned only = axes[0].dimension;
    return shape.dimensions[only].wraps ? lay_out_ring(graph, shape, only) : lay_out_line(graph, shape, only);
  }
  Look look = axes.size() == 2   ? plane(std::move(axes))
              : axes.size() == 3 ? planes_side_by_side(std::move(axes), !shape.attached_to.empty())
                                 : nested(std::move(axes));

  Layout layout(graph);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    bool device = r >= shape.grid_routers;
    Point at = position(shape, look, shape.grid_router(r));
    layout.place(r, device ? at + look.device : at, device ? look.radius * 0.65 : look.radius);
  }
  if (look.axes.size() == 3) ground_planes(layout, look);
  if (look.axes.size() > 3) layout.cable_opacity = std::clamp(700.0 / graph.cables(), 0.35, 0.9);
  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    draw_grid_cable(layout, shape, look, c, a, b, places[c]);
  }
  Point away = look.device * (1 / std::max(1.0, look.device.length()));
  if (look.tick_length > 0)
    for (RouterId r = 0; r < graph.routers(); ++r)
      fan_of_ticks(layout, graph, r, r < shape.grid_routers ? look.tick : away, look.tick_length);
  name_axes(layout, look);
  if (look.axes.size() == 3 && graph.cables() >= kManyCables) {
    const unsigned into = look.axes[0].dimension;
    layout.show_in_full(
        graph, [&](RouterId r) { return shape.coordinate(shape.grid_router(r), into) == 0; }, false,
        fmt::format("The front plane, 0 of dimension {},", into));
  }
  return layout;
}

}  // namespace weft::report
