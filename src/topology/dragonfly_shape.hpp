// Dragonfly: groups of fully connected routers, and cables between every two groups.
#pragma once

#include <span>
#include <vector>

#include "topology/graph.hpp"

namespace weft::topology {

class DragonflyShape : public Shape {
 public:
  std::uint32_t groups = 0;
  std::uint32_t group_routers =
      0;  // routers in a group; router r is r % group_routers of group r / group_routers
  std::uint32_t endpoints_per_router = 0;
  PortIndex first_global = 0;  // ports of a router: to the others of its group, global, endpoints

  /// A router of the group (by its place in it) and its port that leads to another group.
  struct Gateway {
    std::uint16_t place;
    PortIndex port;
  };

  std::uint32_t group(RouterId r) const { return r / group_routers; }
  std::uint32_t place(RouterId r) const { return r % group_routers; }
  /// Port of a router toward another one of its group.
  PortIndex local_port(RouterId from, RouterId to) const {
    std::uint32_t a = place(from), b = place(to);
    return static_cast<PortIndex>(b < a ? b : b - 1);
  }
  /// The cables from one group straight to another, by place and port. Cable n there is, seen from the other
  /// group, cable n back.
  std::span<const Gateway> gateways(std::uint32_t from_group, std::uint32_t to_group) const {
    std::uint32_t ahead = to_group >= from_group ? to_group - from_group : to_group + groups - from_group;
    return {gateway_list.data() + gateway_begin[ahead], gateway_begin[ahead + 1] - gateway_begin[ahead]};
  }
  std::string router_label(RouterId r) const override;

  // Every group is wired alike: which ports lead to another group depends only on how far ahead that group
  // is.
  std::vector<Gateway> gateway_list;
  std::vector<std::uint32_t> gateway_begin;  // by groups ahead; groups + 1
};

}  // namespace weft::topology
