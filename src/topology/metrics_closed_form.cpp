// Distances that follow from a shape alone, whatever the size of the machine.
#include <algorithm>

#include "topology/grid_shape.hpp"
#include "topology/metrics.hpp"
#include "topology/tree_shape.hpp"

namespace weft::topology {

namespace {

/// Is this exactly the grid its shape promises: every cable there, the same endpoints on every router?
bool is_plain_grid(const Graph& graph, const GridShape& shape) {
  if (shape.grid_routers != graph.routers()) return false;
  std::uint64_t cables = 0;
  for (const GridShape::Dimension& d : shape.dimensions)
    cables +=
        std::uint64_t{graph.routers()} / d.length * (d.wraps ? d.length : d.length - 1) * shape.parallel;
  if (cables != graph.cables()) return false;
  for (RouterId r = 1; r < graph.routers(); ++r)
    if (graph.endpoint_count(r) != graph.endpoint_count(0)) return false;
  return graph.endpoint_count(0) > 0;
}

/// Ordered pairs of positions along one dimension, equal ones included, by distance.
Histogram along(const GridShape::Dimension& dimension) {
  std::uint64_t n = dimension.length;
  Histogram out;
  add_pairs(out, 0, n);
  for (std::uint64_t d = 1; d < n; ++d) {
    if (!dimension.wraps) {
      add_pairs(out, d, 2 * (n - d));
    } else if (2 * d <= n) {
      add_pairs(out, d, 2 * d == n ? n : 2 * n);  // at half of an even ring both ways end at the same router
    }
  }
  return out;
}

Histogram convolve(const Histogram& a, const Histogram& b) {
  Histogram out(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) out[i + j] += a[i] * b[j];
  return out;
}

Distances grid_distances(const Graph& graph, const GridShape& shape) {
  Distances out;
  Histogram routers{1};
  for (const GridShape::Dimension& d : shape.dimensions) {
    routers = convolve(routers, along(d));
    out.to += (d.wraps ? d.length / 2 : d.length - 1) * d.stride;
  }
  std::uint64_t per_router = graph.endpoint_count(0);
  for (std::size_t d = 0; d < routers.size(); ++d) {
    add_pairs(out.pairs, d,
              d == 0 ? routers[0] * per_router * (per_router - 1) : routers[d] * per_router * per_router);
    if (d > 0) add_pairs(out.router_pairs, d, routers[d]);
  }
  return out;
}

/// Two endpoints first meet at the lowest level where one run of endpoints holds both, and are twice that
/// many levels of cables apart. A level's routers cover few different runs: count pairs inside each.
Distances tree_distances(const Graph& graph, const TreeShape& shape) {
  std::vector<std::vector<std::pair<EndpointId, EndpointId>>> runs(shape.levels + 1);
  std::vector<EndpointId> leaf_begins;
  for (const TreeShape::Node& node : shape.nodes) {
    if (node.below_begin < node.below_end) runs[node.level].emplace_back(node.below_begin, node.below_end);
    if (node.level == 1 && node.below_begin < node.below_end) leaf_begins.push_back(node.below_begin);
  }
  std::sort(leaf_begins.begin(), leaf_begins.end());
  auto leaves_in = [&](auto run) {
    return static_cast<std::uint64_t>(std::lower_bound(leaf_begins.begin(), leaf_begins.end(), run.second) -
                                      std::lower_bound(leaf_begins.begin(), leaf_begins.end(), run.first));
  };

  Distances out;
  std::uint64_t pairs_below = 0, router_pairs_below = 0;
  for (unsigned level = 1; level <= shape.levels; ++level) {
    auto& at_level = runs[level];
    std::sort(at_level.begin(), at_level.end());
    at_level.erase(std::unique(at_level.begin(), at_level.end()), at_level.end());
    std::uint64_t pairs = 0, router_pairs = 0;
    for (auto run : at_level) {
      std::uint64_t endpoints = run.second - run.first, leaves = leaves_in(run);
      pairs += endpoints * (endpoints - 1);
      router_pairs += leaves * (leaves - 1);
    }
    std::size_t cables = 2 * (level - 1);
    add_pairs(out.pairs, cables, pairs - pairs_below);
    add_pairs(out.router_pairs, cables, router_pairs - router_pairs_below);
    pairs_below = pairs;
    router_pairs_below = router_pairs;
  }
  out.from = graph.endpoint_router(0);
  out.to = graph.endpoint_router(graph.endpoints() - 1);
  return out;
}

/// The runs must say everything: each holds whole runs of the level below, and the top holds all endpoints.
bool is_whole_tree(const Graph& graph, const TreeShape& shape) {
  if (shape.nodes.size() != graph.routers() || shape.levels == 0) return false;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    const TreeShape::Node& node = shape.nodes[r];
    if ((graph.endpoint_count(r) > 0) != (node.level == 1)) return false;
    if (node.level == shape.levels && (node.below_begin != 0 || node.below_end != graph.endpoints()))
      return false;
  }
  return true;
}

}  // namespace

std::optional<Distances> closed_form_distances(const Graph& graph) {
  std::optional<Distances> out;
  if (const auto* grid = graph.shape_as<GridShape>(); grid && is_plain_grid(graph, *grid))
    out = grid_distances(graph, *grid);
  if (const auto* tree = graph.shape_as<TreeShape>(); tree && is_whole_tree(graph, *tree))
    out = tree_distances(graph, *tree);
  if (out) out->method = Distances::Method::ClosedForm;
  return out;
}

}  // namespace weft::topology
