// Trees: a row for each level, the roots on top; every router stands over the endpoints it covers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/layout.hpp"
#include "topology/metrics.hpp"

namespace weft::report {

using topology::CableId;
using topology::EndpointId;
using topology::Graph;
using topology::RouterId;
using topology::TreeShape;

namespace {

/// Routers of a level that cover the same endpoints share the space above them.
using Runs = std::map<std::pair<EndpointId, EndpointId>, std::vector<RouterId>>;

std::vector<Runs> runs_by_level(const TreeShape& shape) {
  std::vector<Runs> levels(shape.levels + 1);
  for (RouterId r = 0; r < shape.nodes.size(); ++r)
    levels[shape.nodes[r].level][{shape.nodes[r].below_begin, shape.nodes[r].below_end}].push_back(r);
  return levels;
}

/// Between each level and the next: how many cables, how they fan out, and what could come from below for
/// what they carry.
void name_bundles(Layout& layout, const Graph& graph, const TreeShape& shape, double row) {
  std::vector<double> routers(shape.levels + 2), cables(shape.levels + 2), rate(shape.levels + 2);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    ++routers[shape.nodes[r].level];
    rate[0] += topology::injection_rate(graph, r) * graph.endpoint_count(r);
  }
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    const unsigned lower = std::min(shape.nodes[a].level, shape.nodes[b].level);
    ++cables[lower];
    rate[lower] += static_cast<double>(graph.cable_type(c).rate().value);
  }
  for (unsigned level = 1; level < shape.levels; ++level) {
    if (cables[level] == 0 || routers[level + 1] == 0) continue;
    const double y = (shape.levels - level - 0.5) * row;
    layout.caption({-28, y - 3}, count_of(static_cast<std::uint64_t>(cables[level]), "cable"), Anchor::End);
    layout.caption({-28, y + 13},
                   fan_out_text(cables[level] / routers[level], cables[level] / routers[level + 1],
                                rate[0] / rate[level]),
                   Anchor::End);
  }
}

}  // namespace

Layout lay_out_tree(const Graph& graph, const TreeShape& shape) {
  Layout layout(graph);
  std::vector<Runs> levels = runs_by_level(shape);
  std::size_t widest = 1;
  for (const Runs& runs : levels) {
    std::size_t routers = 0;
    for (const auto& [run, members] : runs) routers += members.size();
    widest = std::max(widest, routers);
  }
  double width =
      std::clamp(std::max(36.0 * static_cast<double>(widest), 7.0 * graph.endpoints()), 420.0, 1500.0);
  double radius = std::clamp(width / static_cast<double>(widest) * 0.3, 3.0, 11.0);
  double row = std::clamp(width * 0.13, 120.0, 200.0);
  layout.cable_opacity = std::clamp(400.0 / graph.cables(), 0.35, 0.9);
  auto above = [&](double endpoint) { return width * endpoint / graph.endpoints(); };

  for (unsigned level = 1; level <= shape.levels; ++level) {
    double y = (shape.levels - level) * row;
    std::size_t routers = 0;
    for (const auto& [run, members] : levels[level]) {
      double left = above(run.first), room = above(run.second) - left;
      for (std::size_t i = 0; i < members.size(); ++i) {
        double share = (static_cast<double>(i) + 0.5) / static_cast<double>(members.size());
        layout.place(members[i], {left + room * share, y}, radius);
      }
      routers += members.size();
    }
    if (routers == 0) continue;
    std::string tier = graph.tier_names()[graph.router_tier(levels[level].begin()->second.front())];
    layout.caption({-28, y - 3}, tier, Anchor::End);
    layout.caption({-28, y + 13}, count_of(routers, "router"), Anchor::End);
  }

  double ground = (shape.levels - 1) * row + 34;
  for (EndpointId e = 0; e < graph.endpoints(); ++e) {
    Point leaf = layout.routers[graph.endpoint_router(e)];
    double x = above(e + 0.5);
    layout.tick({leaf.x + (x - leaf.x) * 0.55, leaf.y + radius + 4}, {x, ground});
  }
  name_bundles(layout, graph, shape, row);
  layout.caption({-28, ground}, count_of(graph.endpoints(), "endpoint"), Anchor::End);

  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    Point p = layout.routers[a], q = layout.routers[b];
    if (p.y > q.y) std::swap(p, q);
    Point aside{places[c] * 2.4, 0}, down{0, (q.y - p.y) * 0.36};
    layout.curve(c, p + aside, p + aside + down, q + aside - down, q + aside);
  }
  return layout;
}

}  // namespace weft::report
