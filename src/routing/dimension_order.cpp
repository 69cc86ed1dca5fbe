#include "routing/dimension_order.hpp"

#include "routing/kind.hpp"

namespace weft::routing {

using topology::GridShape;

int first_difference(const GridShape& grid, RouterId a, RouterId b) {
  for (unsigned d = 0; d < grid.dimensions.size(); ++d)
    if (grid.coordinate(a, d) != grid.coordinate(b, d)) return static_cast<int>(d);
  return -1;
}

DimensionOrder::DimensionOrder(const Graph& graph, const topology::Faults& faults, Dateline dateline,
                               bool spread_parallel)
    : Routing(graph, faults),
      grid_(*graph.shape_as<GridShape>()),
      dateline_(dateline),
      spread_(spread_parallel) {
  for (const GridShape::Dimension& d : grid_.dimensions) has_rings_ |= d.wraps;
}

void DimensionOrder::candidates(const Hop& hop, Candidates& out) const {
  out.clear();
  toward(hop, graph_.endpoint_router(hop.target), hop.target, 0, out);
}

void DimensionOrder::toward(const Hop& hop, RouterId to, std::uint32_t flow, ChannelClass base,
                            Candidates& out) const {
  auto offer = [&](PortIndex port, unsigned cls) {
    if (faults_.usable(graph_, graph_.port(hop.router, port)))
      out.add(port, static_cast<ChannelClass>(base + cls));
  };
  if (hop.router >= grid_.grid_routers) return offer(0, 0);  // a device has one way out
  RouterId goal = grid_.grid_router(to);
  int dimension = first_difference(grid_, hop.router, goal);
  if (dimension < 0) return offer(grid_.extra_port, 0);  // the target is the device on this router

  const GridShape::Dimension& d = grid_.dimensions[static_cast<unsigned>(dimension)];
  std::uint32_t from = grid_.coordinate(hop.router, static_cast<unsigned>(dimension));
  std::uint32_t goal_at = grid_.coordinate(goal, static_cast<unsigned>(dimension));
  GridShape::Step step = grid_.step(static_cast<unsigned>(dimension), from, goal_at);
  bool plus = step.tie ? grid_.tie_goes_plus(static_cast<unsigned>(dimension), hop.router, goal) : step.plus;
  PortIndex port = plus ? d.plus : d.minus;

  unsigned first_class = 0, last_class = 0;
  if (d.wraps) {
    bool crosses = plus ? goal_at < from : goal_at > from;
    if (dateline_ == Dateline::Ahead) {
      first_class = last_class = crosses;
    } else {
      bool continues =
          hop.in_port != kInjected && hop.in_port >= d.plus && hop.in_port < d.minus + grid_.parallel;
      std::uint32_t middle = (d.length - 1) / 2;
      bool crosses_middle = plus ? from <= middle && goal_at > middle : from > middle && goal_at <= middle;
      if (continues) {
        first_class = last_class = hop.in_class - base;
      } else if (crosses) {
        first_class = last_class = 1;
      } else {
        last_class = crosses_middle ? 0 : 1;
      }
    }
  }
  for (unsigned cls = first_class; cls <= last_class; ++cls) {
    if (spread_) {
      for (unsigned k = 0; k < grid_.parallel; ++k) offer(static_cast<PortIndex>(port + k), cls);
    } else {
      offer(static_cast<PortIndex>(port + flow % grid_.parallel), cls);
    }
  }
}

namespace {

enum class Parallel { ByDestination, Any };

struct Parameters {
  Dateline dateline = Dateline::Ahead;
  Parallel parallel = Parallel::ByDestination;
};

std::string refusal(const Parameters&, const Graph& graph) {
  return graph.shape_as<GridShape>() ? "" : "dimension-order routing needs a grid: torus, mesh or hypercube";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<DimensionOrder>(graph, faults, p.dateline, p.parallel == Parallel::Any);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "dimension-order",
        "one dimension after the other, the shorter direction around the ring; computed from coordinates, "
        "without tables",
        config::Schema<Parameters>()
            .choice(&Parameters::dateline, "dateline",
                    "How rings are kept free of deadlock: 'ahead' uses class 1 until the ring's dateline is "
                    "crossed; 'balanced' uses two datelines and spreads packets over both classes",
                    {"ahead", "balanced"})
            .choice(
                &Parameters::parallel, "parallel",
                "Among parallel cables: one fixed by the destination, which keeps packets in order, or any",
                {"by-destination", "any"})
            .section(),
        refusal, make, {{"dateline=balanced"}, {"parallel=any"}}));

}  // namespace

}  // namespace weft::routing
