#include <algorithm>

#include "network/flow/static_flows.hpp"

namespace weft::network::flow {

namespace {

/// A link and what each of its flows would get if it were the next to be full; least first.
struct Entry {
  double share;
  LinkId link;
  bool operator<(const Entry& other) const {
    return share != other.share ? share > other.share : link > other.link;
  }
};

// Links lie anywhere in memory: a link is fetched this many entries before its turn.
constexpr std::uint64_t kAhead = 12;

/// Flows of each link, in the order of their numbers.
struct FlowsOfLink {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint32_t> flows;

  FlowsOfLink(const FlowSet& set, std::size_t links) : begin(links + 1), flows(set.links.size()) {
    for (LinkId l : set.links) ++begin[l + 1];
    for (std::size_t l = 0; l < links; ++l) begin[l + 1] += begin[l];
    std::vector<std::uint64_t> at(begin.begin(), begin.end() - 1);
    for (std::uint32_t f = 0; f < set.flows(); ++f)
      for (std::uint64_t e = set.begin[f]; e < set.begin[f + 1]; ++e) {
        if (e + 2 * kAhead < set.links.size()) {
          __builtin_prefetch(&at[set.links[e + 2 * kAhead]]);
          __builtin_prefetch(&flows[at[set.links[e + kAhead]]], 1);
        }
        flows[at[set.links[e]]++] = f;
      }
  }
};

}  // namespace

Allocation max_min_fair(const FlowSet& set, const std::vector<double>& capacity) {
  FlowsOfLink of(set, capacity.size());
  struct State {
    double left;
    std::uint32_t weight;  // of the flows still growing
  };
  std::vector<State> link(capacity.size());
  for (std::size_t l = 0; l < capacity.size(); ++l) link[l] = {capacity[l], 0};
  for (std::uint64_t e = 0; e < set.links.size(); ++e) link[set.links[e]].weight += set.weight(e);

  auto share = [&](LinkId l) { return std::max(0.0, link[l].left * kWhole / link[l].weight); };
  std::vector<Entry> heap;
  for (LinkId l = 0; l < link.size(); ++l)
    if (link[l].weight > 0) heap.push_back({share(l), l});
  std::make_heap(heap.begin(), heap.end());

  Allocation out;
  out.rate.assign(set.flows(), -1);
  out.bottleneck.assign(set.flows(), topology::kNone);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    auto [key, l] = heap.back();
    heap.pop_back();
    if (link[l].weight == 0) continue;
    double now = share(l);
    if (now > key) {  // flows of it have stopped since; it fills later than thought
      heap.push_back({now, l});
      std::push_heap(heap.begin(), heap.end());
      continue;
    }
    for (std::uint64_t i = of.begin[l]; i < of.begin[l + 1]; ++i) {
      std::uint32_t f = of.flows[i];
      if (out.rate[f] >= 0) continue;
      out.rate[f] = now;
      out.bottleneck[f] = l;
      for (std::uint64_t e = set.begin[f]; e < set.begin[f + 1]; ++e) {
        if (e + kAhead < set.begin[f + 1]) __builtin_prefetch(&link[set.links[e + kAhead]], 1);
        State& state = link[set.links[e]];
        std::uint32_t weight = set.weight(e);
        state.weight -= weight;
        state.left -= now * weight / kWhole;
      }
    }
  }
  for (double& rate : out.rate) rate = std::max(rate, 0.0);
  return out;
}

}  // namespace weft::network::flow
