// All flows at once: their ways, their max-min fair rates, and what holds them back.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flow/routes.hpp"

namespace weft::network::flow {

/// The links of many flows in one flat array.
struct FlowSet {
  std::vector<std::uint64_t> begin{0};  // of a flow's links; one more than there are flows
  std::vector<LinkId> links;
  std::vector<std::uint8_t> weights;  // of kWhole, by entry of `links`; empty: every flow has one way

  std::uint32_t flows() const { return static_cast<std::uint32_t>(begin.size() - 1); }
  std::uint32_t weight(std::uint64_t entry) const { return weights.empty() ? kWhole : weights[entry]; }
  void add(const std::vector<Share>& route);
  std::uint64_t bytes() const;
};

struct Allocation {
  std::vector<double> rate;        // by flow, bytes per picosecond
  std::vector<LinkId> bottleneck;  // by flow: the link that holds it back
};

/// Max-min fair rates by progressive filling: all flows grow alike; when a link is full, its flows stay as
/// they are. `capacity` is by link. A flow without links is not held back by anything and gets rate 0.
Allocation max_min_fair(const FlowSet& set, const std::vector<double>& capacity);

struct FlowPair {
  EndpointId from, to;
};

/// The ways of many flows; a pair without a way gets no links. The same at any number of threads.
FlowSet route_all(const machine::Machine& machine, const Links& links, const std::vector<FlowPair>& pairs,
                  unsigned threads);

struct StaticResult {
  std::uint32_t flows = 0, unreachable = 0;
  double aggregate_bps = 0;  // bits per second, over all flows
  double mean_bps = 0, lowest_bps = 0, highest_bps = 0;
  double mean_links = 0;         // cables crossed, on average
  LinkId tightest = 0;           // the link that holds back the slowest flow
  std::uint32_t held_there = 0;  // flows it holds back
  Time completion{0};            // until the slowest flow has moved `bytes`, at these rates, its way included
  std::uint64_t memory_bytes = 0;
};

StaticResult solve_static(const machine::Machine& machine, const std::vector<FlowPair>& pairs,
                          std::uint64_t bytes, unsigned threads);

}  // namespace weft::network::flow
