// Machines without a known shape.
#include <algorithm>
#include <numbers>

#include "base/random.hpp"
#include "report/layout.hpp"
#include "topology/metrics.hpp"

namespace weft::report {

using topology::CableId;
using topology::Graph;
using topology::kNone;
using topology::RouterId;

namespace {

/// Cables between every two routers.
std::vector<std::vector<std::uint32_t>> all_distances(const topology::LiveLinks& links,
                                                      std::uint32_t routers) {
  std::vector<std::vector<std::uint32_t>> out(routers, std::vector<std::uint32_t>(routers, kNone));
  std::vector<RouterId> queue;
  for (RouterId source = 0; source < routers; ++source) {
    out[source][source] = 0;
    queue.assign(1, source);
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (RouterId next : links.of(queue[i]))
        if (out[source][next] == kNone) {
          out[source][next] = out[source][queue[i]] + 1;
          queue.push_back(next);
        }
  }
  return out;
}

/// Places routers so that distances on the page follow distances in cables: stress, lowered by stochastic
/// gradient descent (Zheng, Pawar and Goodman, "Graph drawing by stochastic gradient descent", 2018). A cable
/// is 1 long.
std::vector<Point> by_distance(const Graph& graph, const topology::LiveLinks& links) {
  std::uint32_t n = graph.routers();
  auto distance = all_distances(links, n);
  std::vector<Point> at(n);
  for (RouterId r = 0; r < n; ++r) at[r] = on_circle(1 + 0.01 * random_below(1, r, 0, 100), r, n);
  std::vector<std::pair<RouterId, RouterId>> pairs;
  std::uint32_t farthest = 1;
  for (RouterId a = 0; a < n; ++a)
    for (RouterId b = a + 1; b < n; ++b)
      if (distance[a][b] != kNone) {
        pairs.emplace_back(a, b);
        farthest = std::max(farthest, distance[a][b]);
      }

  constexpr unsigned kRounds = 40;
  double rate = static_cast<double>(farthest) * farthest;
  double cooling = std::pow(0.1 / rate, 1.0 / (kRounds - 1));
  for (unsigned round = 0; round < kRounds; ++round, rate *= cooling) {
    for (std::size_t i = pairs.size(); i > 1; --i)
      std::swap(pairs[i - 1], pairs[random_below(2, round, i, static_cast<std::uint32_t>(i))]);
    for (auto [a, b] : pairs) {
      double wanted = distance[a][b];
      Point between = at[a] - at[b];
      double length = std::max(1e-6, between.length());
      double share = std::min(1.0, rate / (wanted * wanted));
      Point move = between * (share * (length - wanted) / 2 / length);
      at[a] = at[a] - move;
      at[b] = at[b] + move;
    }
  }
  return at;
}

Layout near_each_other(const Graph& graph, const topology::LiveLinks& links) {
  Layout layout(graph);
  std::vector<Point> at = by_distance(graph, links);
  Point low = at[0], high = at[0];
  for (Point p : at) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  double scale = std::clamp(900 / std::max(1.0, std::max(high.x - low.x, high.y - low.y)), 24.0, 90.0);
  double radius = std::clamp(scale * 0.13, 4.0, 11.0);
  for (RouterId r = 0; r < graph.routers(); ++r) layout.place(r, at[r] * scale, radius);
  Point middle = (low + high) * (scale / 2);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    // Ticks point away from the neighbours.
    Point away = (layout.routers[r] - middle) * 0.02;
    for (RouterId other : links.of(r)) {
      Point d = layout.routers[r] - layout.routers[other];
      away = away + d * (1 / std::max(1.0, d.length()));
    }
    Point direction = away.length() > 1e-3 ? away * (1 / away.length()) : Point{0, -1};
    fan_of_ticks(layout, graph, r, direction, radius * 0.8);
  }
  return layout;
}

Layout circle(const Graph& graph) {
  Layout layout(graph);
  std::uint32_t n = graph.routers();
  double spacing = std::clamp(2400.0 / n, 10.0, 60.0);
  double radius = std::clamp(spacing * 0.28, 3.0, 9.0);
  double round = std::max(150.0, spacing * n / (2 * std::numbers::pi));
  for (RouterId r = 0; r < n; ++r) {
    layout.place(r, on_circle(round, r, n), radius);
    fan_of_ticks(layout, graph, r, on_circle(1, r, n), std::min(9.0, radius * 1.3));
  }
  return layout;
}

}  // namespace

Layout lay_out_freely(const Graph& graph) {
  topology::LiveLinks links(graph, topology::Faults());
  double neighbours = static_cast<double>(links.to.size()) / graph.routers();
  constexpr double kFew = 4.5;  // beyond, nearness on the page says little and a circle is clearer
  bool few = neighbours <= kFew;
  Layout layout = few ? near_each_other(graph, links) : circle(graph);
  layout.cable_opacity = std::clamp((few ? 900.0 : 250.0) / graph.cables(), 0.3, 0.9);
  double pull = graph.routers() > 24 ? 0.2 : 0.5;  // to the middle, where many share the way
  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    Point p = layout.routers[a], q = layout.routers[b];
    Point aside = across(p, q) * (places[c] * 2.6);
    if (few)
      layout.line(c, p + aside, q + aside);
    else
      layout.curve(c, p, (p + q) * pull + aside * 2, q);
  }
  if (!few && graph.cables() >= kManyCables)
    layout.show_in_full(
        graph, [](RouterId r) { return r == 0; }, true, "Router 0 and its cables");
  return layout;
}

}  // namespace weft::report
