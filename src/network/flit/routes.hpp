// What routing looks up for every head: where ports are, which channels each class of the routing has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network/flit/fabric.hpp"
#include "network/flit/reductions.hpp"
#include "network/flit/trees.hpp"
#include "network/groups.hpp"
#include "routing/grid_route.hpp"
#include "routing/routing.hpp"

namespace weft::network::flit {

using routing::GridRoute;

/// What routing needs to know of a port.
struct PortInfo {
  PortNumber first;  // port of its router
  std::uint32_t router;
};

/// The same of a port on a grid, and of an endpoint there.
struct GridPort {
  GridRoute::Place place;
  PortNumber first;
  GridRoute::Rows rows;
};
static_assert(sizeof(GridPort) == 16);
struct GridEndpoint {
  GridRoute::Place place;
  PortNumber port : 31;
  std::uint32_t parity : 1;
};
static_assert(sizeof(GridEndpoint) == 8);

/// How fast a port has been sending, looked at once in a round trip of its cable.
struct Pace {
  Cycle since = 0;
  std::uint64_t sent = 0;        // flits, up to then
  std::uint32_t round_trip = 0;  // cycles, of a flit and its credit
  std::uint32_t full = ~0u;      // flits of a round trip in which the cable is hardly ever idle
  std::uint32_t under_way = 0;   // flits and credits on the cable at that pace
};

struct Routes {
  Routes(const Fabric& fabric, const routing::Routing& routing) { use(fabric, routing); }
  /// Other routes, while the network is empty.
  void use(const Fabric& fabric, const routing::Routing& routing);
  std::uint64_t bytes() const {
    return grid_ports.own_bytes() + port_info.own_bytes() + grid_endpoints.size() * sizeof(GridEndpoint);
  }

  const routing::Routing* relation = nullptr;
  std::optional<GridRoute> grid;   // where it can stand for the relation
  PartArray<PortInfo> port_info;   // of this process
  PartArray<GridPort> grid_ports;  // the same
  std::vector<GridEndpoint> grid_endpoints;
  std::vector<std::uint32_t> class_channels;  // by routing class: bit mask of channels
  std::vector<std::uint8_t> channel_class;    // by channel: routing class
  std::vector<Pace> paces;                    // by port, where sources choose between routes; else empty
  Groups groups;                              // of packets for many,
  std::optional<Trees> trees;                 // and their trees, where routers copy
  std::optional<Reductions> reductions;       // where routers combine

 private:
  void share_channels(const Settings& settings);
  void set_paces(const Fabric& fabric);
  void place_ports(const Fabric& fabric);
  void grow_trees(const Fabric& fabric);
};

}  // namespace weft::network::flit
