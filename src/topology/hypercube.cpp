// Hypercube: a grid of two routers in every dimension. F52.
#include "topology/grid_shape.hpp"

namespace weft::topology {

namespace {

struct HypercubeParameters {
  unsigned dimension = 6;
  unsigned endpoints_per_router = 1;
  config::CableName cable;
};

GridParameters as_grid(const HypercubeParameters& p) {
  GridParameters grid;
  grid.dims.assign(p.dimension, 2);
  grid.endpoints_per_router = p.endpoints_per_router;
  grid.cable = p.cable;
  return grid;
}

Size hypercube_size(const HypercubeParameters& p) { return grid_size(as_grid(p)); }

Graph build_hypercube(const HypercubeParameters& p, const BuildContext& context) {
  return build_grid(as_grid(p), context);
}

using config::Range;
using P = HypercubeParameters;

WEFT_REGISTER(TopologyKind,
              topology_kind<P>(
                  "hypercube", "2^dimension routers; neighbours differ in one bit of their number",
                  config::Schema<P>()
                      .field(&P::dimension, "dimension", "Neighbours of each router", Range<unsigned>{1, 20})
                      .field(&P::endpoints_per_router, "endpoints_per_router", "Endpoints on each router",
                             Range<unsigned>{1, 256})
                      .field(&P::cable, "cable", "Cable type between neighbours")
                      .section(),
                  hypercube_size, build_hypercube,
                  {{"dimension=1"}, {"dimension=3", "endpoints_per_router=2"}, {"dimension=5"}}));

}  // namespace

}  // namespace weft::topology
