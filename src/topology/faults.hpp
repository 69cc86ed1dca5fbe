// Dead cables and routers of an otherwise whole graph.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.hpp"

namespace weft::topology {

class Faults {
 public:
  Faults() = default;
  explicit Faults(const Graph& graph);

  bool any() const { return any_; }
  void kill_cable(CableId c) { dead_cable_[c] = any_ = true; }
  void kill_router(RouterId r) { dead_router_[r] = any_ = true; }
  bool cable_dead(CableId c) const { return any_ && dead_cable_[c]; }
  bool router_dead(RouterId r) const { return any_ && dead_router_[r]; }

  /// True when a packet can leave by this port and arrive somewhere alive.
  bool usable(const Graph& graph, PortId p) const {
    PortId peer = graph.peer(p);
    if (peer == kNone) return false;
    return !any_ || (!dead_cable_[graph.port_cable(p)] && !dead_router_[graph.port_router(peer)] &&
                     !dead_router_[graph.port_router(p)]);
  }

 private:
  bool any_ = false;
  std::vector<bool> dead_cable_, dead_router_;
};

}  // namespace weft::topology
