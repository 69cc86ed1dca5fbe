// Valiant's routing on grids: to a random router first, then to the destination, each leg in dimension order
// on channels of its own.
#include "routing/dimension_order.hpp"
#include "routing/kind.hpp"

namespace weft::routing {

namespace {

using topology::GridShape;

struct Parameters {
  Dateline dateline = Dateline::Ahead;
};

class Valiant final : public Routing {
 public:
  Valiant(const Parameters& p, const Graph& graph, const topology::Faults& faults)
      : Routing(graph, faults), grid_(*graph.shape_as<GridShape>()), order_(graph, faults, p.dateline, true) {
    for (const GridShape::Dimension& d : grid_.dimensions) diameter_ += d.wraps ? d.length / 2 : d.length - 1;
    find_vias();
  }

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    if (hop.via_leg) {
      order_.toward(hop, hop.target, 0, 0, out);
    } else {
      auto base = static_cast<ChannelClass>(order_.classes());
      order_.toward(hop, graph_.endpoint_router(hop.target), hop.target, base, out);
    }
  }

  unsigned classes() const override { return 2 * order_.classes(); }
  bool uses_input() const override { return order_.uses_input(); }
  std::uint32_t max_hops() const override { return 2 * diameter_ + (grid_.attached_to.empty() ? 0 : 2); }
  std::uint32_t via_count() const override { return grid_.grid_routers; }
  bool via_reached(RouterId r, std::uint32_t via) const override { return r == via; }
  bool may_go_direct() const override { return false; }

 private:
  const GridShape& grid_;
  DimensionOrder order_;
  std::uint32_t diameter_ = 0;
};

std::string refusal(const Parameters&, const Graph& graph) {
  return graph.shape_as<GridShape>() ? ""
                                     : "valiant routing needs a grid; a dragonfly has its own (routing.mode)";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<Valiant>(p, graph, faults);
}

WEFT_REGISTER(RoutingKind, routing_kind<Parameters>(
                               "valiant", "via a random router, to even out any traffic pattern",
                               config::Schema<Parameters>()
                                   .choice(&Parameters::dateline, "dateline",
                                           "How rings are kept free of deadlock, as for dimension-order",
                                           {"ahead", "balanced"})
                                   .section(),
                               refusal, make, {{"dateline=balanced"}}));

}  // namespace

}  // namespace weft::routing
