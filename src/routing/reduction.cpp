#include "routing/reduction.hpp"

#include <algorithm>

namespace weft::routing {

FoldOrder ReductionTree::order() const {
  FoldOrder out;
  std::vector<std::uint32_t> holder(stops.size(), kNone);  // the member whose value a stop's is kept in
  for (std::uint32_t s = 0; s < stops.size(); ++s) {
    const auto add = [&](std::uint32_t member) {
      if (holder[s] == kNone)
        holder[s] = member;
      else
        out.folds.push_back({holder[s], member});
    };
    for (std::uint32_t member : stops[s].members) add(member);
    for (std::uint32_t child : stops[s].children) add(holder[child]);
  }
  if (!holder.empty()) out.first = holder.back();
  return out;
}

ReductionTree grow_reduction(const Graph& graph, const MulticastTrees& trees,
                             std::span<const EndpointId> members, EndpointId root) {
  ReductionTree out;
  std::vector<TreeStep> steps;
  trees.grow(graph.endpoint_router(root), steps);
  const auto count = static_cast<std::uint32_t>(steps.size());
  std::vector<std::uint32_t> step_of(graph.routers(), kNone);  // the first at each router
  for (std::uint32_t i = count; i-- > 0;) step_of[steps[i].router] = i;
  std::vector<std::vector<std::uint32_t>> here(steps.size());  // by step
  std::vector<bool> used(steps.size());
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    const std::uint32_t step = step_of[graph.endpoint_router(members[m])];
    if (step == kNone) {
      out.whole = false;
      continue;
    }
    here[step].push_back(m);
    for (std::uint32_t s = step; s != kNone && !used[s]; s = steps[s].parent) used[s] = true;
  }
  // Parents come before their children among steps, and after them among stops.
  std::vector<std::uint32_t> stop_of(steps.size(), kNone);
  for (std::uint32_t i = count; i-- > 0;) {
    if (!used[i]) continue;
    stop_of[i] = static_cast<std::uint32_t>(out.stops.size());
    ReductionStop stop{steps[i].router, steps[i].in, kNone, steps[i].depth, std::move(here[i]), {}};
    if (i == 0) stop.out = graph.endpoint_port(root);
    out.stops.push_back(std::move(stop));
  }
  for (std::uint32_t i = 1; i < count; ++i) {
    if (!used[i]) continue;
    out.stops[stop_of[i]].parent = stop_of[steps[i].parent];
    out.stops[stop_of[steps[i].parent]].children.push_back(stop_of[i]);
  }
  return out;
}

}  // namespace weft::routing
