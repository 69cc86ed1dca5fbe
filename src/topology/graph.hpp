// The network as one immutable flat graph: endpoints, routers, ports and cables, all numbered from 0.
//
// Every port of every router has a global number; the ports of router r are [port_begin(r), port_begin(r +
// 1)). A port leads to another port by a cable, to an endpoint, or nowhere. People see ports as "r12.p3".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "topology/cable.hpp"

namespace weft::topology {

using RouterId = std::uint32_t;
using EndpointId = std::uint32_t;
using PortId = std::uint32_t;     // global
using PortIndex = std::uint16_t;  // within a router
using CableId = std::uint32_t;

inline constexpr std::uint32_t kNone = 0xffff'ffff;

struct CableEnds {
  PortId a, b;
};

/// What a topology knows about its own regularity; arithmetic routings, closed forms and drawings use it.
class Shape {
 public:
  virtual ~Shape() = default;
  /// Where a router stands, in words people use: "(1,2,3)", "frame 4 lower 1". Empty: nothing to add.
  virtual std::string router_label(RouterId) const { return {}; }
};

/// A rank of like routers: "leaf", "root". Drawings and tables group by it.
using TierId = std::uint8_t;

class Graph {
 public:
  std::uint32_t routers() const { return static_cast<std::uint32_t>(router_tier_.size()); }
  std::uint32_t endpoints() const { return static_cast<std::uint32_t>(endpoint_port_.size()); }
  std::uint32_t cables() const { return static_cast<std::uint32_t>(cable_ends_.size()); }
  std::uint32_t ports() const { return static_cast<std::uint32_t>(port_peer_.size()); }

  PortId port_begin(RouterId r) const { return port_begin_[r]; }
  std::uint32_t port_count(RouterId r) const { return port_begin_[r + 1] - port_begin_[r]; }
  PortId port(RouterId r, PortIndex i) const { return port_begin_[r] + i; }
  PortIndex port_index(PortId p) const { return static_cast<PortIndex>(p - port_begin_[port_router_[p]]); }
  RouterId port_router(PortId p) const { return port_router_[p]; }
  /// The port at the other end of the cable, or kNone: an endpoint, or nothing, is there.
  PortId peer(PortId p) const { return port_peer_[p]; }
  CableId port_cable(PortId p) const { return port_cable_[p]; }
  /// The endpoint at this port, or kNone.
  EndpointId port_endpoint(PortId p) const { return port_endpoint_[p]; }

  PortId endpoint_port(EndpointId e) const { return endpoint_port_[e]; }
  RouterId endpoint_router(EndpointId e) const { return port_router_[endpoint_port_[e]]; }
  /// Endpoints of a router are consecutive: [first, first + count).
  EndpointId first_endpoint(RouterId r) const { return first_endpoint_[r]; }
  std::uint32_t endpoint_count(RouterId r) const { return endpoint_count_[r]; }

  CableEnds cable_ends(CableId c) const { return cable_ends_[c]; }
  std::uint8_t cable_type_index(CableId c) const { return cable_type_[c]; }
  const CableType& cable_type(CableId c) const { return cable_types_[cable_type_[c]]; }
  Length cable_length(CableId c) const { return {cable_length_mm_[c]}; }
  const std::vector<CableType>& cable_types() const { return cable_types_; }

  TierId router_tier(RouterId r) const { return router_tier_[r]; }
  const std::vector<std::string>& tier_names() const { return tier_names_; }

  const Shape* shape() const { return shape_.get(); }
  template <class S>
  const S* shape_as() const {
    return dynamic_cast<const S*>(shape_.get());
  }

  std::string port_name(PortId p) const;      // "r12.p3"
  std::string router_name(RouterId r) const;  // "r12" or "r12 (1,2,0)"
  std::uint64_t bytes() const;                // memory held by the arrays

 private:
  friend class GraphBuilder;
  std::vector<PortId> port_begin_;
  std::vector<RouterId> port_router_;
  std::vector<PortId> port_peer_;
  std::vector<CableId> port_cable_;
  std::vector<EndpointId> port_endpoint_;
  std::vector<PortId> endpoint_port_;
  std::vector<EndpointId> first_endpoint_;
  std::vector<std::uint32_t> endpoint_count_;
  std::vector<CableEnds> cable_ends_;
  std::vector<std::uint8_t> cable_type_;
  std::vector<std::uint32_t> cable_length_mm_;
  std::vector<TierId> router_tier_;
  std::vector<std::string> tier_names_;
  std::vector<CableType> cable_types_;
  std::shared_ptr<const Shape> shape_;
};

/// Assembles a graph. Routers come in the order they are added; the ports of a router are known when it is
/// added, and those left unconnected stay so (a corner of a mesh has them, and so does real hardware).
class GraphBuilder {
 public:
  explicit GraphBuilder(std::vector<CableType> cable_types);

  void reserve(std::uint64_t routers, std::uint64_t ports, std::uint64_t cables, std::uint64_t endpoints);
  TierId tier(std::string name);
  RouterId router(std::uint32_t port_count, TierId tier);
  /// Attaches the next endpoint to a port. Endpoints of one router must be attached one after the other.
  EndpointId endpoint(RouterId r, PortIndex port);
  /// Index of a cable type by name; the name has been checked when the description was read.
  std::uint8_t cable_type(const config::CableName& name) const;
  /// Joins two ports by a cable of its type's own length.
  CableId connect(RouterId a, PortIndex port_a, RouterId b, PortIndex port_b, std::uint8_t type);
  CableId connect(RouterId a, PortIndex port_a, RouterId b, PortIndex port_b, std::uint8_t type,
                  Length length);
  void shape(std::shared_ptr<const Shape> shape);
  Graph finish() &&;

 private:
  Graph graph_;
};

}  // namespace weft::topology
