// Up to a common ancestor, then down: deterministic (D-mod-k) or adaptive over a few ports up (F47, F48).
#include "routing/fat_tree.hpp"

#include <algorithm>

#include "routing/kind.hpp"

namespace weft::routing {

using topology::TreeShape;

FatTree::FatTree(const Graph& graph, const topology::Faults& faults, unsigned offered, bool by_endpoint)
    : Routing(graph, faults),
      tree_(*graph.shape_as<TreeShape>()),
      offered_(offered),
      by_endpoint_(by_endpoint),
      span_(tree_.levels + 1, 1) {
  for (const TreeShape::Node& node : tree_.nodes) {
    span_[node.level] = std::max(span_[node.level], node.below_end - node.below_begin);
    last_cable_by_endpoint_ |= node.level == 2 && offered != 0 && node.down_parallel > offered;
  }
}

FatTree::PortChoice FatTree::choice(RouterId router, EndpointId to, std::uint64_t number) const {
  const TreeShape::Node& node = tree_.nodes[router];
  bool down = tree_.covers(router, to);
  PortIndex first = down ? tree_.down_port(router, to) : node.first_up;
  std::uint32_t count = down ? node.down_parallel : node.up_count;
  if (count == 0) return {first, 0, 0, 0};
  std::uint32_t offered = std::min<std::uint32_t>(offered_ == 0 ? count : offered_, count);
  std::uint64_t start = number;
  if (by_endpoint_) {
    if (!down) start /= tree_.spread[node.level];
  } else {
    if (down && node.level == 2) start = to;  // all cables lead to the one router the number stands for
    start += turn(router);
  }
  return {first, static_cast<std::uint32_t>(start * offered % count), count, offered};
}

void FatTree::candidates(const Hop& hop, Candidates& out) const {
  out.clear();
  PortChoice all = choice(hop.router, hop.target);
  for (std::uint32_t i = 0, place = all.start; i < all.offered;
       ++i, place = place + 1 == all.count ? 0 : place + 1) {
    auto port = static_cast<PortIndex>(all.first + place);
    if (faults_.usable(graph_, graph_.port(hop.router, port))) out.add(port, 0);
  }
}

namespace {

enum class Mode { Deterministic, Adaptive };

struct Parameters {
  Mode mode = Mode::Adaptive;
  unsigned candidates = 4;
  bool by_endpoint = false;
};

std::string refusal(const Parameters&, const Graph& graph) {
  return graph.shape_as<TreeShape>() ? "" : "fat-tree routing needs a tree: fat-tree or th-express";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  bool fixed = p.mode == Mode::Deterministic;
  return std::make_unique<FatTree>(graph, faults, fixed ? 1 : p.candidates, fixed || p.by_endpoint);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "fat-tree", "up to a common ancestor and down again, computed from endpoint numbers, without tables",
        config::Schema<Parameters>()
            .choice(
                &Parameters::mode, "mode",
                "'deterministic' fixes the route by the destination and keeps packets in order; 'adaptive' "
                "lets a router choose the least loaded of a few candidate ports",
                {"deterministic", "adaptive"})
            .field(&Parameters::candidates, "candidates",
                   "Output ports an adaptive router chooses among; 0: all that lead there",
                   config::Range<unsigned>{0, 256})
            .field(&Parameters::by_endpoint, "by_endpoint",
                   "Which ports these are differs by the destination alone; otherwise by its router and the "
                   "router that chooses, so that sources spread, too")
            .section(),
        refusal, make,
        {{"mode=deterministic"}, {"candidates=0"}, {"candidates=1"}, {"candidates=2", "by_endpoint=true"}}));

}  // namespace

}  // namespace weft::routing
