#include "topology/grid_shape.hpp"

#include <fmt/format.h>

namespace weft::topology {

std::uint32_t GridShape::distance(RouterId a, RouterId b) const {
  if (a == b) return 0;
  std::uint32_t hops = (a >= grid_routers) + (b >= grid_routers);
  RouterId from = grid_router(a), to = grid_router(b);
  for (unsigned d = 0; d < dimensions.size(); ++d)
    hops += step(d, coordinate(from, d), coordinate(to, d)).hops;
  return hops;
}

std::string GridShape::router_label(RouterId r) const {
  if (r >= grid_routers) return fmt::format("(device on r{})", attached_to[r - grid_routers]);
  std::string out = "(";
  for (unsigned d = 0; d < dimensions.size(); ++d) out += fmt::format("{}{}", d ? "," : "", coordinate(r, d));
  return out + ")";
}

namespace {

// Ports of a grid router: for each dimension the plus cables, then the minus cables; spare ports; endpoints.
std::uint32_t link_ports(const GridParameters& p) {
  std::uint32_t ports = 0;
  for (std::uint32_t length : p.dims)
    ports += p.parallel_cables * (length == 1 ? 0 : length == 2 && !p.both_ports_on_pairs ? 1 : 2);
  return ports;
}

std::uint32_t spare_ports(const GridParameters& p) {
  return p.attach.empty() ? p.spare_ports : std::max(1u, p.spare_ports);
}

}  // namespace

Size grid_size(const GridParameters& p) {
  double routers = 1;
  for (std::uint32_t length : p.dims) routers *= length;
  double devices = static_cast<double>(p.attach.size());
  double ports = routers * (link_ports(p) + spare_ports(p) + p.endpoints_per_router) + 2 * devices;
  return {routers + devices, routers * p.endpoints_per_router + devices, ports};
}

Graph build_grid(const GridParameters& p, const BuildContext& context) {
  auto shape = std::make_shared<GridShape>();
  shape->parallel = p.parallel_cables;
  std::uint32_t stride = 1;
  PortIndex next_port = 0;
  for (std::uint32_t length : p.dims) {
    GridShape::Dimension d{length, stride, p.wrap && length > 2, next_port, next_port};
    if (length > 1) next_port = static_cast<PortIndex>(next_port + p.parallel_cables);
    if (length > 2 || (length == 2 && p.both_ports_on_pairs)) {
      if (length > 2) d.minus = next_port;
      next_port = static_cast<PortIndex>(next_port + p.parallel_cables);
    }
    shape->dimensions.push_back(d);
    stride *= length;
  }
  shape->grid_routers = stride;
  shape->extra_port = next_port;
  PortIndex first_endpoint_port = static_cast<PortIndex>(next_port + spare_ports(p));

  GraphBuilder builder(context.cable_types);
  Size size = grid_size(p);
  builder.reserve(static_cast<std::uint64_t>(size.routers), static_cast<std::uint64_t>(size.ports),
                  static_cast<std::uint64_t>(size.ports / 2), static_cast<std::uint64_t>(size.endpoints));
  TierId tier = builder.tier("router");
  std::uint8_t type = builder.cable_type(p.cable);
  for (RouterId r = 0; r < stride; ++r) {
    builder.router(first_endpoint_port + p.endpoints_per_router, tier);
    for (unsigned e = 0; e < p.endpoints_per_router; ++e)
      builder.endpoint(r, static_cast<PortIndex>(first_endpoint_port + e));
  }
  for (RouterId r = 0; r < stride; ++r) {
    for (unsigned i = 0; i < shape->dimensions.size(); ++i) {
      const GridShape::Dimension& d = shape->dimensions[i];
      std::uint32_t at = shape->coordinate(r, i);
      bool last = at + 1 == d.length;
      if (d.length == 1 || (last && !d.wraps)) continue;
      RouterId neighbour = last ? r - (d.length - 1) * d.stride : r + d.stride;
      for (unsigned k = 0; k < p.parallel_cables; ++k)
        builder.connect(r, static_cast<PortIndex>(d.plus + k), neighbour, static_cast<PortIndex>(d.minus + k),
                        type);
    }
  }
  if (!p.attach.empty()) {
    TierId device_tier = builder.tier("device");
    std::uint8_t device_type = builder.cable_type(p.attach_cable);
    shape->device_of.assign(stride, kNone);
    for (RouterId host : p.attach) {
      RouterId device = builder.router(2, device_tier);
      builder.connect(host, shape->extra_port, device, 0, device_type);
      builder.endpoint(device, 1);
      shape->attached_to.push_back(host);
      shape->device_of[host] = device;
    }
  }
  builder.shape(std::move(shape));
  return std::move(builder).finish();
}

}  // namespace weft::topology
