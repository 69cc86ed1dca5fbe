#include "routing/multicast.hpp"

#include <algorithm>
#include <utility>

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

RouterId MulticastTrees::meeting_point(std::span<const RouterId> members) const {
  struct Climbs {
    std::uint32_t members = 0, farthest = 0;
    std::uint64_t all = 0;
  };
  std::vector<Climbs> to(graph_.routers());
  std::vector<std::uint32_t> seen(graph_.routers(), kNone);  // the last member that came here
  std::vector<std::pair<RouterId, std::uint32_t>> queue;     // with their distance
  std::vector<RouterId> each(members.begin(), members.end());
  std::sort(each.begin(), each.end());
  each.erase(std::unique(each.begin(), each.end()), each.end());
  for (std::uint32_t m = 0; m < each.size(); ++m) {
    if (faults_.router_dead(each[m])) return kNone;
    queue.assign(1, {each[m], 0});
    seen[each[m]] = m;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto [router, distance] = queue[i];
      Climbs& here = to[router];
      ++here.members;
      here.farthest = std::max(here.farthest, distance);
      here.all += distance;
      for (PortId p = graph_.port_begin(router); p < graph_.port_begin(router + 1); ++p) {
        if (!faults_.usable(graph_, p) || !levels_.leads_up(p)) continue;
        const RouterId above = graph_.port_router(graph_.peer(p));
        if (std::exchange(seen[above], m) != m) queue.push_back({above, distance + 1});
      }
    }
  }
  RouterId best = kNone;
  for (RouterId r = 0; r < graph_.routers(); ++r)
    if (to[r].members == each.size() &&
        (best == kNone || std::pair(to[r].farthest, to[r].all) < std::pair(to[best].farthest, to[best].all)))
      best = r;
  return best;
}

void MulticastTrees::descend(RouterId root, std::vector<TreeStep>& steps) const {
  steps.clear();
  if (faults_.router_dead(root)) return;
  std::vector<bool> seen(graph_.routers());
  steps.push_back({root});
  seen[root] = true;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const TreeStep here = steps[i];
    const PortId begin = graph_.port_begin(here.router), count = graph_.port_count(here.router);
    for (PortId k = 0; k < count; ++k) {
      const PortId p = begin + (k + root) % count;
      if (!faults_.usable(graph_, p) || levels_.leads_up(p)) continue;
      const RouterId below = graph_.port_router(graph_.peer(p));
      if (seen[below]) continue;
      seen[below] = true;
      steps.push_back({below, graph_.peer(p), i, here.depth + 1});
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

/// What the reduction below one root adds: the way up, the turn at the root, and the way down.
void add_reduction(const Graph& graph, const std::vector<TreeStep>& steps, TreeDependencies& dependencies) {
  std::vector<PortId> at_root;  // ports of the root towards those below it
  for (const TreeStep& step : steps) {
    if (step.in == kNone) continue;
    const PortId above = graph.peer(step.in);
    if (const PortId onward = steps[step.parent].in; onward != kNone) {
      dependencies.add(above, onward);
      dependencies.add(onward, above);
    } else {
      at_root.push_back(above);
    }
  }
  for (PortId in : at_root)
    for (PortId out : at_root) dependencies.add(in, out);
}

}  // namespace

MulticastVerdict verify_multicast(const Graph& graph, const topology::Faults& faults, const GrowTree& grow,
                                  const GrowTree& descend) {
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
  for (RouterId root = 0; descend && root < graph.routers(); ++root) {
    if (faults.router_dead(root)) continue;
    descend(root, steps);
    add_reduction(graph, steps, dependencies);
    ++out.meeting_points;
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
