// Dragonfly routing: minimal, Valiant through another group, or UGAL, which picks between them at the source.
#include "routing/kind.hpp"
#include "topology/dragonfly_shape.hpp"

namespace weft::routing {

namespace {

using topology::DragonflyShape;

enum class Mode { Minimal, Valiant, Ugal };

struct Parameters {
  Mode mode = Mode::Minimal;
};

// Classes rise along a route: a packet in the group it starts from, then after each cable between groups.
// Minimal routes use two (before and after); routes via a third group one more. Under UGAL direct
// packets have a class of their own until they are in their destination's group: those that wait for a
// congested cable must not stand before packets that come through their group on the route round.
class Dragonfly final : public Routing {
 public:
  Dragonfly(const Parameters& p, const Graph& graph, const topology::Faults& faults)
      : Routing(graph, faults), shape_(*graph.shape_as<DragonflyShape>()), mode_(p.mode) {
    find_vias();
  }

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    RouterId to = hop.via_leg ? kNone : graph_.endpoint_router(hop.target);
    std::uint32_t here = shape_.group(hop.router);
    std::uint32_t goal = hop.via_leg ? hop.target : shape_.group(to);
    if (here == goal) return offer(hop.router, shape_.local_port(hop.router, to), last_class(), out);
    unsigned base = mode_ == Mode::Minimal || hop.via_leg ? 0 : tells_legs() && !hop.second_leg ? 3 : 1;

    auto gateways = shape_.gateways(here, goal);
    for (const auto& gateway : gateways)
      if (gateway.place == shape_.place(hop.router)) offer(hop.router, gateway.port, base, out);
    if (!out.empty()) return;
    std::uint16_t last_place = 0xffff;
    for (const auto& gateway : gateways) {
      if (gateway.place == last_place) continue;  // two cables of one gateway are one route to it
      last_place = gateway.place;
      RouterId router = here * shape_.group_routers + gateway.place;
      if (!leads_on(router, gateways)) continue;
      offer(hop.router, shape_.local_port(hop.router, router), base, out);
    }
  }

  unsigned classes() const override { return mode_ == Mode::Minimal ? 2 : mode_ == Mode::Valiant ? 3 : 4; }
  bool uses_input() const override { return false; }
  std::uint32_t max_hops() const override { return mode_ == Mode::Minimal ? 3 : 5; }

  std::uint32_t via_count() const override { return mode_ == Mode::Minimal ? 0 : shape_.groups; }
  bool via_reached(RouterId r, std::uint32_t via) const override { return shape_.group(r) == via; }
  bool may_go_direct() const override { return mode_ != Mode::Valiant; }
  bool tells_legs() const override { return mode_ == Mode::Ugal; }

 private:
  unsigned last_class() const { return mode_ == Mode::Minimal ? 1 : 2; }

  /// Is one of the router's own cables to that group alive? Nobody is sent to a gateway that has lost them
  /// all.
  bool leads_on(RouterId router, std::span<const DragonflyShape::Gateway> gateways) const {
    if (!faults_.any()) return true;
    for (const auto& gateway : gateways)
      if (gateway.place == shape_.place(router) && faults_.usable(graph_, graph_.port(router, gateway.port)))
        return true;
    return false;
  }

  void offer(RouterId r, PortIndex port, unsigned cls, Candidates& out) const {
    if (faults_.usable(graph_, graph_.port(r, port))) out.add(port, static_cast<ChannelClass>(cls));
  }

  const DragonflyShape& shape_;
  Mode mode_;
};

std::string refusal(const Parameters&, const Graph& graph) {
  return graph.shape_as<DragonflyShape>() ? "" : "dragonfly routing needs a dragonfly";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<Dragonfly>(p, graph, faults);
}

WEFT_REGISTER(RoutingKind,
              routing_kind<Parameters>(
                  "dragonfly",
                  "within the group, across, within the other group; directly or through a third group",
                  config::Schema<Parameters>()
                      .choice(&Parameters::mode, "mode",
                              "'minimal' goes straight; 'valiant' goes through a random third group; "
                              "'ugal' lets the source choose the less loaded of the two",
                              {"minimal", "valiant", "ugal"})
                      .section(),
                  refusal, make, {{"mode=valiant"}, {"mode=ugal"}}));

}  // namespace

}  // namespace weft::routing
