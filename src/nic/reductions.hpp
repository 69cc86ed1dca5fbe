// Reductions that routers carry out for interfaces: who has joined which, what is under way, and what comes
// of it. The network knows packets and their times; the values are combined here, in the order of its tree.
#pragma once

#include <map>
#include <vector>

#include "abi/group_steps.hpp"
#include "abi/triggered.hpp"
#include "base/slab.hpp"
#include "network/network.hpp"
#include "network/reduction.hpp"
#include "nic/packet.hpp"

namespace weft::nic {

/// The reduction of a group of processes, which has the group's key.
struct GroupReduction {
  std::vector<network::EndpointId> members;  // sorted; without the root
  network::EndpointId root = 0;
  unsigned processes = 0;  // that have joined
  network::GroupNumber number = network::kNoGroup;
  TriggerTarget target;                // the input that gets the result
  std::vector<TriggerTarget> senders;  // by member: the sequence that gives its part
  std::vector<std::uint64_t> sent;     // by member: rounds
};

class Reductions {
 public:
  explicit Reductions(network::Network& network) : reducer_(dynamic_cast<network::Reducer*>(&network)) {}

  bool there_are() const { return reducer_ && reducer_->reduces(); }
  /// A process joins; the same nodes and the same root as those before it with this key. Null: routers have
  /// no units, or no room.
  const GroupReduction* join(std::uint64_t key, std::vector<network::EndpointId> nodes,
                             network::EndpointId root, unsigned rounds);
  void leave(std::uint64_t key);
  GroupReduction* find(std::uint64_t key) {
    const auto at = groups_.find(key);
    return at == groups_.end() ? nullptr : &at->second;
  }
  const GroupReduction* find(std::uint64_t key) const {
    const auto at = groups_.find(key);
    return at == groups_.end() ? nullptr : &at->second;
  }
  /// Who gives a member's part, and to which input.
  void note_sender(std::uint64_t key, const TriggerTarget& sender, const TriggerTarget& target);
  /// A member gives its part of a round.
  void note_sent(std::uint64_t key, network::EndpointId member);

  /// All of a round is at its root: puts the result into packet `arrived`, and lists the others.
  void fold(Slab<Packet>& packets, std::uint32_t arrived, std::vector<std::uint32_t>& others);

  std::uint64_t granted() const { return granted_; }
  std::uint64_t refused() const { return refused_; }

 private:
  network::Reducer* reducer_;
  std::map<std::uint64_t, GroupReduction> groups_;  // by key
  std::vector<network::Tag> tags_;
  std::uint64_t granted_ = 0, refused_ = 0;  // groups
};

}  // namespace weft::nic
