// The sequences by which interfaces run collectives along a tree (abi/triggered.hpp). Each member has five:
//
//   Up      inputs: the member itself, then its children; to the parent; at the root: to all children's Down
//   Down    from the parent; to all children's Down, and to the member
//   Gather  as Up; at the root to the Result of whoever the packets name, which a swap puts in place
//   Result  to the member
//   Spread  from the parent, or at the root from the member that broadcasts; to all children's, and to the
//   member
//
// A barrier or an all-reduce is a round of Up and Down, a reduce or a gather one of Gather and Result, a
// broadcast one of Spread. Rounds are counted apart for each of the three.
#pragma once

#include <vector>

#include "abi/triggered.hpp"
#include "collective/tree.hpp"

namespace weft::collective {

enum class Part : std::uint16_t { Up, Down, Gather, Result, Spread };
inline constexpr std::uint16_t kParts = 5;

/// Where a member's sequences are.
struct Member {
  std::uint32_t node = 0, port = 0;
  std::uint16_t first = 0;  // of its five sequences

  nic::TriggerTarget input(Part part, std::uint16_t number = 0) const {
    return {node, port, static_cast<std::uint16_t>(first + static_cast<std::uint16_t>(part)), number};
  }
};

struct Sequence {
  nic::TriggerImage image;
  std::vector<nic::TriggerTarget> targets;
};

/// What the network does for a tree beside carrying its packets (abi/group_steps.hpp). What goes down goes by
/// one packet that routers copy, to all members. What goes up is joined by routers: then members of a node
/// stand together in the tree, and only the first of a node gives to the network, the root apart.
struct InNetwork {
  bool copies = false, joins = false;
  std::uint16_t group = 0;  // the number it was joined under
};

/// `members` by place. Keys, context and memory of the images are the caller's to fill in.
Sequence sequence_for(const Tree& tree, const std::vector<Member>& members, Place place, Part part,
                      const InNetwork& network = {});

/// Most inputs of Up where routers join what nodes give.
unsigned inputs_where_routers_join(const Tree& tree, const std::vector<Member>& members);

}  // namespace weft::collective
