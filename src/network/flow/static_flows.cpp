#include "network/flow/static_flows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.hpp"

namespace weft::network::flow {

void FlowSet::add(const std::vector<Share>& route) {
  for (const Share& s : route) {
    bool several = !weights.empty() || s.weight != kWhole;
    if (several) weights.resize(links.size(), kWhole);
    links.push_back(s.link);
    if (several) weights.push_back(static_cast<std::uint8_t>(s.weight));
  }
  begin.push_back(links.size());
}

std::uint64_t FlowSet::bytes() const {
  return begin.size() * sizeof(begin[0]) + links.size() * sizeof(links[0]) + weights.size();
}

namespace {

/// Pairs in the order of their destination routers, which is the order in which searched routes are cheap.
std::vector<std::uint32_t> by_destination(const topology::Graph& graph, const std::vector<FlowPair>& pairs) {
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return graph.endpoint_router(pairs[a].to) < graph.endpoint_router(pairs[b].to);
  });
  return order;
}

}  // namespace

FlowSet route_all(const machine::Machine& machine, const Links& links, const std::vector<FlowPair>& pairs,
                  unsigned threads) {
  RouteMaker maker(machine, links);
  FlowSet all;
  if (maker.needs_load()) {  // each flow looks at those before it
    std::vector<std::uint32_t> load(links.count());
    RouteMaker::Scratch scratch;
    std::vector<Share> route;
    for (const FlowPair& pair : pairs) {
      if (!maker.route(pair.from, pair.to, load.data(), scratch, route)) route.clear();
      for (const Share& s : route) load[s.link] += s.weight;
      all.add(route);
    }
    return all;
  }
  // Routed in the order of destinations, piece by piece; then put in the order of the pairs.
  constexpr std::size_t kPiece = 4096;
  std::vector<std::uint32_t> order = by_destination(*machine.graph, pairs);
  std::size_t pieces = (pairs.size() + kPiece - 1) / kPiece;
  std::vector<FlowSet> part(pieces);
  struct Worker {
    RouteMaker::Scratch scratch;
    std::vector<Share> route;
  };
  std::vector<Worker> workers(std::max(1u, threads));
  parallel_for(pieces, threads, [&](unsigned thread, std::uint64_t piece) {
    auto& [scratch, route] = workers[thread];
    for (std::size_t i = piece * kPiece; i < std::min(pairs.size(), (piece + 1) * kPiece); ++i) {
      const FlowPair& pair = pairs[order[i]];
      if (!maker.route(pair.from, pair.to, nullptr, scratch, route)) route.clear();
      part[piece].add(route);
    }
    part[piece].links.shrink_to_fit();
    part[piece].weights.shrink_to_fit();
  });
  bool several = false;
  std::vector<std::uint32_t> length(pairs.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FlowSet& p = part[i / kPiece];
    length[order[i]] = static_cast<std::uint32_t>(p.begin[i % kPiece + 1] - p.begin[i % kPiece]);
    several |= !p.weights.empty();
  }
  all.begin.resize(pairs.size() + 1);
  std::inclusive_scan(length.begin(), length.end(), all.begin.begin() + 1, std::plus<>(), std::uint64_t{0});
  all.links.resize(all.begin.back());
  if (several) all.weights.resize(all.begin.back());
  for (std::size_t i = 0; i < order.size(); ++i) {
    FlowSet& p = part[i / kPiece];
    std::uint64_t from = p.begin[i % kPiece], to = all.begin[order[i]], count = length[order[i]];
    std::copy_n(p.links.begin() + from, count, all.links.begin() + to);
    if (several && p.weights.empty())
      std::fill_n(all.weights.begin() + to, count, static_cast<std::uint8_t>(kWhole));
    else if (several)
      std::copy_n(p.weights.begin() + from, count, all.weights.begin() + to);
    if (i % kPiece == kPiece - 1) p = {};  // a million routes need not be held twice
  }
  return all;
}

StaticResult solve_static(const machine::Machine& machine, const std::vector<FlowPair>& pairs,
                          std::uint64_t bytes, unsigned threads) {
  Links links(machine);
  FlowSet set = route_all(machine, links, pairs, threads);
  std::vector<double> capacity(links.count());
  for (LinkId l = 0; l < links.count(); ++l) capacity[l] = links.capacity(l);
  Allocation fair = max_min_fair(set, capacity);

  StaticResult out;
  out.flows = set.flows();
  out.memory_bytes = set.bytes() * 2 + capacity.size() * 3 * sizeof(double);
  double lowest = 0, highest = 0, sum = 0, cables = 0, completion = 0;
  std::uint32_t slowest = topology::kNone;
  for (std::uint32_t f = 0; f < set.flows(); ++f) {
    if (set.begin[f] == set.begin[f + 1]) {
      ++out.unreachable;
      continue;
    }
    double rate = fair.rate[f], delay = 0, crossed = 0;
    for (std::uint64_t e = set.begin[f]; e < set.begin[f + 1]; ++e) {
      crossed += set.weight(e);
      delay += static_cast<double>(links.delay_ps(set.links[e])) * set.weight(e);
    }
    cables += crossed / kWhole - 2;
    sum += rate;
    highest = std::max(highest, rate);
    if (slowest == topology::kNone || rate < lowest) {
      lowest = rate;
      slowest = f;
    }
    if (bytes > 0)
      completion = std::max(completion, static_cast<double>(links.wire_bytes(bytes)) / rate + delay / kWhole);
  }
  constexpr double kBitsPerSecond = 8e12;
  std::uint32_t routed = out.flows - out.unreachable;
  if (routed == 0) return out;
  out.aggregate_bps = sum * kBitsPerSecond;
  out.mean_bps = out.aggregate_bps / routed;
  out.lowest_bps = lowest * kBitsPerSecond;
  out.highest_bps = highest * kBitsPerSecond;
  out.mean_links = cables / routed;
  out.tightest = fair.bottleneck[slowest];
  for (LinkId l : fair.bottleneck) out.held_there += l == out.tightest;
  out.completion = {static_cast<std::int64_t>(std::ceil(completion))};
  return out;
}

}  // namespace weft::network::flow
