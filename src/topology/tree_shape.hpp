// Fat trees: every router covers a run of consecutive endpoints, and all parents of a router cover the same
// run.
#pragma once

#include <vector>

#include "topology/graph.hpp"

namespace weft::topology {

class TreeShape : public Shape {
 public:
  struct Node {
    EndpointId below_begin, below_end;  // endpoints under this router
    std::uint32_t child_span;           // endpoints under each child; the last child may have fewer
    PortIndex first_down;          // ports to child c: first_down + c * down_parallel + [0, down_parallel)
    PortIndex down_parallel;       // cables to each child, side by side
    PortIndex first_up, up_count;  // all ports upwards; any of them leads to a router that covers more
    std::uint8_t level;            // 1: routers that carry endpoints
  };

  std::vector<Node> nodes;  // by router
  unsigned levels = 0;
  /// Endpoints with the same number divided by spread[level] leave a router of that level by the same port
  /// up: the product of the ports up taken below it, so that destinations spread over all of them (D-mod-k).
  std::vector<std::uint64_t> spread;

  bool covers(RouterId r, EndpointId e) const { return e >= nodes[r].below_begin && e < nodes[r].below_end; }
  /// First of the ports of `r` that lead down to `e`; `r` must cover it.
  PortIndex down_port(RouterId r, EndpointId e) const {
    const Node& n = nodes[r];
    return static_cast<PortIndex>(n.first_down + (e - n.below_begin) / n.child_span * n.down_parallel);
  }
  std::string router_label(RouterId r) const override;
};

}  // namespace weft::topology
