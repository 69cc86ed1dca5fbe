// What routers keep of reductions: the packets of a round that have come to a joint, until all are there and
// one goes on. Its room is taken when a reduction is made; nothing of it is there where routers have no
// units.
//
// A packet that comes to a joint leaves its buffer at once, so nothing behind it ever waits for a member that
// has not sent. Where routes change, rounds that have begun are no longer joined: what members have sent and
// the root has not got goes to it packet by packet, and so does what follows of those rounds.
#pragma once

#include <span>
#include <vector>

#include "network/flit/multicast_state.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/trees.hpp"
#include "network/reduction.hpp"

namespace weft::network::flit {

/// A round at a joint.
struct JointSlot {
  PacketId packet = kNoPacket;  // the last to arrive of those that have; it goes on
  Cycle at = 0;                 // when it arrived
  std::uint32_t arrived = 0;
  bool damaged = false;  // one of them is
  BranchState branch;    // of what goes on
};

/// A router where packets of a reduction become one.
struct Joint {
  HopNumber hop = kNoHop;
  std::uint32_t inputs = 0, first_slot = 0;
};

/// What a member has sent of a round.
struct Contribution {
  Tag tag = 0;
  Cycle created = 0;
  std::uint16_t flits = 0;
  bool made = false;
};

struct Reduction {
  std::vector<EndpointId> members;  // sorted
  EndpointId root = 0;
  unsigned rounds = 0;
  bool alive = false;
  bool joined = false;           // its tree has room at all of its joints; else all goes packet by packet
  std::vector<HopNumber> entry;  // by member: the hop at its router
  std::vector<topology::RouterId> joints;  // routers where it has taken room
  routing::FoldOrder order;
  struct Round {
    bool apart = false;      // it is not joined
    bool delivered = false;  // the root has it, and has not been asked for it
  };
  std::vector<Round> round;         // by its number modulo rounds
  std::vector<Contribution> given;  // by round and member

  std::uint32_t place_of(EndpointId member) const;
  Contribution& of(std::uint32_t slot, std::uint32_t member) { return given[slot * members.size() + member]; }
  bool apart(std::uint32_t slot) const { return round[slot].apart; }
};

class Reductions {
 public:
  /// So many rounds at a router, so many cycles for one.
  void allow(unsigned entries, unsigned cycles, std::uint32_t routers, std::size_t tiles);
  bool there_are() const { return entries_ > 0; }
  unsigned cycles() const { return cycles_; }

  GroupNumber make(Trees& trees, std::span<const EndpointId> members, EndpointId root, unsigned rounds);
  void end(GroupNumber number);
  Reduction& operator[](GroupNumber number) { return all_[number & ~kReductionBit]; }
  const Reduction& operator[](GroupNumber number) const { return all_[number & ~kReductionBit]; }
  std::size_t count() const { return all_.size(); }
  /// Trees of what is left of the network; nothing is at any joint.
  void replant(Trees& trees);
  /// Nothing is at any joint.
  void empty();

  const Joint& joint(std::uint32_t number) const { return joints_[number]; }
  std::uint32_t slot_of(const Joint& joint, std::uint32_t round) const { return joint.first_slot + round; }
  JointSlot& slot(std::uint32_t number) { return slots_[number].state; }
  const JointSlot& slot(std::uint32_t number) const { return slots_[number].state; }
  HopNumber hop_of_slot(std::uint32_t number) const { return joints_[slots_[number].joint].hop; }
  std::size_t slots() const { return slots_.size(); }

  std::vector<std::vector<std::uint32_t>> ready;  // by tile: slots of rounds that are to go on, in any order
  struct Parted {
    GroupNumber reduction;
    std::uint32_t slot;
  };
  std::vector<Parted> parted;  // rounds that are no longer joined, for who counts what is under way

 private:
  struct Slot {
    std::uint32_t joint = 0;
    JointSlot state;
  };
  void plant(Reduction& reduction, Trees& trees);
  void give_room_back(Reduction& reduction);

  unsigned entries_ = 0, cycles_ = 0;
  std::vector<unsigned> taken_;  // by router: entries
  std::vector<Reduction> all_;
  std::vector<Joint> joints_;
  std::vector<Slot> slots_;
};

}  // namespace weft::network::flit
