#include "routing/states.hpp"

#include <algorithm>

namespace weft::routing {

StateExplorer::StateExplorer(const Routing& routing)
    : routing_(routing),
      graph_(routing.graph()),
      classes_(routing.classes()),
      by_input_(routing.uses_input()) {
  std::uint64_t count = graph_.routers() + (by_input_ ? std::uint64_t{graph_.ports()} * classes_ : 0);
  WEFT_CHECK(count < kArrived, "states have 32-bit numbers");
  stamp_.assign(count, 0);
  edge_begin_.assign(count, 0);
  edge_end_.assign(count, 0);
  height_.assign(count, 0);
}

RouterId StateExplorer::router_of(std::uint32_t state) const {
  return state < graph_.routers() ? state : graph_.port_router(in_port_of(state));
}

PortId StateExplorer::in_port_of(std::uint32_t state) const {
  return state < graph_.routers() ? kNone : (state - graph_.routers()) / classes_;
}

ChannelClass StateExplorer::in_class_of(std::uint32_t state) const {
  return static_cast<ChannelClass>(state < graph_.routers() ? 0 : (state - graph_.routers()) % classes_);
}

std::uint32_t StateExplorer::state_after(PortId out_port, ChannelClass channel_class) const {
  PortId in_port = graph_.peer(out_port);
  return by_input_ ? graph_.routers() + in_port * classes_ + channel_class : graph_.port_router(in_port);
}

void StateExplorer::visit(std::uint32_t state) {
  if (stamp_[state] == round_) return;
  stamp_[state] = round_;
  found_.push_back(state);
}

void StateExplorer::explore(std::uint32_t target, bool via_leg, const std::vector<RouterId>& sources,
                            bool second_leg) {
  ++round_;
  found_.clear();
  edges_.clear();
  RouterId goal = via_leg ? kNone : graph_.endpoint_router(target);
  auto arrived = [&](RouterId r) { return via_leg ? routing_.via_reached(r, target) : r == goal; };
  for (RouterId r : sources)
    if (!arrived(r)) visit(injected(r));

  Candidates candidates;
  Hop hop;
  hop.via_leg = via_leg;
  hop.target = target;
  hop.second_leg = second_leg;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    std::uint32_t state = found_[i];
    PortId in_port = in_port_of(state);
    hop.router = router_of(state);
    hop.in_port = in_port == kNone ? kInjected : graph_.port_index(in_port);
    hop.in_class = in_class_of(state);
    routing_.candidates(hop, candidates);
    edge_begin_[state] = edges_.size();
    for (const Candidate& next_hop : candidates) {
      PortId out_port = graph_.port(hop.router, next_hop.port);
      WEFT_CHECK(graph_.peer(out_port) != kNone && next_hop.channel_class < classes_,
                 "a routing offers existing channels");
      bool there = arrived(graph_.port_router(graph_.peer(out_port)));
      std::uint32_t next = there ? kArrived : state_after(out_port, next_hop.channel_class);
      edges_.push_back({out_port, next_hop.channel_class, next});
      if (!there) visit(next);
    }
    edge_end_[state] = edges_.size();
  }
}

void StateExplorer::measure() {
  // Depth first without recursion: a state's height is known once those of all its successors are.
  constexpr std::uint32_t kOpen = 0xffff'fffd, kUnknown = 0xffff'fffc;
  for (std::uint32_t state : found_) height_[state] = kUnknown;
  settled_.clear();
  std::vector<std::pair<std::uint32_t, std::uint64_t>> path;  // state, next edge to follow
  for (std::uint32_t root : found_) {
    if (height_[root] != kUnknown) continue;
    path.emplace_back(root, edge_begin_[root]);
    height_[root] = kOpen;
    while (!path.empty()) {
      auto& [state, at] = path.back();
      if (at < edge_end_[state]) {
        std::uint32_t next = edges_[at++].next;
        if (next != kArrived && height_[next] == kUnknown) {
          height_[next] = kOpen;
          path.emplace_back(next, edge_begin_[next]);
        }
        continue;
      }
      std::uint32_t height = edge_begin_[state] == edge_end_[state] ? kStuck : 0;
      for (std::uint64_t e = edge_begin_[state]; e < edge_end_[state] && height != kEndless; ++e) {
        std::uint32_t next = edges_[e].next;
        std::uint32_t below = next == kArrived ? 0 : height_[next];
        if (below == kOpen || below == kEndless) {
          height = kEndless;  // an edge back to a state we came through
        } else if (below == kStuck) {
          height = kStuck;
        } else if (height != kStuck) {
          height = std::max(height, below + 1);
        }
      }
      height_[state] = height;
      settled_.push_back(state);
      path.pop_back();
    }
  }
}

}  // namespace weft::routing
