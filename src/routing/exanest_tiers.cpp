// ExaNeSt's routing: each tier finds its own part of the path, computed from numbers alone (F42, F43).
// Switches know chassis, chassis know QFDBs in dimension order, QFDBs know their FPGAs.
#include "routing/distances.hpp"
#include "routing/kind.hpp"
#include "topology/exanest_shape.hpp"

namespace weft::routing {

namespace {

using topology::ExanestShape;
using Direction = ExanestShape::Direction;
using Ports = ExanestShape::Ports;

enum class BoardNetwork { HighThroughput, LowLatency, Any };
enum class Parallel { ByDestination, Any };

struct Parameters {
  BoardNetwork board_network = BoardNetwork::HighThroughput;
  Parallel parallel = Parallel::ByDestination;
};

// A packet uses class 0 until it has left its chassis and class 1 once it is in its destination's: a chassis'
// way out and its way in never wait for each other, and the two channels of the real router are enough.
class ExanestTiers final : public Routing {
 public:
  ExanestTiers(const Parameters& p, const Graph& graph, const topology::Faults& faults)
      : Routing(graph, faults), shape_(*graph.shape_as<ExanestShape>()), parameters_(p) {}

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    RouterId at = hop.router, to = graph_.endpoint_router(hop.target);
    if (shape_.is_switch(at)) return from_switch(at, to, out);
    bool near = shape_.same_chassis(at, to);
    ChannelClass cls = near;
    if (shape_.same_qfdb(at, to)) return across_board(at, to, cls, out);
    if (!shape_.is_network_fpga(at)) return across_board(at, shape_.network_fpga(at), cls, out);
    RouterId goal = near ? shape_.network_fpga(to)
                         : shape_.uplink_fpga(shape_.rack(at), shape_.chassis(at), uplink_of(to));
    if (at == goal) return offer(at, shape_.uplink_ports(at), to, 0, out);
    offer(at, shape_.direction_ports(at, direction(at, goal)), to, cls, out);
  }

  unsigned classes() const override { return 2; }
  bool uses_input() const override { return false; }
  bool keeps_order() const override {
    return parameters_.parallel == Parallel::ByDestination && parameters_.board_network != BoardNetwork::Any;
  }

  std::uint32_t max_hops() const override {
    std::uint32_t across_chassis = shape_.grid_x - 1 + shape_.grid_y - 1 + shape_.mezzanines - 1;
    std::uint32_t boards = shape_.fpgas_per_qfdb > 1 ? 2 : 0;
    if (!shape_.switches()) return boards + across_chassis;
    return boards + 2 * across_chassis + 2 + (shape_.racks > 1 ? 1 : 0);
  }

 private:
  /// The uplink that carries traffic for this destination, in and out: spreads them evenly.
  std::uint32_t uplink_of(RouterId to) const { return to / shape_.fpgas_per_qfdb % shape_.uplinks; }

  Direction direction(RouterId at, RouterId goal) const {
    if (shape_.x(at) != shape_.x(goal))
      return shape_.x(at) < shape_.x(goal) ? Direction::PlusX : Direction::MinusX;
    if (shape_.y(at) != shape_.y(goal))
      return shape_.y(at) < shape_.y(goal) ? Direction::PlusY : Direction::MinusY;
    return shape_.z(at) < shape_.z(goal) ? Direction::PlusZ : Direction::MinusZ;
  }

  void from_switch(RouterId at, RouterId to, Candidates& out) const {
    if (shape_.rack(at) != shape_.rack(to))
      return offer(at, shape_.rack_ports(shape_.rack(at), shape_.rack(to)), to, 0, out);
    Ports down = shape_.chassis_ports(shape_.chassis(to));
    if (parameters_.parallel == Parallel::Any) return offer(at, down, to, 1, out);
    offer(at, {static_cast<PortIndex>(down.first + uplink_of(to)), 1}, to, 1, out);
  }

  void across_board(RouterId at, RouterId to, ChannelClass cls, Candidates& out) const {
    bool low = shape_.lvds && parameters_.board_network != BoardNetwork::HighThroughput;
    bool high = !low || parameters_.board_network == BoardNetwork::Any;
    if (low) offer(at, shape_.lvds_ports(at, to), to, cls, out);
    if (high) offer(at, shape_.hss_ports(at, to), to, cls, out);
  }

  void offer(RouterId at, Ports ports, RouterId to, ChannelClass cls, Candidates& out) const {
    bool one = parameters_.parallel == Parallel::ByDestination;
    for (std::uint32_t k = 0; k < ports.count; ++k) {
      if (one && k != to % ports.count) continue;
      auto port = static_cast<PortIndex>(ports.first + k);
      if (faults_.usable(graph_, graph_.port(at, port))) out.add(port, cls);
    }
  }

  const ExanestShape& shape_;
  Parameters parameters_;
};

std::string refusal(const Parameters&, const Graph& graph) {
  return graph.shape_as<ExanestShape>() ? "" : "exanest-tiers routing needs the exanest topology";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<ExanestTiers>(p, graph, faults);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "exanest-tiers", "each tier its own part of the path: board, mezzanine and chassis, rack, racks",
        config::Schema<Parameters>()
            .choice(&Parameters::board_network, "board_network",
                    "Which of the two networks of a board carries packets",
                    {"high-throughput", "low-latency", "any"})
            .choice(
                &Parameters::parallel, "parallel",
                "Among parallel cables, and from a switch among the uplinks of a chassis: one fixed by the "
                "destination, which keeps packets in order, or any",
                {"by-destination", "any"})
            .section(),
        refusal, make, {{"board_network=low-latency"}, {"board_network=any", "parallel=any"}}));

}  // namespace

}  // namespace weft::routing
