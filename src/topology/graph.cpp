#include "topology/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace weft::topology {

std::string Graph::port_name(PortId p) const {
  std::string out = "r";  // all links of a machine have two such names in its results
  out += fmt::format_int(port_router(p)).c_str();
  out += ".p";
  out += fmt::format_int(port_index(p)).c_str();
  return out;
}

std::string Graph::router_name(RouterId r) const {
  std::string label = shape_ ? shape_->router_label(r) : "";
  return label.empty() ? fmt::format("r{}", r) : fmt::format("r{} {}", r, label);
}

std::uint64_t Graph::bytes() const {
  auto size = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return size(port_begin_) + size(port_router_) + size(port_peer_) + size(port_cable_) +
         size(port_endpoint_) + size(endpoint_port_) + size(first_endpoint_) + size(endpoint_count_) +
         size(cable_ends_) + size(cable_type_) + size(cable_length_mm_) + size(router_tier_);
}

GraphBuilder::GraphBuilder(std::vector<CableType> cable_types) {
  WEFT_CHECK(!cable_types.empty() && cable_types.size() < 256);
  graph_.cable_types_ = std::move(cable_types);
  graph_.port_begin_.push_back(0);
}

void GraphBuilder::reserve(std::uint64_t routers, std::uint64_t ports, std::uint64_t cables,
                           std::uint64_t endpoints) {
  WEFT_CHECK(routers < kNone && ports < kNone && cables < kNone && endpoints < kNone);
  graph_.port_begin_.reserve(routers + 1);
  graph_.router_tier_.reserve(routers);
  graph_.first_endpoint_.reserve(routers);
  graph_.endpoint_count_.reserve(routers);
  graph_.port_router_.reserve(ports);
  graph_.port_peer_.reserve(ports);
  graph_.port_cable_.reserve(ports);
  graph_.port_endpoint_.reserve(ports);
  graph_.cable_ends_.reserve(cables);
  graph_.cable_type_.reserve(cables);
  graph_.cable_length_mm_.reserve(cables);
  graph_.endpoint_port_.reserve(endpoints);
}

TierId GraphBuilder::tier(std::string name) {
  auto& names = graph_.tier_names_;
  auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) at = names.insert(names.end(), std::move(name));
  return static_cast<TierId>(at - names.begin());
}

RouterId GraphBuilder::router(std::uint32_t port_count, TierId tier) {
  WEFT_CHECK(port_count < 0xffff);
  RouterId id = graph_.routers();
  std::size_t ports = graph_.port_peer_.size() + port_count;
  graph_.router_tier_.push_back(tier);
  graph_.first_endpoint_.push_back(kNone);
  graph_.endpoint_count_.push_back(0);
  graph_.port_router_.resize(ports, id);
  graph_.port_peer_.resize(ports, kNone);
  graph_.port_cable_.resize(ports, kNone);
  graph_.port_endpoint_.resize(ports, kNone);
  graph_.port_begin_.push_back(static_cast<PortId>(ports));
  return id;
}

EndpointId GraphBuilder::endpoint(RouterId r, PortIndex port) {
  PortId p = graph_.port(r, port);
  EndpointId e = graph_.endpoints();
  WEFT_CHECK(
      p < graph_.port_begin(r + 1) && graph_.port_peer_[p] == kNone && graph_.port_endpoint_[p] == kNone,
      "an endpoint needs a free port");
  auto& first = graph_.first_endpoint_[r];
  auto& count = graph_.endpoint_count_[r];
  if (count == 0) first = e;
  WEFT_CHECK(first + count == e, "endpoints of a router are consecutive");
  ++count;
  graph_.port_endpoint_[p] = e;
  graph_.endpoint_port_.push_back(p);
  return e;
}

std::uint8_t GraphBuilder::cable_type(const config::CableName& name) const {
  const auto& types = graph_.cable_types_;
  auto at =
      std::find_if(types.begin(), types.end(), [&](const CableType& type) { return type.name == name.name; });
  WEFT_CHECK(at != types.end(), "cable type " + name.name);
  return static_cast<std::uint8_t>(at - types.begin());
}

CableId GraphBuilder::connect(RouterId a, PortIndex port_a, RouterId b, PortIndex port_b, std::uint8_t type) {
  return connect(a, port_a, b, port_b, type, graph_.cable_types_[type].length);
}

CableId GraphBuilder::connect(RouterId a, PortIndex port_a, RouterId b, PortIndex port_b, std::uint8_t type,
                              Length length) {
  PortId pa = graph_.port(a, port_a), pb = graph_.port(b, port_b);
  WEFT_CHECK(a != b, fmt::format("a cable joins two routers, not r{} to itself", a));
  for (auto [p, r] : {std::pair(pa, a), std::pair(pb, b)})
    WEFT_CHECK(
        p < graph_.port_begin(r + 1) && graph_.port_peer_[p] == kNone && graph_.port_endpoint_[p] == kNone,
        fmt::format("port r{}.p{} is free", r, p - graph_.port_begin(r)));
  CableId c = graph_.cables();
  graph_.port_peer_[pa] = pb;
  graph_.port_peer_[pb] = pa;
  graph_.port_cable_[pa] = graph_.port_cable_[pb] = c;
  graph_.cable_ends_.push_back({pa, pb});
  graph_.cable_type_.push_back(type);
  graph_.cable_length_mm_.push_back(static_cast<std::uint32_t>(length.value));
  return c;
}

void GraphBuilder::shape(std::shared_ptr<const Shape> shape) { graph_.shape_ = std::move(shape); }

Graph GraphBuilder::finish() && {
  WEFT_CHECK(graph_.routers() > 0);
  return std::move(graph_);
}

}  // namespace weft::topology
