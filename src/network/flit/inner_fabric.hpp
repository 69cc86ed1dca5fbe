// Ports inside routers that are built of several stages.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "network/flit/state.hpp"
#include "topology/graph.hpp"

namespace weft::network::flit {

/// The ports inside routers, numbered after those of the graph. Such a port stands for both ends of its
/// wires: what its output side sends, its own input side receives.
struct InnerFabric {
  InnerFabric() = default;
  InnerFabric(const topology::Graph& graph, const machine::RouterModel& router);

  std::vector<PortNumber> begin;             // by router, and the end
  std::vector<std::uint32_t> outer;          // by router: its first port in the graph
  std::vector<std::uint32_t> ports;          // by router: its ports in the graph
  std::vector<std::uint32_t> layout;         // by router: which of the layouts
  std::vector<std::uint32_t> router;         // by inner port
  std::vector<machine::InnerPorts> layouts;  // one for each number of ports a router has

  const machine::InnerPorts& layout_of(std::uint32_t r) const { return layouts[layout[r]]; }
  PortNumber first(std::uint32_t r, unsigned input, unsigned output) const {
    return begin[r] + layout_of(r).first[input * ports[r] + output];
  }
  /// Where a flit goes that stands behind inner port `in` and leaves the router by port `out`.
  PortNumber next(std::uint32_t r, PortNumber in, PortNumber out) const {
    std::uint16_t inner = layout_of(r).next[(in - begin[r]) * ports[r] + (out - outer[r])];
    return inner == machine::InnerPorts::kOut ? out : begin[r] + inner;
  }
};

}  // namespace weft::network::flit
