// What a graph costs and what it can do, before anything runs on it: parts, distances, bisection, zero-load
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "topology/faults.hpp"
#include "topology/graph.hpp"

namespace weft::topology {

struct CableUse {
  const CableType* type = nullptr;
  std::uint64_t cables = 0, strands = 0;
  Length total, shortest, longest;
};

struct TierUse {
  std::string name;
  std::uint64_t routers = 0, endpoints = 0;
  std::uint64_t ports = 0, ports_used = 0;
  std::uint32_t fewest_ports = 0, most_ports = 0;  // on one router
};

struct Inventory {
  std::vector<CableUse> cables;  // types in use, as declared
  std::vector<TierUse> tiers;    // as the topology numbers them
  double total_rate = 0;         // bits per second of all cables, one direction
};
Inventory count_parts(const Graph& graph);

/// [d]: pairs d cables apart; the last entry is not 0.
using Histogram = std::vector<std::uint64_t>;
void add_pairs(Histogram& histogram, std::size_t distance, std::uint64_t pairs);

/// How far apart endpoints are, in cables crossed; a packet crosses one router more than cables.
/// Pairs are ordered (source, destination) and their two endpoints differ. What is dead is left out.
struct Distances {
  enum class Method { ClosedForm, EveryRouter, Sampled };
  Method method = Method::EveryRouter;
  std::uint32_t sources = 0;           // routers measured from
  std::uint32_t endpoint_routers = 0;  // routers that carry endpoints
  Histogram pairs;                     // of endpoints
  Histogram router_pairs;              // of different routers that carry endpoints
  std::uint64_t unreachable = 0;       // pairs of endpoints that no path joins
  RouterId from = 0, to = 0;           // two routers `diameter()` apart

  /// Largest distance found: of all pairs, or of those sampled.
  std::uint32_t diameter() const { return pairs.empty() ? 0 : static_cast<std::uint32_t>(pairs.size() - 1); }
  double mean() const;
  double mean_between_routers() const;
  bool exact() const { return method != Method::Sampled; }
  /// "exact", or "sampled from 64 of 70,000 routers".
  std::string how() const;
};

/// What follows from the shape of a whole machine, at any size; nothing where the shape does not tell.
std::optional<Distances> closed_form_distances(const Graph& graph);

struct DistanceOptions {
  bool closed_forms = true;
  double affordable_visits = 1e9;       // cables looked at before sampling starts
  std::uint32_t sampled_sources = 128;  // routers measured from when sampling
  unsigned threads = default_threads();
};
Distances measure_distances(const Graph& graph, const Faults& faults, const DistanceOptions& options = {});

/// Bits per second an endpoint of this router can inject: as much as its router's first cable carries.
double injection_rate(const Graph& graph, RouterId r);

/// An upper bound on the bisection: the best balanced cut that was found.
struct Bisection {
  std::uint64_t cables = 0;
  double rate = 0;       // bits per second over the cut, one direction
  double full_rate = 0;  // what the smaller half of the endpoints can inject
  std::uint64_t endpoints[2] = {0, 0};
  std::string method;        // which cut is the best
  bool partitioned = false;  // METIS looked for cuts too: the graph was small enough
  double ratio() const { return full_rate > 0 ? rate / full_rate : 0; }
};

struct BisectionOptions {
  bool regular_cuts = true;                   // cuts that follow from the shape or the numbering
  std::uint64_t partitioned_links = 500'000;  // METIS looks at graphs up to this size
};
/// Nothing where all endpoints are on one router.
std::optional<Bisection> estimate_bisection(const Graph& graph, const Faults& faults,
                                            const BisectionOptions& options = {});

/// Time of a packet's head from one router's input to another's output, nothing in its way: the fastest of
/// the paths that cross the fewest cables.
struct ZeroLoad {
  std::uint32_t cables = 0;
  Time in_routers, in_cables;
  std::uint32_t routers() const { return cables + 1; }
  Time total() const { return in_routers + in_cables; }
};
/// Nothing where no path is alive.
std::optional<ZeroLoad> zero_load(const Graph& graph, const Faults& faults, RouterId from, RouterId to,
                                  Time router_latency);

/// The neighbours of every router over living cables, each once: what searches and partitions run on.
struct LiveLinks {
  LiveLinks(const Graph& graph, const Faults& faults);
  std::vector<std::uint32_t> begin;  // routers + 1
  std::vector<RouterId> to;
  std::vector<double> rate;  // bits per second of all cables side by side

  std::span<const RouterId> of(RouterId r) const { return {to.data() + begin[r], begin[r + 1] - begin[r]}; }
};

}  // namespace weft::topology
