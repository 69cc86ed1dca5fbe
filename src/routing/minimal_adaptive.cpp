// Minimal adaptive routing with escape channels: any shortest path, and at every step a way out that cannot
// lock. Grids escape by dimension order and may return to adaptive channels; other graphs escape by up*/down*
// and stay.
#include "routing/dimension_order.hpp"
#include "routing/kind.hpp"
#include "routing/up_down.hpp"

namespace weft::routing {

namespace {

using topology::GridShape;

struct Parameters {
  bool escape = true;
};

/// Escape classes have one channel each; adaptive channels get the rest.
ChannelPlan plan_with_escape(unsigned escape_classes, unsigned channels) {
  ChannelPlan plan;
  plan.complete = channels > escape_classes;
  for (unsigned c = 0; c <= escape_classes; ++c) {
    unsigned begin = plan.complete ? c : c % channels;
    plan.begin.push_back(static_cast<std::uint8_t>(begin));
    plan.end.push_back(
        static_cast<std::uint8_t>(plan.complete && c == escape_classes ? channels : begin + 1));
  }
  return plan;
}

class AdaptiveGrid final : public Routing {
 public:
  AdaptiveGrid(const Graph& graph, const topology::Faults& faults, bool escape)
      : Routing(graph, faults),
        grid_(*graph.shape_as<GridShape>()),
        escape_(escape),
        order_(graph, faults, Dateline::Ahead, true),
        adaptive_class_(static_cast<ChannelClass>(escape ? order_.classes() : 0)) {}

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    RouterId to = graph_.endpoint_router(hop.target);
    RouterId goal = grid_.grid_router(to);
    if (hop.router < grid_.grid_routers && hop.router != goal) {
      for (unsigned d = 0; d < grid_.dimensions.size(); ++d) offer_dimension(hop.router, goal, d, out);
    } else if (!escape_) {
      order_.toward(hop, to, hop.target, adaptive_class_, out);  // the hop to or from an attached device
    }
    if (escape_) order_.toward(hop, to, hop.target, 0, out);
  }

  unsigned classes() const override { return adaptive_class_ + 1u; }
  bool uses_input() const override { return false; }
  bool claims_deadlock_free() const override { return escape_; }
  bool has_escape() const override { return escape_; }
  bool is_escape(ChannelClass c) const override { return escape_ && c < adaptive_class_; }
  ChannelPlan plan(unsigned channels) const override { return plan_with_escape(adaptive_class_, channels); }

 private:
  void offer_dimension(RouterId at, RouterId goal, unsigned dimension, Candidates& out) const {
    const GridShape::Dimension& d = grid_.dimensions[dimension];
    std::uint32_t from = grid_.coordinate(at, dimension), to = grid_.coordinate(goal, dimension);
    if (from == to) return;
    GridShape::Step step = grid_.step(dimension, from, to);
    for (bool plus : {true, false}) {
      if (plus != step.plus && !step.tie) continue;
      for (unsigned k = 0; k < grid_.parallel; ++k) {
        auto port = static_cast<PortIndex>((plus ? d.plus : d.minus) + k);
        if (faults_.usable(graph_, graph_.port(at, port))) out.add(port, adaptive_class_);
      }
    }
  }

  const GridShape& grid_;
  bool escape_;
  DimensionOrder order_;
  ChannelClass adaptive_class_;
};

class AdaptiveGraph final : public Routing {
 public:
  AdaptiveGraph(const Graph& graph, const topology::Faults& faults, bool escape)
      : Routing(graph, faults), escape_(escape), up_down_(graph, faults, kNone, true), destinations_(graph) {
    check_table_bytes(2.0 * static_cast<double>(destinations_.routers.size()) * graph.routers(),
                      "distance tables");
    left_.reserve(destinations_.routers.size() * graph.routers());
    std::vector<std::uint16_t> row;
    std::vector<RouterId> queue;
    for (RouterId to : destinations_.routers) {
      distances_to(graph, faults, to, row, queue);
      if (!queue.empty()) diameter_ = std::max<std::uint32_t>(diameter_, row[queue.back()]);
      left_.insert(left_.end(), row.begin(), row.end());
    }
  }

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    bool injected = hop.in_port == kInjected;
    bool escaped = escape_ && !injected && hop.in_class == 0;
    if (!escaped) {
      const std::uint16_t* left =
          &left_[std::size_t{destinations_.index[graph_.endpoint_router(hop.target)]} * graph_.routers()];
      for (PortId p = graph_.port_begin(hop.router); p < graph_.port_begin(hop.router + 1); ++p)
        if (faults_.usable(graph_, p) && left[graph_.port_router(graph_.peer(p))] + 1 == left[hop.router])
          out.add(graph_.port_index(p), escape_ ? 1 : 0);
    }
    bool descending = escaped && up_down_.came_down(hop.router, hop.in_port);
    if (escape_) up_down_.offer(hop.router, descending, hop.target, 0, out);
  }

  unsigned classes() const override { return escape_ ? 2 : 1; }
  bool uses_input() const override { return escape_; }
  std::uint32_t max_hops() const override { return escape_ ? diameter_ + up_down_.max_hops() : 0; }
  bool claims_deadlock_free() const override { return escape_; }
  bool has_escape() const override { return escape_; }
  bool is_escape(ChannelClass c) const override { return escape_ && c == 0; }
  ChannelPlan plan(unsigned channels) const override { return plan_with_escape(escape_ ? 1 : 0, channels); }
  std::uint64_t bytes() const override { return up_down_.bytes() + left_.size() * sizeof(std::uint16_t); }

 private:
  bool escape_;
  UpDown up_down_;
  DestinationRouters destinations_;
  std::vector<std::uint16_t> left_;  // [destination][router]: hops to go
  std::uint32_t diameter_ = 0;
};

std::string refusal(const Parameters&, const Graph&) { return ""; }

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  if (graph.shape_as<GridShape>()) return std::make_unique<AdaptiveGrid>(graph, faults, p.escape);
  return std::make_unique<AdaptiveGraph>(graph, faults, p.escape);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "minimal-adaptive", "any shortest path, with escape channels that keep it free of deadlock",
        config::Schema<Parameters>()
            .field(&Parameters::escape, "escape",
                   "Keep escape channels: dimension order on grids, up*/down* elsewhere; false shows what "
                   "happens without")
            .section(),
        refusal, make, {{"escape=false"}}));

}  // namespace

}  // namespace weft::routing
