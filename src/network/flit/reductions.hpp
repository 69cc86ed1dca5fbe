// The trees by which routers combine what members of a group contribute, and the room they take in routers.
//
// Contributions climb to the router where all ways of the group meet, and what they make together descends
// from there by the same cables (routing/multicast.hpp). A router where several ways come together keeps room
// for one contribution of each way and round; the room is taken when a reduction is reserved, so no
// contribution ever waits for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/router_kind.hpp"
#include "network/flit/trees.hpp"
#include "network/network.hpp"

namespace weft::network::flit {

class Reductions {
 public:
  Reductions(const topology::Graph& graph, const machine::RouterReduction& room)
      : graph_(graph), room_(room), used_(graph.routers()) {}

  /// kNoReduction: a router has no room left, or no tree joins the members.
  ReductionNumber reserve(Trees& trees, std::span<const EndpointId> members, unsigned rounds);
  void release(ReductionNumber number);
  /// All of them once more, after the trees have been planted anew.
  void replant(Trees& trees);

  /// In the order of their numbers.
  const std::vector<EndpointId>& members(ReductionNumber number) const { return all_[number].members; }
  std::uint32_t index_of(ReductionNumber number, EndpointId member) const;
  unsigned rounds(ReductionNumber number) const { return all_[number].rounds; }
  /// Where a member's contribution comes to first; kNoHop: no tree is left that joins all members, or a
  /// router on it has no room.
  HopNumber entry(ReductionNumber number, EndpointId member) const {
    return all_[number].entry[index_of(number, member)];
  }
  const std::vector<ReductionStep>& steps(ReductionNumber number) const { return all_[number].steps; }
  /// Of all hops and rounds.
  std::uint32_t meetings() const { return meetings_; }

 private:
  struct Room {
    std::uint64_t groups = 0, operands = 0;
  };
  struct Taken {
    topology::RouterId router;
    std::uint32_t operands;
  };
  struct Reduction {
    std::vector<EndpointId> members;
    unsigned rounds = 0;
    bool in_use = false;
    std::vector<HopNumber> entry;  // by member
    std::vector<Taken> taken;      // where ways come together
    std::vector<ReductionStep> steps;
  };
  bool plant(Trees& trees, Reduction& reduction);
  bool take_room(Reduction& reduction);
  void give_room(const Reduction& reduction);

  const topology::Graph& graph_;
  machine::RouterReduction room_;
  std::vector<Room> used_;  // by router
  std::vector<Reduction> all_;
  std::uint32_t meetings_ = 0;
};

}  // namespace weft::network::flit
