// Patterns that go a fixed way along each dimension of a grid, or round the numbers where the machine is no
// grid.
#include "topology/grid_shape.hpp"
#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

using topology::GridShape;

/// The grid, where every endpoint takes part and none sits on a device beside it.
const GridShape* whole_grid(const Members& members) {
  const auto* shape = members.graph->shape_as<GridShape>();
  return shape && members.all() && shape->grid_routers == members.graph->routers() ? shape : nullptr;
}

/// To the endpoint in the same place on the router that is `steps(length)` further along every dimension.
std::vector<Member> shifted(const topology::Graph& graph, const GridShape& shape,
                            std::uint32_t (*steps)(std::uint32_t length)) {
  std::vector<Member> out;
  for (topology::EndpointId e = 0; e < graph.endpoints(); ++e) {
    topology::RouterId from = graph.endpoint_router(e), to = from;
    for (unsigned d = 0; d < shape.dimensions.size(); ++d) {
      const GridShape::Dimension& dimension = shape.dimensions[d];
      std::uint32_t at = shape.coordinate(from, d);
      std::uint32_t goal = (at + steps(dimension.length)) % dimension.length;
      to = to - at * dimension.stride + goal * dimension.stride;
    }
    out.push_back(graph.first_endpoint(to) + (e - graph.first_endpoint(from)));
  }
  return out;
}

std::vector<Member> rotated(std::uint32_t members, std::uint32_t steps) {
  std::vector<Member> out;
  for (Member source = 0; source < members; ++source)
    out.push_back(static_cast<Member>((std::uint64_t{source} + steps) % members));
  return out;
}

std::unique_ptr<Pattern> make_tornado(const NoParameters&, const PatternContext& context) {
  const Members& members = context.members;
  const GridShape* grid = whole_grid(members);
  // Just short of half way, so that on rings all packets go the same way round.
  auto nearly_half = [](std::uint32_t length) { return (length + 1) / 2 - 1; };
  return std::make_unique<FixedPattern>(grid ? shifted(*members.graph, *grid, nearly_half)
                                             : rotated(members.count(), members.count() / 2));
}

std::unique_ptr<Pattern> make_neighbour(const NoParameters&, const PatternContext& context) {
  const Members& members = context.members;
  const GridShape* grid = whole_grid(members);
  return std::make_unique<FixedPattern>(
      grid ? shifted(*members.graph, *grid, [](std::uint32_t) { return 1u; }) : rotated(members.count(), 1));
}

WEFT_REGISTER(PatternKind, pattern_kind<NoParameters>(
                               "tornado",
                               "on a grid, just short of half way round every dimension; elsewhere, "
                               "half way round the numbers",
                               no_parameters(), make_tornado));
WEFT_REGISTER(PatternKind,
              pattern_kind<NoParameters>(
                  "neighbour", "on a grid, one step along every dimension; elsewhere, to the next number",
                  no_parameters(), make_neighbour));

}  // namespace

}  // namespace weft::workload
