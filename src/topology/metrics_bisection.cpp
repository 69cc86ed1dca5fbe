// Bisection: no exact answer is affordable, so the best of several balanced cuts stands as an upper bound.
#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/text.hpp"
#include "topology/grid_shape.hpp"
#include "topology/metrics.hpp"

namespace weft::topology {

double injection_rate(const Graph& graph, RouterId r) {
  for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
    if (graph.peer(p) != kNone)
      return static_cast<double>(graph.cable_type(graph.port_cable(p)).rate().value);
  return 0;
}

namespace {

using Sides = std::vector<std::uint8_t>;  // 0 or 1, by router

Bisection measure_cut(const Graph& graph, const Faults& faults, const Sides& side, std::string method) {
  Bisection cut;
  cut.method = std::move(method);
  double injected[2] = {0, 0};
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (graph.endpoint_count(r) == 0 || faults.router_dead(r)) continue;
    cut.endpoints[side[r]] += graph.endpoint_count(r);
    injected[side[r]] += injection_rate(graph, r) * graph.endpoint_count(r);
  }
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = graph.cable_ends(c);
    if (side[graph.port_router(a)] == side[graph.port_router(b)] || !faults.usable(graph, a)) continue;
    ++cut.cables;
    cut.rate += static_cast<double>(graph.cable_type(c).rate().value);
  }
  cut.full_rate = std::min(injected[0], injected[1]);
  return cut;
}

/// Halves may differ by a router's endpoints where routers do not divide evenly, or by one part in a hundred.
bool balanced(const Bisection& cut, std::uint64_t most_endpoints) {
  auto [less, more] = std::minmax(cut.endpoints[0], cut.endpoints[1]);
  return less > 0 && more - less <= std::max(most_endpoints, (more + less) / 100);
}

/// A plane across one dimension of a grid; devices stay with the router they hang on.
Sides straight_cut(const Graph& graph, const GridShape& shape, unsigned dimension) {
  Sides side(graph.routers());
  for (RouterId r = 0; r < graph.routers(); ++r)
    side[r] = shape.coordinate(shape.grid_router(r), dimension) >= shape.dimensions[dimension].length / 2;
  return side;
}

/// The first half of the endpoints against the second. Routers without endpoints follow most of their cables,
/// those nearer to endpoints first; where both halves pull alike they are dealt out in turn.
Sides numbered_cut(const Graph& graph, const LiveLinks& links) {
  constexpr std::uint8_t kOpen = 2;
  Sides side(graph.routers(), kOpen);
  std::vector<RouterId> front, next;
  for (RouterId r = 0; r < graph.routers(); ++r)
    if (graph.endpoint_count(r) > 0) {
      side[r] = graph.first_endpoint(r) >= graph.endpoints() / 2;
      front.push_back(r);
    }
  std::uint8_t turn = 0;
  while (!front.empty()) {
    next.clear();
    for (RouterId r : front)
      for (RouterId neighbour : links.of(r))
        if (side[neighbour] == kOpen) next.push_back(neighbour);
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::vector<std::uint8_t> chosen;
    for (RouterId r : next) {
      double pull[3] = {0, 0, 0};
      for (std::uint32_t i = links.begin[r]; i < links.begin[r + 1]; ++i)
        pull[side[links.to[i]]] += links.rate[i];
      chosen.push_back(pull[0] == pull[1] ? (turn ^= 1) : pull[1] > pull[0]);
    }
    for (std::size_t i = 0; i < next.size(); ++i) side[next[i]] = chosen[i];
    std::swap(front, next);
  }
  std::replace(side.begin(), side.end(), kOpen, std::uint8_t{0});  // cut off from every endpoint
  return side;
}

/// The graph as METIS takes it: endpoints weigh vertices, rates weigh edges.
struct Partitioner {
  std::vector<idx_t> begin, to, weight, endpoints;

  Partitioner(const Graph& graph, const Faults& faults, const LiveLinks& links)
      : begin(links.begin.begin(), links.begin.end()), to(links.to.begin(), links.to.end()) {
    double total = 0;
    for (double rate : links.rate) total += rate;
    double slowest = links.rate.empty() ? 1 : *std::min_element(links.rate.begin(), links.rate.end());
    double unit = std::max(slowest / 16, total / 1e9);  // METIS adds weights up in 32 bits
    for (double rate : links.rate)
      weight.push_back(std::max<idx_t>(1, static_cast<idx_t>(std::lround(rate / unit))));
    for (RouterId r = 0; r < graph.routers(); ++r)
      endpoints.push_back(faults.router_dead(r) ? 0 : static_cast<idx_t>(graph.endpoint_count(r)));
  }

  Sides run(decltype(&METIS_PartGraphRecursive) method, idx_t cuts, idx_t seed) {
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = seed;
    options[METIS_OPTION_NCUTS] = cuts;
    options[METIS_OPTION_UFACTOR] = 1;  // halves alike to one part in a thousand
    auto vertices = static_cast<idx_t>(endpoints.size());
    idx_t constraints = 1, parts = 2, cut = 0;
    std::vector<idx_t> part(endpoints.size());
    int status = method(&vertices, &constraints, begin.data(), to.data(), endpoints.data(), nullptr,
                        weight.data(), &parts, nullptr, nullptr, options, &cut, part.data());
    if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
    WEFT_CHECK(status == METIS_OK, fmt::format("METIS answered {}", status));
    return {part.begin(), part.end()};
  }
};

}  // namespace

std::optional<Bisection> estimate_bisection(const Graph& graph, const Faults& faults,
                                            const BisectionOptions& options) {
  std::uint64_t most = 0, endpoint_routers = 0;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (graph.endpoint_count(r) == 0 || faults.router_dead(r)) continue;
    most = std::max<std::uint64_t>(most, graph.endpoint_count(r));
    ++endpoint_routers;
  }
  if (endpoint_routers < 2) return std::nullopt;

  std::optional<Bisection> best;
  auto consider = [&](const Sides& side, std::string method) {
    Bisection cut = measure_cut(graph, faults, side, std::move(method));
    if (balanced(cut, most) && (!best || cut.rate < best->rate)) best = std::move(cut);
  };
  const auto* grid = graph.shape_as<GridShape>();
  if (options.regular_cuts && grid)
    for (unsigned d = 0; d < grid->dimensions.size(); ++d)
      if (grid->dimensions[d].length % 2 == 0)
        consider(straight_cut(graph, *grid, d), fmt::format("straight cut across dimension {}", d));

  bool partition = graph.cables() <= options.partitioned_links;
  bool number = options.regular_cuts && !best;
  if (!partition && !number) return best;  // links are costly to collect for a million routers
  LiveLinks links(graph, faults);
  if (number) consider(numbered_cut(graph, links), "first half of the endpoints against the second");
  if (partition) {
    Partitioner partitioner(graph, faults, links);
    idx_t cuts = graph.cables() <= 50'000 ? 16 : 2;
    for (idx_t seed : {1, 2}) {
      consider(partitioner.run(METIS_PartGraphRecursive, cuts, seed), "METIS");
      consider(partitioner.run(METIS_PartGraphKway, cuts, seed), "METIS");
    }
    if (best) best->partitioned = true;
  }
  return best;
}

}  // namespace weft::topology
