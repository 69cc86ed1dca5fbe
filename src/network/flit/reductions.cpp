#include "network/flit/reductions.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::network::flit {

std::uint32_t Reduction::place_of(EndpointId member) const {
  const auto at = std::lower_bound(members.begin(), members.end(), member);
  WEFT_CHECK(at != members.end() && *at == member, "a member of the reduction it sends to");
  return static_cast<std::uint32_t>(at - members.begin());
}

void Reductions::allow(unsigned entries, unsigned cycles, std::uint32_t routers, std::size_t tiles) {
  entries_ = entries;
  cycles_ = cycles;
  taken_.assign(routers, 0);
  ready.resize(tiles);
}

GroupNumber Reductions::make(Trees& trees, std::span<const EndpointId> members, EndpointId root,
                             unsigned rounds) {
  WEFT_CHECK(there_are() && !members.empty() && rounds > 0, "a reduction has members and rounds");
  // One that has ended keeps its hops, for the next of the same members.
  std::size_t number = 0;
  const auto same = [&](const Reduction& r) {
    return !r.alive && r.root == root && r.rounds == rounds && std::ranges::equal(r.members, members);
  };
  while (number < all_.size() && !same(all_[number])) ++number;
  if (number == all_.size()) {
    all_.emplace_back();
    all_.back().members.assign(members.begin(), members.end());
    all_.back().root = root;
    all_.back().rounds = rounds;
  }
  Reduction& r = all_[number];
  r.round.assign(rounds, {});
  r.given.assign(rounds * members.size(), {});
  plant(r, trees);
  r.alive = r.joined;
  return r.alive ? static_cast<GroupNumber>(number) | kReductionBit : kNoGroup;
}

/// Takes room at every joint of its tree, or at none.
void Reductions::plant(Reduction& r, Trees& trees) {
  const routing::ReductionTree tree =
      routing::grow_reduction(trees.graph(), trees.shapes(), r.members, r.root);
  r.joined = tree.whole;
  for (const routing::ReductionStop& stop : tree.stops)
    if (stop.joins() && taken_[stop.router] + r.rounds > entries_) r.joined = false;
  if (!r.joined) return;
  for (const routing::ReductionStop& stop : tree.stops)
    if (stop.joins()) {
      taken_[stop.router] += r.rounds;
      r.joints.push_back(stop.router);
    }
  if (!r.entry.empty()) return;  // its hops are there already
  r.order = tree.order();
  r.entry.assign(r.members.size(), kNoHop);
  std::vector<HopNumber> hop_of(tree.stops.size(), kNoHop);
  for (std::size_t i = tree.stops.size(); i-- > 0;) {
    const routing::ReductionStop& stop = tree.stops[i];
    std::uint32_t joint = kNoJoint;
    if (stop.joins()) {
      joint = static_cast<std::uint32_t>(joints_.size());
      joints_.push_back(
          {kNoHop, static_cast<std::uint32_t>(stop.inputs()), static_cast<std::uint32_t>(slots_.size())});
      slots_.resize(slots_.size() + r.rounds, {joint, {}});
    }
    const HopNumber next = stop.parent == topology::kNone ? kNoHop : hop_of[stop.parent];
    hop_of[i] = trees.add_hop({stop.out, next}, joint);
    if (joint != kNoJoint) joints_[joint].hop = hop_of[i];
    for (std::uint32_t member : stop.members) r.entry[member] = hop_of[i];
  }
}

void Reductions::give_room_back(Reduction& r) {
  for (topology::RouterId router : r.joints) taken_[router] -= r.rounds;
  r.joints.clear();
}

void Reductions::end(GroupNumber number) {
  Reduction& r = (*this)[number];
  give_room_back(r);
  r.alive = false;
}

void Reductions::replant(Trees& trees) {
  joints_.clear();
  slots_.clear();
  for (auto& list : ready) list.clear();
  for (Reduction& r : all_) {
    give_room_back(r);
    r.entry.clear();
  }
  for (std::size_t n = 0; n < all_.size(); ++n) {
    Reduction& r = all_[n];
    if (!r.alive) continue;
    plant(r, trees);
    for (std::uint32_t round = 0; !r.joined && round < r.rounds; ++round) {
      if (r.round[round].apart || r.round[round].delivered) continue;
      r.round[round].apart = true;
      parted.push_back({static_cast<GroupNumber>(n) | kReductionBit, round});
    }
  }
}

void Reductions::empty() {
  for (Slot& slot : slots_) slot.state = {};
  for (auto& list : ready) list.clear();
}

}  // namespace weft::network::flit
