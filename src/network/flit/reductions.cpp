#include "network/flit/reductions.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::network::flit {

using routing::TreeStep;
using topology::kNone;
using topology::RouterId;

namespace {

/// The part of the tree below a root that leads to members: what comes to each of its steps.
struct Spanned {
  std::vector<std::vector<EndpointId>> members;      // by step: those at its router
  std::vector<std::vector<std::uint32_t>> children;  // by step: steps, in their order

  std::uint32_t inputs(std::uint32_t step) const {
    return static_cast<std::uint32_t>(members[step].size() + children[step].size());
  }
};

Spanned span(const topology::Graph& graph, const std::vector<TreeStep>& steps,
             const std::vector<EndpointId>& members) {
  Spanned out{std::vector<std::vector<EndpointId>>(steps.size()),
              std::vector<std::vector<std::uint32_t>>(steps.size())};
  std::vector<std::uint32_t> step_of(graph.routers(), kNone);
  for (std::uint32_t i = 0; i < steps.size(); ++i) step_of[steps[i].router] = i;
  for (EndpointId member : members) out.members[step_of[graph.endpoint_router(member)]].push_back(member);
  for (auto i = static_cast<std::uint32_t>(steps.size()); i-- > 1;)
    if (out.inputs(i) > 0) out.children[steps[i].parent].push_back(i);
  for (auto& children : out.children) std::reverse(children.begin(), children.end());
  return out;
}

void add_steps(const Spanned& spanned, std::uint32_t at, std::vector<ReductionStep>& out) {
  for (EndpointId member : spanned.members[at]) out.push_back({member, 0});
  for (std::uint32_t child : spanned.children[at]) add_steps(spanned, child, out);
  if (spanned.inputs(at) > 1) out.push_back({kNone, spanned.inputs(at)});
}

}  // namespace

std::uint32_t Reductions::index_of(ReductionNumber number, EndpointId member) const {
  const auto& members = all_[number].members;
  const auto found = std::lower_bound(members.begin(), members.end(), member);
  WEFT_CHECK(found != members.end() && *found == member, "members alone contribute");
  return static_cast<std::uint32_t>(found - members.begin());
}

ReductionNumber Reductions::reserve(Trees& trees, std::span<const EndpointId> given, unsigned rounds) {
  std::vector<EndpointId> members(given.begin(), given.end());
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  WEFT_CHECK(members.size() > 1 && rounds > 0, "a reduction is of several");
  // One that was given back has its tree still.
  for (ReductionNumber i = 0; i < all_.size(); ++i) {
    Reduction& old = all_[i];
    if (old.in_use || old.rounds != rounds || old.members != members || old.entry.front() == kNoHop) continue;
    old.in_use = take_room(old);
    return old.in_use ? i : kNoReduction;
  }
  Reduction fresh;
  fresh.members = std::move(members);
  fresh.rounds = rounds;
  fresh.in_use = true;
  if (!plant(trees, fresh)) return kNoReduction;
  all_.push_back(std::move(fresh));
  return static_cast<ReductionNumber>(all_.size() - 1);
}

void Reductions::release(ReductionNumber number) {
  Reduction& reduction = all_[number];
  if (std::exchange(reduction.in_use, false) && reduction.entry.front() != kNoHop) give_room(reduction);
}

void Reductions::replant(Trees& trees) {
  std::fill(used_.begin(), used_.end(), Room{});
  meetings_ = 0;
  for (Reduction& reduction : all_)
    if (!reduction.in_use || !plant(trees, reduction))
      reduction.entry.assign(reduction.members.size(), kNoHop);
}

bool Reductions::take_room(Reduction& reduction) {
  for (const Taken& taken : reduction.taken)
    if (used_[taken.router].groups + 1 > room_.groups ||
        used_[taken.router].operands + taken.operands > room_.operands)
      return false;
  for (const Taken& taken : reduction.taken) {
    ++used_[taken.router].groups;
    used_[taken.router].operands += taken.operands;
  }
  return true;
}

void Reductions::give_room(const Reduction& reduction) {
  for (const Taken& taken : reduction.taken) {
    --used_[taken.router].groups;
    used_[taken.router].operands -= taken.operands;
  }
}

bool Reductions::plant(Trees& trees, Reduction& reduction) {
  std::vector<RouterId> routers;
  for (EndpointId member : reduction.members) routers.push_back(graph_.endpoint_router(member));
  const RouterId root = trees.shapes().meeting_point(routers);
  if (root == kNone) return false;
  std::vector<TreeStep> steps;
  trees.shapes().descend(root, steps);
  const Spanned spanned = span(graph_, steps, reduction.members);
  const auto count = static_cast<std::uint32_t>(steps.size());
  reduction.taken.clear();
  for (std::uint32_t i = 0; i < count; ++i)
    if (spanned.inputs(i) > 1)
      reduction.taken.push_back({steps[i].router, spanned.inputs(i) * reduction.rounds});
  if (!take_room(reduction)) return false;
  const auto meets = [&](HopNumber hop, std::uint32_t inputs) {
    if (inputs < 2) return;
    trees.hop(hop).inputs = inputs;
    trees.hop(hop).meetings = meetings_;
    meetings_ += reduction.rounds;
  };
  // Downwards: children first. The root's own is where contributions end and what they make begins.
  std::vector<HopNumber> down(count, kNoHop), up(count, kNoHop);
  for (std::uint32_t i = count; i-- > 0;) {
    if (spanned.inputs(i) == 0) continue;
    std::vector<Branch> ways;
    for (EndpointId member : spanned.members[i]) ways.push_back({graph_.endpoint_port(member), kNoHop});
    for (std::uint32_t child : spanned.children[i])
      ways.push_back({graph_.peer(steps[child].in), down[child]});
    down[i] = trees.add_hop(ways);
  }
  up[0] = down[0];
  meets(up[0], spanned.inputs(0));
  for (std::uint32_t i = 1; i < count; ++i) {
    if (spanned.inputs(i) == 0) continue;
    const Branch way{steps[i].in, up[steps[i].parent]};
    up[i] = trees.add_hop({&way, 1});
    meets(up[i], spanned.inputs(i));
  }
  reduction.entry.assign(reduction.members.size(), kNoHop);
  for (std::uint32_t i = 0; i < count; ++i)
    for (EndpointId member : spanned.members[i])
      reduction.entry[static_cast<std::size_t>(
          std::lower_bound(reduction.members.begin(), reduction.members.end(), member) -
          reduction.members.begin())] = up[i];
  reduction.steps.clear();
  add_steps(spanned, 0, reduction.steps);
  return true;
}

}  // namespace weft::network::flit
