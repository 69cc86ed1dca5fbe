// What routers make of the control packets that they combine: the values beside the packets' times.
//
// The network says when a contribution has come back with what all of its round make together; what that is,
// is worked out here, in the order in which the routers of the tree do it: the same bits whoever comes last.
// Like the network itself this is nobody's knowledge: an interface sees only what it gave and what comes
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/triggered.hpp"
#include "network/network.hpp"
#include "nic/packet.hpp"
#include "nic/waiting_round.hpp"

namespace weft::nic {

class Reductions {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  explicit Reductions(network::Network& network) : network_(network) {}

  /// A port's wish to take part.
  struct Wish {
    NicId nic = 0;
    PortNo port = 0;
    std::uint32_t tag = 0;       // it is joined under
    std::uint64_t key = 0;       // of the communicator
    std::uint32_t sequence = 0;  // that gives this node's contribution
    std::uint32_t members = 0;   // of the communicator, for messages to people
    unsigned rounds = 0;
  };
  /// The first member has the network set room aside for all. False: it has none, or the node has joined.
  bool join(const Wish& wish, network::EndpointId node, const std::vector<network::EndpointId>& nodes);
  void leave(NicId nic, PortNo port, std::uint32_t tag);
  void close(NicId nic, PortNo port);
  /// kNone: the port has joined none under that number.
  std::uint32_t find(NicId nic, PortNo port, std::uint32_t tag) const;

  network::ReductionNumber number(std::uint32_t index) const { return all_[index].number; }
  /// A contribution is to go out; it has its index in the header, the round in `operand`. False: it must not,
  /// for the node has contributed to that round already, or the round is ahead of what there is room for.
  /// Programs say what goes to routers, and not all can be believed.
  bool give(const Packet& packet, network::EndpointId node);
  /// It has come back: the packet's data becomes what all make together. Where they are not of one collective
  /// the header says so (Status::Mismatch), with another's kind in `value`, its node in `offset` and its
  /// bytes in `length`.
  void take(Packet& packet, network::EndpointId node);

  /// Rounds that a port has given something to and that wait for others.
  void add_waiting(NicId nic, PortNo port, std::vector<WaitingRound>& out) const;

 private:
  struct Given {
    bool here = false, told = false;
    std::uint64_t kind = 0;
    std::vector<std::uint8_t> data;
  };
  struct Round {
    std::uint64_t number = 0;
    std::uint32_t given_by = 0, told = 0;
    bool made = false, alike = true;
    std::vector<Given> given;  // by member
    std::vector<std::uint8_t> value;
  };
  struct Member {
    network::EndpointId node = 0;
    bool joined = false;
    Wish wish;
  };
  struct Reduction {
    network::ReductionNumber number = network::kNoReduction;
    std::uint64_t key = 0;
    std::uint32_t joined = 0;
    std::vector<Member> members;  // in the order of nodes
    std::vector<Round> rounds;    // going round
  };

  std::size_t member_of(const Reduction& reduction, network::EndpointId node) const;
  void make(const Reduction& reduction, Round& round);
  void end(std::uint32_t index);

  network::Network& network_;
  std::vector<Reduction> all_;
  struct Joined {
    std::uint32_t tag, index;
  };
  std::vector<std::vector<std::vector<Joined>>> joined_;  // by interface and port
};

}  // namespace weft::nic
