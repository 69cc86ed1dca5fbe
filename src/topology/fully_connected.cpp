// Every router joined to every other. F52.
#include "topology/kind.hpp"

namespace weft::topology {

namespace {

struct FullyConnectedParameters {
  std::uint32_t routers = 8;
  std::uint32_t endpoints_per_router = 1;
  std::uint32_t parallel_cables = 1;
  config::CableName cable;
};

double router_ports(const FullyConnectedParameters& p) {
  return (p.routers - 1.0) * p.parallel_cables + p.endpoints_per_router;
}

Size fully_connected_size(const FullyConnectedParameters& p) {
  return {1.0 * p.routers, 1.0 * p.routers * p.endpoints_per_router, p.routers * router_ports(p)};
}

// Ports of a router: to the others in the order of their numbers, leaving itself out; endpoints.
Graph build_fully_connected(const FullyConnectedParameters& p, const BuildContext& context) {
  GraphBuilder builder(context.cable_types);
  Size size = fully_connected_size(p);
  builder.reserve(p.routers, static_cast<std::uint64_t>(size.ports),
                  static_cast<std::uint64_t>(size.ports - size.endpoints) / 2,
                  static_cast<std::uint64_t>(size.endpoints));
  TierId tier = builder.tier("router");
  std::uint8_t type = builder.cable_type(p.cable);
  auto ports = static_cast<std::uint32_t>(router_ports(p));
  for (RouterId r = 0; r < p.routers; ++r) {
    builder.router(ports, tier);
    for (std::uint32_t e = 0; e < p.endpoints_per_router; ++e)
      builder.endpoint(r, static_cast<PortIndex>(ports - p.endpoints_per_router + e));
  }
  for (RouterId a = 0; a < p.routers; ++a)
    for (RouterId b = a + 1; b < p.routers; ++b)
      for (std::uint32_t k = 0; k < p.parallel_cables; ++k)
        builder.connect(a, static_cast<PortIndex>((b - 1) * p.parallel_cables + k), b,
                        static_cast<PortIndex>(a * p.parallel_cables + k), type);
  return std::move(builder).finish();
}

using config::Range;
using P = FullyConnectedParameters;

WEFT_REGISTER(
    TopologyKind,
    topology_kind<P>(
        "fully-connected", "every router joined to every other",
        config::Schema<P>()
            .field(&P::routers, "routers", "Routers", Range<std::uint32_t>{1, 16'384})
            .field(&P::endpoints_per_router, "endpoints_per_router", "Endpoints on each router",
                   Range<std::uint32_t>{1, 4096})
            .field(&P::parallel_cables, "parallel_cables", "Cables side by side between two routers",
                   Range<std::uint32_t>{1, 64})
            .field(&P::cable, "cable", "Cable type between routers")
            .check([](const P& p, const config::Complain& complain) {
              if (router_ports(p) > 65'000)
                complain("routers",
                         fmt::format("a router would have {:.0f} ports; at most 65000 can be built",
                                     router_ports(p)));
            })
            .section(),
        fully_connected_size, build_fully_connected,
        {{"routers=2"}, {"routers=7", "endpoints_per_router=2"}, {"routers=4", "parallel_cables=3"}}));

}  // namespace

}  // namespace weft::topology
