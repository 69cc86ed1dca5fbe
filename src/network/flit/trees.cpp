#include "network/flit/trees.hpp"

#include <fmt/format.h>

#include "base/diagnostics.hpp"
#include "network/flit/packets.hpp"

namespace weft::network::flit {

using topology::kNone;
using topology::RouterId;

void Trees::plant(GroupNumber group, const std::vector<EndpointId>& members, EndpointId source) {
  if (roots_.size() <= group) roots_.resize(group + 1);
  if (roots_[group].size() <= source) roots_[group].resize(source + 1);
  Root& root = roots_[group][source];
  if (root.planted) return;
  root = {};
  root.planted = true;
  shapes_->grow(graph_.endpoint_router(source), steps_);
  std::vector<std::uint32_t> step_of(graph_.routers(), kNone);  // the first at each router
  for (std::uint32_t i = static_cast<std::uint32_t>(steps_.size()); i-- > 0;) step_of[steps_[i].router] = i;
  std::vector<std::vector<Branch>> ways(steps_.size());  // by step; of those who come here for a member
  for (EndpointId member : members) {
    if (member == source) continue;
    const std::uint32_t step = step_of[graph_.endpoint_router(member)];
    if (step == kNone)
      root.cut_off.push_back(member);
    else
      ways[step].push_back({graph_.endpoint_port(member), kNoHop});
  }
  // Children come after their parents, so a hop's number is known before its parent's branches are.
  for (std::uint32_t i = static_cast<std::uint32_t>(steps_.size()); i-- > 0;) {
    if (ways[i].empty()) continue;
    const HopNumber number = add_hop(ways[i]);
    if (i == 0)
      root.hop = number;
    else
      ways[steps_[i].parent].push_back({graph_.peer(steps_[i].in), number});
  }
}

HopNumber Trees::add_hop(std::span<const Branch> ways) {
  if (hops_.size() + 1 >= Entry::kMaxEndpoints)
    throw UserError(
        fmt::format("the trees of packets for many have more than {} hops in all: fewer groups, or "
                    "fewer sources in each",
                    Entry::kMaxEndpoints));
  hops_.push_back({static_cast<std::uint32_t>(branches_.size()), static_cast<std::uint32_t>(ways.size())});
  branches_.insert(branches_.end(), ways.begin(), ways.end());
  return static_cast<HopNumber>(hops_.size() - 1);
}

void Trees::replant(const topology::Faults& faults, const Groups& groups) {
  std::vector<std::vector<Root>> before = std::move(roots_);
  faults_ = faults;
  shapes_.emplace(graph_, faults_);
  hops_.clear();
  branches_.clear();
  roots_.clear();
  for (GroupNumber group = 0; group < before.size(); ++group)
    for (EndpointId source = 0; source < before[group].size(); ++source)
      if (before[group][source].planted) plant(group, groups.members(group), source);
}

void Trees::add_endpoints(const Branch& branch, std::vector<EndpointId>& out) const {
  if (branch.next == kNoHop)
    out.push_back(graph_.port_endpoint(branch.out));
  else
    add_endpoints(branch.next, out);
}

void Trees::add_endpoints(HopNumber number, std::vector<EndpointId>& out) const {
  const TreeHop& hop = hops_[number];
  for (std::uint32_t i = 0; i < hop.count; ++i) add_endpoints(branches_[hop.first + i], out);
}

}  // namespace weft::network::flit
