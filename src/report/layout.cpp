#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numbers>

#include "report/svg.hpp"

namespace weft::report {

using topology::CableId;
using topology::Graph;
using topology::RouterId;

void Layout::include(Point p) {
  low = {std::min(low.x, p.x), std::min(low.y, p.y)};
  high = {std::max(high.x, p.x), std::max(high.y, p.y)};
}

void Layout::place(RouterId r, Point at, double router_radius) {
  routers[r] = at;
  radius[r] = router_radius;
  include(at - Point{router_radius, router_radius});
  include(at + Point{router_radius, router_radius});
}

void Layout::line(CableId c, Point a, Point b) {
  cables[c] += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", a.x, a.y, b.x, b.y);
  include(a), include(b);
}

void Layout::curve(CableId c, Point a, Point toward, Point b) {
  cables[c] +=
      fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, toward.x, toward.y, b.x, b.y);
  include((a + toward * 2 + b) * 0.25);
}

void Layout::curve(CableId c, Point a, Point toward_a, Point toward_b, Point b) {
  cables[c] += fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, toward_a.x,
                           toward_a.y, toward_b.x, toward_b.y, b.x, b.y);
  include((a + toward_a * 3 + toward_b * 3 + b) * 0.125);
}

void Layout::tick(Point from, Point to) {
  ticks.emplace_back(from, to);
  include(to);
}

void Layout::disc(Point centre, double r) {
  areas.push_back(
      fmt::format("M{0:.1f} {1:.1f}a{2:.1f} {2:.1f} 0 1 0 {3:.1f} 0a{2:.1f} {2:.1f} 0 1 0 {4:.1f} 0z",
                  centre.x - r, centre.y, r, 2 * r, -2 * r));
  include(centre - Point{r, r});
  include(centre + Point{r, r});
}

void Layout::polygon(const std::vector<Point>& corners) {
  std::string path;
  for (Point p : corners) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", p.x, p.y);
    include(p);
  }
  areas.push_back(path + "z");
}

void Layout::caption(Point at, std::string text, Anchor anchor) {
  double width = text_width(text, kCaptionSize);
  double left = anchor == Anchor::Start ? 0 : anchor == Anchor::End ? width : width / 2;
  include(at - Point{left, 10});
  include(at + Point{width - left, 4});
  captions.push_back({at, std::move(text), anchor});
}

void Layout::show_in_full(const Graph& graph, const std::function<bool(RouterId)>& which, bool outwards,
                          std::string name) {
  in_full = std::move(name);
  for (RouterId r = 0; r < graph.routers(); ++r) faint_routers.push_back(!which(r));
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    const bool one = faint_routers[a], other = faint_routers[b];
    faint_cables.push_back(outwards ? one && other : one || other);
  }
}

std::pair<RouterId, RouterId> cable_routers(const Graph& graph, CableId c) {
  auto [a, b] = graph.cable_ends(c);
  return {graph.port_router(a), graph.port_router(b)};
}

std::vector<double> side_by_side(const Graph& graph) {
  std::map<std::pair<RouterId, RouterId>, std::vector<CableId>> bundles;
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    bundles[{std::min(a, b), std::max(a, b)}].push_back(c);
  }
  std::vector<double> place(graph.cables());
  for (const auto& [ends, bundle] : bundles)
    for (std::size_t i = 0; i < bundle.size(); ++i)
      place[bundle[i]] = static_cast<double>(i) - static_cast<double>(bundle.size() - 1) / 2;
  return place;
}

std::string fan_out_text(double up_from_each, double down_from_each, double taper) {
  return fmt::format("{:.3g} up, {:.3g} down, taper {:.3g}:1", up_from_each, down_from_each, taper);
}

Point across(Point a, Point b) {
  Point along = b - a;
  double length = along.length();
  return length > 0 ? Point{-along.y / length, along.x / length} : Point{0, 0};
}

void fan_of_ticks(Layout& layout, const Graph& graph, RouterId r, Point direction, double length) {
  std::uint32_t count = graph.endpoint_count(r);
  double spread = std::min(0.35, 2.2 / std::max(1u, count));  // radians from one tick to the next
  for (std::uint32_t i = 0; i < count; ++i) {
    double turn = spread * (i - (count - 1) / 2.0);
    Point way{direction.x * std::cos(turn) - direction.y * std::sin(turn),
              direction.x * std::sin(turn) + direction.y * std::cos(turn)};
    Point edge = layout.routers[r] + way * layout.radius[r];
    layout.tick(edge, edge + way * length);
  }
}

Point on_circle(double radius, std::size_t i, std::size_t n) {
  double turn = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
  return {radius * std::sin(turn), -radius * std::cos(turn)};
}

Layout lay_out(const Graph& graph) {
  if (const auto* grid = graph.shape_as<topology::GridShape>()) return lay_out_grid(graph, *grid);
  if (const auto* tree = graph.shape_as<topology::TreeShape>()) return lay_out_tree(graph, *tree);
  if (const auto* dragonfly = graph.shape_as<topology::DragonflyShape>())
    return lay_out_dragonfly(graph, *dragonfly);
  if (const auto* exanest = graph.shape_as<topology::ExanestShape>()) return lay_out_exanest(graph, *exanest);
  return lay_out_freely(graph);
}

}  // namespace weft::report
