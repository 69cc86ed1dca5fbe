// Torus and mesh: k-ary n-cubes of any dimensions (F40, F50, F51, F53, F74, F75).
#include <set>

#include "topology/grid_shape.hpp"

namespace weft::topology {

namespace {

config::Schema<GridParameters> grid_schema(std::string dims_help) {
  using config::Range;
  return config::Schema<GridParameters>()
      .field(&GridParameters::dims, "dims", std::move(dims_help), Range<std::uint32_t>{1, 1u << 24})
      .required()
      .field(&GridParameters::endpoints_per_router, "endpoints_per_router", "Endpoints on each router",
             Range<unsigned>{1, 256})
      .field(&GridParameters::parallel_cables, "parallel_cables",
             "Cables side by side between two neighbours", Range<unsigned>{1, 16})
      .field(&GridParameters::both_ports_on_pairs, "both_ports_on_pairs",
             "A dimension of length 2 is one cable; true keeps the second port, unconnected, as real cards "
             "have it")
      .field(&GridParameters::spare_ports, "spare_ports",
             "Link ports left free on each router beside those of the grid (a seventh link)",
             Range<unsigned>{0, 32})
      .field(&GridParameters::attach, "attach",
             "Routers whose first spare link carries a device: a router of its own with one endpoint")
      .field(&GridParameters::cable, "cable", "Cable type between neighbours")
      .field(&GridParameters::attach_cable, "attach_cable", "Cable type to attached devices")
      .check([](const GridParameters& p, const config::Complain& complain) {
        if (p.dims.empty() || p.dims.size() > GridShape::kMaxDimensions) {
          complain("dims", fmt::format("expected 1 to {} dimensions, got {}", GridShape::kMaxDimensions,
                                       p.dims.size()));
          return;
        }
        double routers = grid_size(p).routers - static_cast<double>(p.attach.size());
        std::set<std::uint32_t> seen;
        for (std::uint32_t r : p.attach) {
          if (r >= routers)
            complain("attach", fmt::format("there is no router {}; the grid has {:.0f}", r, routers));
          if (!seen.insert(r).second) complain("attach", fmt::format("router {} is listed twice", r));
        }
      });
}

Graph build_torus(const GridParameters& p, const BuildContext& context) { return build_grid(p, context); }

Graph build_mesh(const GridParameters& p, const BuildContext& context) {
  GridParameters mesh = p;
  mesh.wrap = false;
  return build_grid(mesh, context);
}

WEFT_REGISTER(TopologyKind,
              topology_kind<GridParameters>(
                  "torus", "k-ary n-cube: a grid whose rows close into rings; a ring of two is one cable",
                  grid_schema("Routers in each dimension, such as [8, 8, 8]").section(), grid_size,
                  build_torus,
                  {{"dims=[5]"},
                   {"dims=[4,3]", "endpoints_per_router=2", "parallel_cables=2"},
                   {"dims=[4,2,3]", "spare_ports=1", "attach=[0,7]"}}));

WEFT_REGISTER(TopologyKind,
              topology_kind<GridParameters>(
                  "mesh", "a grid without the cables that would close its rows into rings",
                  grid_schema("Routers in each dimension, such as [4, 4]").section(), grid_size, build_mesh,
                  {{"dims=[6]"}, {"dims=[4,3]", "endpoints_per_router=2"}, {"dims=[3,3,3]"}}));

}  // namespace

}  // namespace weft::topology
