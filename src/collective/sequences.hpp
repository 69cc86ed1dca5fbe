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

/// As `routers`: no router combines.
inline constexpr std::uint32_t kNoRouters = 0xffff'ffff;

/// `members` by place. With `routers`, the number they are joined under, the root's Up goes to the routers,
/// which combine it with those of other trees, and what all make together comes back to its Down. Keys,
/// context and memory of the images are the caller's to fill in.
Sequence sequence_for(const Tree& tree, const std::vector<Member>& members, Place place, Part part,
                      std::uint32_t routers = kNoRouters);

}  // namespace weft::collective
