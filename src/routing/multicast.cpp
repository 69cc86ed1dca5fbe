#include "routing/multicast.hpp"

#include <algorithm>

#include "routing/dependencies.hpp"

namespace weft::routing {

void MulticastTrees::grow(RouterId source, std::vector<TreeStep>& steps) const {
  steps.clear();
  if (faults_.router_dead(source)) return;
  std::vector<bool> seen(std::size_t{graph_.routers()} * 2);  // by router, climbing and descending
  std::vector<bool> descends{false};                          // by step
  steps.push_back({source});
  seen[std::size_t{source} * 2] = true;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const TreeStep here = steps[i];
    const PortId begin = graph_.port_begin(here.router), count = graph_.port_count(here.router);
    for (PortId k = 0; k < count; ++k) {
      // Of parallel cables, sources take different ones.
      const PortId p = begin + (k + source) % count;
      if (!faults_.usable(graph_, p)) continue;
      const bool down = !levels_.leads_up(p);
      if (descends[i] && !down) continue;
      const RouterId next = graph_.port_router(graph_.peer(p));
      // One that descends to a router it has climbed to before would come to nobody new.
      if (seen[std::size_t{next} * 2 + down] || (down && seen[std::size_t{next} * 2])) continue;
      seen[std::size_t{next} * 2 + down] = true;
      steps.push_back({next, graph_.peer(p), i, here.depth + 1});
      descends.push_back(down);
    }
  }
}

namespace {

/// Who waits for whom: for each port by which packets come, the ports by which they go on.
class TreeDependencies {
 public:
  explicit TreeDependencies(const Graph& graph) : graph_(graph), first_(graph.ports() + 1) {
    for (PortId p = 0; p < graph.ports(); ++p)
      first_[p + 1] = first_[p] + graph.port_count(graph.port_router(p));
    bits_.resize(first_.back());
  }
  void add(PortId in, PortId out) {
    const std::uint64_t bit = first_[in] + graph_.port_index(out);
    edges_ += !bits_[bit];
    bits_[bit] = true;
  }
  bool has(PortId in, PortId out) const { return bits_[first_[in] + graph_.port_index(out)]; }
  std::uint64_t edges() const { return edges_; }
  /// A channel is known by the port it leads to.
  void successors(std::uint64_t channel, const std::function<void(std::uint64_t)>& call) const {
    const auto in = static_cast<PortId>(channel);
    const PortId begin = graph_.port_begin(graph_.port_router(in));
    for (std::uint64_t i = first_[in]; i < first_[in + 1]; ++i)
      if (bits_[i]) call(graph_.peer(begin + static_cast<PortId>(i - first_[in])));
  }

 private:
  const Graph& graph_;
  std::vector<std::uint64_t> first_;  // by port
  std::vector<bool> bits_;
  std::uint64_t edges_ = 0;
};

}  // namespace

MulticastVerdict verify_multicast(const Graph& graph, const topology::Faults& faults, const GrowTree& grow) {
  MulticastVerdict out;
  TreeDependencies dependencies(graph);
  std::vector<TreeStep> steps;
  std::vector<RouterId> with_endpoints;
  for (RouterId r = 0; r < graph.routers(); ++r)
    if (graph.endpoint_count(r) > 0 && !faults.router_dead(r)) with_endpoints.push_back(r);
  std::vector<RouterId> reached(graph.routers(), kNone);  // the last source whose tree came here
  std::vector<RouterId> crossed(graph.ports(), kNone);    // the same of the port a cable leads to
  for (RouterId source : with_endpoints) {
    grow(source, steps);
    for (const TreeStep& step : steps) {
      reached[step.router] = source;
      out.deepest = std::max(out.deepest, step.depth);
      if (step.in == kNone) continue;
      out.crossed_twice += crossed[step.in] == source;
      crossed[step.in] = source;
      // The step before holds what it came by until it has gone on by all of its branches, this one too.
      if (const PortId held = steps[step.parent].in; held != kNone)
        dependencies.add(held, graph.peer(step.in));
    }
    for (RouterId r : with_endpoints) out.unreached += reached[r] != source;
  }
  out.sources = with_endpoints.size();
  out.channels = 2 * std::uint64_t{graph.cables()};
  out.dependencies = dependencies.edges();
  const auto cycle = find_cycle(graph.ports(), [&](std::uint64_t channel, const auto& call) {
    dependencies.successors(channel, call);
  });
  for (std::uint64_t channel : cycle)
    out.cycle.push_back({graph.peer(static_cast<PortId>(channel)), 0, kNone});
  return out;
}

}  // namespace weft::routing
