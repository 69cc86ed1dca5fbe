// Torus, mesh and hypercube: routers at the points of an n-dimensional grid.
#pragma once

#include <array>
#include <vector>

#include "topology/kind.hpp"

namespace weft::topology {

/// Coordinates and ports of a grid. Router numbers count the first dimension fastest. Routers beyond the grid
/// are devices attached to a grid router by its extra link.
class GridShape : public Shape {
 public:
  static constexpr unsigned kMaxDimensions = 24;

  struct Dimension {
    std::uint32_t length;
    std::uint32_t stride;   // router numbers from one point to the next
    bool wraps;             // a ring of more than two
    PortIndex plus, minus;  // first port of each direction; equal where one cable joins two routers
  };

  std::vector<Dimension> dimensions;
  std::uint32_t grid_routers = 0;
  unsigned parallel = 1;              // cables side by side in each direction
  PortIndex extra_port = 0;           // leads to the attached device
  std::vector<RouterId> attached_to;  // grid router of each attached device
  std::vector<RouterId> device_of;    // attached device of each grid router, or kNone; empty without devices

  std::uint32_t coordinate(RouterId r, unsigned dimension) const {
    const Dimension& d = dimensions[dimension];
    return r / d.stride % d.length;
  }

  /// The grid router through which a router is reached: itself, or the one a device hangs on.
  RouterId grid_router(RouterId r) const { return r < grid_routers ? r : attached_to[r - grid_routers]; }

  /// Hops and direction of the shorter direction along one dimension; `tie` where both directions are equally
  /// short (plus is then the direction to take unless tie_goes_plus says otherwise).
  struct Step {
    std::uint32_t hops;
    bool plus;
    bool tie = false;
  };
  Step step(unsigned dimension, std::uint32_t from, std::uint32_t to) const {
    const Dimension& d = dimensions[dimension];
    if (!d.wraps) return to >= from ? Step{to - from, true} : Step{from - to, false};
    std::uint32_t up = to >= from ? to - from : to + d.length - from;
    std::uint32_t down = d.length - up;
    if (up == 0) return {0, true};
    return up <= down ? Step{up, true, up == down} : Step{down, false};
  }

  /// Which direction a packet goes halfway round a ring: fixed by where it is and goes, and half of them each
  /// way.
  bool tie_goes_plus(unsigned dimension, RouterId at, RouterId goal) const {
    std::uint32_t parity = coordinate(at, dimension);
    for (unsigned d = 0; d < dimensions.size(); ++d)
      if (d != dimension) parity += coordinate(goal, d);
    return parity % 2 == 0;
  }

  std::uint32_t distance(RouterId a, RouterId b) const;
  std::string router_label(RouterId r) const override;
};

struct GridParameters {
  std::vector<std::uint32_t> dims;
  bool wrap = true;
  unsigned endpoints_per_router = 1;
  unsigned parallel_cables = 1;
  unsigned spare_ports = 0;
  std::vector<std::uint32_t> attach;
  config::CableName cable, attach_cable;
  bool both_ports_on_pairs = false;  // a ring of two still owns two ports, one of them unconnected
};

Size grid_size(const GridParameters& p);
Graph build_grid(const GridParameters& p, const BuildContext& context);

}  // namespace weft::topology
