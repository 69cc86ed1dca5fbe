// Distances by breadth-first search, from every router that carries endpoints or from a stated sample of
// them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "topology/metrics.hpp"

namespace weft::topology {

namespace {

void add_all(Histogram& to, const Histogram& from) {
  for (std::size_t d = 0; d < from.size(); ++d) add_pairs(to, d, from[d]);
}

std::uint64_t sum(const Histogram& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

double mean_of(const Histogram& histogram) {
  long double weighted = 0;
  for (std::size_t d = 0; d < histogram.size(); ++d)
    weighted += static_cast<long double>(d) * static_cast<long double>(histogram[d]);
  std::uint64_t pairs = sum(histogram);
  return pairs > 0 ? static_cast<double>(weighted / static_cast<long double>(pairs)) : 0;
}

/// Breadth-first searches from up to 64 routers at once, one bit of every word each.
class Searches {
 public:
  static constexpr std::size_t kAtOnce = 64;

  Searches(const Graph& graph, const LiveLinks& links)
      : graph_(graph),
        links_(links),
        seen_(graph.routers()),
        front_(graph.routers()),
        next_(graph.routers()) {}

  /// All sources carry the same number of endpoints, so that a distance's pairs are one multiplication.
  Distances from(std::span<const RouterId> sources) {
    Distances out;
    std::uint64_t weight = graph_.endpoint_count(sources[0]);
    std::fill(seen_.begin(), seen_.end(), 0);
    active_.assign(sources.begin(), sources.end());
    for (std::size_t i = 0; i < sources.size(); ++i)
      seen_[sources[i]] = front_[sources[i]] = std::uint64_t{1} << i;
    add_pairs(out.pairs, 0, sources.size() * weight * (weight - 1));
    out.from = out.to = sources[0];
    for (std::size_t distance = 1; !active_.empty(); ++distance) {
      spread();
      for (RouterId r : active_) {
        std::uint64_t endpoints = graph_.endpoint_count(r);
        if (endpoints == 0) continue;
        if (out.router_pairs.size() <= distance) {
          out.from = sources[static_cast<std::size_t>(std::countr_zero(front_[r]))];
          out.to = r;
        }
        auto reached = static_cast<std::uint64_t>(std::popcount(front_[r]));
        add_pairs(out.pairs, distance, reached * weight * endpoints);
        add_pairs(out.router_pairs, distance, reached);
      }
    }
    return out;
  }

 private:
  /// One cable further: the routers reached for the first time become the active ones.
  void spread() {
    touched_.clear();
    for (RouterId r : active_)
      for (RouterId neighbour : links_.of(r)) {
        std::uint64_t fresh = front_[r] & ~seen_[neighbour];
        if (!fresh) continue;
        if (!next_[neighbour]) touched_.push_back(neighbour);
        next_[neighbour] |= fresh;
      }
    for (RouterId r : touched_) {
      seen_[r] |= next_[r];
      front_[r] = std::exchange(next_[r], 0);
    }
    std::swap(active_, touched_);
  }

  const Graph& graph_;
  const LiveLinks& links_;
  std::vector<std::uint64_t> seen_, front_,
      next_;  // by router: which searches were here, are here, come here
  std::vector<RouterId> active_, touched_;
};

std::vector<RouterId> endpoint_routers(const Graph& graph, const Faults& faults) {
  std::vector<RouterId> out;
  for (RouterId r = 0; r < graph.routers(); ++r)
    if (graph.endpoint_count(r) > 0 && !faults.router_dead(r)) out.push_back(r);
  return out;
}

/// The first `count` of a shuffle: every router has the same chance, and the choice is always the same.
void keep_sample(std::vector<RouterId>& routers, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    std::swap(routers[i], routers[i + random_below(1, 0, i, static_cast<std::uint32_t>(routers.size()) - i)]);
  routers.resize(count);
  std::sort(routers.begin(), routers.end());
}

/// Cuts the sources into runs of at most 64 with the same number of endpoints.
std::vector<std::span<const RouterId>> batches(const Graph& graph, std::vector<RouterId>& sources) {
  std::stable_sort(sources.begin(), sources.end(),
                   [&](RouterId a, RouterId b) { return graph.endpoint_count(a) < graph.endpoint_count(b); });
  std::vector<std::span<const RouterId>> out;
  for (std::size_t begin = 0, end = 0; begin < sources.size(); begin = end) {
    while (end < sources.size() && end - begin < Searches::kAtOnce &&
           graph.endpoint_count(sources[end]) == graph.endpoint_count(sources[begin]))
      ++end;
    out.emplace_back(sources.data() + begin, end - begin);
  }
  return out;
}

/// Searches keep three words per router and thread; few of them where that would be gigabytes.
unsigned search_threads(const Graph& graph, unsigned wanted) {
  constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;
  std::uint64_t each = std::uint64_t{graph.routers()} * 3 * sizeof(std::uint64_t);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(kMemory / each, 1, std::max(1u, wanted)));
}

}  // namespace

void add_pairs(Histogram& histogram, std::size_t distance, std::uint64_t pairs) {
  if (pairs == 0) return;
  if (histogram.size() <= distance) histogram.resize(distance + 1);
  histogram[distance] += pairs;
}

double Distances::mean() const { return mean_of(pairs); }
double Distances::mean_between_routers() const { return mean_of(router_pairs); }

std::string Distances::how() const {
  if (exact()) return "exact";
  return fmt::format("sampled from {} of {} routers", with_commas(sources), with_commas(endpoint_routers));
}

Distances measure_distances(const Graph& graph, const Faults& faults, const DistanceOptions& options) {
  std::vector<RouterId> sources = endpoint_routers(graph, faults);
  auto all = static_cast<std::uint32_t>(sources.size());
  if (options.closed_forms && !faults.any())
    if (auto known = closed_form_distances(graph)) {
      known->sources = known->endpoint_routers = all;
      return *known;
    }

  LiveLinks links(graph, faults);
  // A router is passed by a batch of searches about this often: its sources are near each other, but not one.
  constexpr double kPasses = 4;
  double visits = kPasses * static_cast<double>(links.to.size()) * all / Searches::kAtOnce;
  bool sampled = visits > options.affordable_visits && all > options.sampled_sources;
  std::uint64_t endpoints = 0, from_endpoints = 0;
  for (RouterId r : sources) endpoints += graph.endpoint_count(r);
  if (sampled) keep_sample(sources, options.sampled_sources);
  for (RouterId r : sources) from_endpoints += graph.endpoint_count(r);

  auto work = batches(graph, sources);
  unsigned threads = search_threads(graph, options.threads);
  std::vector<Searches> searches;
  for (unsigned t = 0; t < std::min<std::size_t>(threads, work.size()); ++t)
    searches.emplace_back(graph, links);
  std::vector<Distances> parts(work.size());
  parallel_for(work.size(), threads,
               [&](unsigned thread, std::uint64_t i) { parts[i] = searches[thread].from(work[i]); });

  Distances out;
  out.method = sampled ? Distances::Method::Sampled : Distances::Method::EveryRouter;
  out.sources = static_cast<std::uint32_t>(sources.size());
  out.endpoint_routers = all;
  for (const Distances& part : parts) {
    if (&part == parts.data() || part.pairs.size() > out.pairs.size()) out.from = part.from, out.to = part.to;
    add_all(out.pairs, part.pairs);
    add_all(out.router_pairs, part.router_pairs);
  }
  out.unreachable = from_endpoints * (endpoints - 1) - sum(out.pairs);
  return out;
}

}  // namespace weft::topology
