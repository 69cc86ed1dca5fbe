#include "report/traffic_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "topology/dragonfly_shape.hpp"
#include "topology/grid_shape.hpp"

namespace weft::report {

using measure::LinkUse;
using measure::TrafficPoint;
using measure::TrafficResult;
using topology::Graph;
using topology::PortId;
using topology::RouterId;

namespace {

LinkKind grid_kind(const topology::GridShape& grid, RouterId from, RouterId to, topology::PortIndex port) {
  if (from >= grid.grid_routers || to >= grid.grid_routers) return {"of attached devices", ""};
  for (unsigned d = 0; d < grid.dimensions.size(); ++d) {
    if (grid.coordinate(from, d) == grid.coordinate(to, d)) continue;
    const auto& dimension = grid.dimensions[d];
    bool plus = port >= dimension.plus && port < dimension.plus + grid.parallel;
    if (dimension.plus == dimension.minus) plus = grid.coordinate(from, d) == 0;
    return {fmt::format("of dimension {}", d), plus ? "upwards" : "downwards"};
  }
  return {"of the grid", ""};
}

}  // namespace

LinkKind link_kind(const Graph& graph, PortId port) {
  RouterId from = graph.port_router(port), to = graph.port_router(graph.peer(port));
  if (const auto* grid = graph.shape_as<topology::GridShape>())
    return grid_kind(*grid, from, to, graph.port_index(port));
  if (const auto* dragonfly = graph.shape_as<topology::DragonflyShape>())
    return {dragonfly->group(from) == dragonfly->group(to) ? "within groups" : "between groups", ""};
  const std::string& a = graph.tier_names()[graph.router_tier(from)];
  const std::string& b = graph.tier_names()[graph.router_tier(to)];
  if (a != b) return {fmt::format("between {} and {}", std::min(a, b), std::max(a, b)), "from " + a};
  return {a == "router" ? "between routers" : fmt::format("from {} to {}", a, a), ""};
}

std::vector<LinkKindUse> use_by_kind(const Graph& graph, const TrafficPoint& point) {
  std::map<LinkKind, LinkKindUse> kinds;
  for (const LinkUse& link : point.links) {
    LinkKind kind = link_kind(graph, link.port);
    LinkKindUse& use = kinds[kind];
    use.kind = std::move(kind);
    ++use.links;
    use.full += link.utilisation >= kFull;
    use.mean += link.utilisation;
    use.busiest = std::max(use.busiest, link.utilisation);
  }
  std::vector<LinkKindUse> out;
  for (auto& [kind, use] : kinds) {
    use.mean /= static_cast<double>(use.links);
    out.push_back(std::move(use));
  }
  return out;
}

std::vector<const LinkUse*> hottest_links(const TrafficPoint& point, std::size_t most) {
  std::vector<const LinkUse*> out;
  for (const LinkUse& link : point.links) out.push_back(&link);
  most = std::min(most, out.size());
  std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(most), out.end(),
                    [](const LinkUse* a, const LinkUse* b) {
                      return a->utilisation != b->utilisation ? a->utilisation > b->utilisation
                                                              : a->port < b->port;
                    });
  out.resize(most);
  return out;
}

Findings find(const TrafficResult& result) {
  Findings out;
  for (const TrafficPoint& point : result.points) {
    if (!point.unmeasured.empty()) continue;
    if (!out.lowest) out.lowest = &point;
    bool jams = point.saturated || point.stalled;
    if (jams && !out.too_much) out.too_much = &point;
    if (!jams && !out.too_much) out.last_taken = &point;
    if (!out.best || point.accepted > out.best->accepted) out.best = &point;
    if (point.stalled && !out.stalled) out.stalled = &point;
  }
  out.focus = out.too_much ? out.too_much : out.last_taken;
  return out;
}

Units units_of(const TrafficResult& result) { return {result.cycle_ns, result.flit_bytes}; }

std::string Units::load(double load) const { return fmt::format("{:.4g}", load); }

std::string Units::rate(double load) const {
  double gigabytes_per_second = gigabytes(load);
  return gigabytes_per_second < 1000 ? fmt::format("{:.3g} GB/s", gigabytes_per_second)
                                     : fmt::format("{:.3g} TB/s", gigabytes_per_second / 1000);
}

std::string Units::cycles(double cycles) const {
  return cycles < 1000 ? fmt::format("{:.4g}", cycles)
                       : with_commas(static_cast<std::uint64_t>(std::llround(cycles)));
}

std::string Units::time(double cycles) const {
  double ns = cycles * cycle_ns;
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} \u00b5s", ns / 1e3);
  return fmt::format("{:.4g} ms", ns / 1e6);
}

}  // namespace weft::report
