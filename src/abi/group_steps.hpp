// How the packets of a sequence's step go where the network does more than carry them (abi/triggered.hpp): a
// TriggerStep of TriggerAction::Send says so in its byte `reserved`.
//
// A process joins a group with Operation::Join (abi/descriptor.hpp). It may name a key in `remote_key`, and
// in spare[0] one more than the first of its sequences: a control packet for the group with that key triggers
// the sequence so many after it as the packet says. spare[1] is one more than the node of a root: it asks for
// a reduction from the members' nodes to that one in routers, of which as many rounds may be under way as
// sequences have. `data` of the event says what routers do for its control packets.
#pragma once

#include <cstdint>

namespace weft::nic {

inline constexpr std::uint64_t kControlIsCopied = 1, kControlIsJoined = 2;
inline constexpr std::uint64_t kRoutersAreFull = 4;  // they join packets, and have no room for this group's

enum class Sending : std::uint8_t {
  ToTargets = 0,     // a packet to each of `count` targets from `first` on
  ToMembers = 1,     // one packet, which routers copy, to the group joined under the number `count`: triggers
                     // the sequence `first` after the first that each member has named
  Contribution = 2,  // to target `first`, joined by routers with those of other members, in the reduction of
                     // the group joined under the number `count`
};

}  // namespace weft::nic
