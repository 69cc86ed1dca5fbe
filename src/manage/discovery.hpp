// A machine as its manager finds it, from one node on, and what differs from its description.
#pragma once

#include "manage/chips.hpp"

namespace weft::manage {

/// What was found. Ports of routers that were not reached are not known.
struct Discovery {
  ChipNumber first = 0;            // of the manager's own router
  std::vector<ChipNumber> number;  // of each router; kNone: not reached
  std::vector<RouterId> order;     // routers as they were found
  std::vector<Plug> plugs;         // at each port of those
  std::uint32_t nodes = 0;         // interfaces that have a number now
  std::uint64_t unknown = 0;       // devices that are none of the machine's
  bool reached(RouterId r) const { return number[r] != kNone; }
  bool has_node(const Graph& graph, EndpointId e) const {
    return plugs[graph.endpoint_port(e)] == Plug{Plug::Kind::Interface, e};
  }
};

/// Numbers from `first` on, which nobody has had before. Breadth first: of each chip that is found, every
/// link's register is read; a router nobody has numbered yet gets a number, and every router on the way to it
/// learns the way. Interfaces get the numbers of their nodes. Chips whose manager is another are not reached.
Discovery discover(const Graph& graph, Chips& chips, ChipNumber first = 0);

/// A port at which another thing is than the description says.
struct Difference {
  PortId port;
  Plug expected, found;
};

struct Comparison {
  std::vector<Difference> differences;  // in the order of ports
  std::vector<RouterId> missing;        // routers that were not reached, and are not called dead
  /// Pairs of differences that two exchanged plugs explain.
  std::vector<std::pair<PortId, PortId>> exchanged;
  bool same() const { return differences.empty() && missing.empty(); }
};

Comparison compare(const Graph& graph, const topology::Faults& faults, const Discovery& found);

}  // namespace weft::manage
