// Reductions in routers: packets of many endpoints that become one on their way to a root.
//
// An engine whose routers have operation units is a Reducer too. A reduction has members and a root that is
// none of them. Each member sends one packet a round; routers hold them at the joints of a tree until all of
// a round are there, and one goes on. What routers need for that is taken when the reduction is made, so a
// packet never waits for room. The network tells of one delivery for a round, when all of it is at the root.
//
//   Packet p{.source = member, .destination = round, ...};  p.group = network.reduction(...)
//   ... Delivered with the tag of one of them: take_round() names all of them, in the order of members
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/packet.hpp"
#include "routing/reduction.hpp"

namespace weft::network {

/// The numbers of reductions among those of groups.
inline constexpr GroupNumber kReductionBit = 0x4000'0000;
constexpr bool is_reduction(GroupNumber group) { return group != kNoGroup && (group & kReductionBit); }

class Reducer {
 public:
  virtual ~Reducer() = default;

  virtual bool reduces() const = 0;
  /// A new reduction to `root`, of which `rounds` may be under way at once; kNoGroup: a router on its tree
  /// has no room left, or a member no way to the root. Members are sorted and differ.
  virtual GroupNumber reduction(std::span<const EndpointId> members, EndpointId root, unsigned rounds) = 0;
  /// Nothing of it is under way.
  virtual void end_reduction(GroupNumber reduction) = 0;
  /// The tags of a round that was delivered; its room is free for another.
  virtual void take_round(GroupNumber reduction, std::uint64_t round, std::vector<Tag>& tags) = 0;
  /// In which order routers combine what members give.
  virtual const routing::FoldOrder& order(GroupNumber reduction) const = 0;
};

}  // namespace weft::network
