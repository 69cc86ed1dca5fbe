// Chips whose registers are read and written over the network: interfaces, and routers.
//
// A router is asked through the interface of a node that is on it. One that has no nodes is asked through the
// nearest node of all, hop by hop beside the traffic: what a hop takes is paid, but nothing is in its way.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"

namespace weft::nic {

using ChipNumber = std::uint64_t;
inline constexpr ChipNumber kInterfaceChip = 0;
constexpr ChipNumber router_chip(topology::RouterId router) { return ChipNumber{router} + 1; }
constexpr topology::RouterId router_of(ChipNumber chip) { return static_cast<topology::RouterId>(chip - 1); }

class Chips {
 public:
  explicit Chips(const machine::Machine& machine) : machine_(machine) {}

  /// The node that answers for a router; kNone where there is no such router, or no way to it.
  topology::EndpointId node_of(ChipNumber router);
  /// From the interface of that node to it, one way.
  Time way_to(ChipNumber router);

 private:
  struct Way {
    topology::EndpointId node = topology::kNone;
    Time time{0};
  };
  void find_ways();

  const machine::Machine& machine_;
  std::vector<Way> ways_;  // by router, once somebody asks
};

}  // namespace weft::nic
