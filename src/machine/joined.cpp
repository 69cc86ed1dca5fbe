#include "machine/joined.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace weft::machine {

using topology::EndpointId;
using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

namespace {

/// Routers say which network they are of.
struct JoinedShape final : topology::Shape {
  struct Part {
    std::string name;
    RouterId first;
    Graph graph;
  };
  std::vector<Part> parts;

  std::string router_label(RouterId router) const override {
    const Part* of = &parts.front();
    for (const Part& part : parts)
      if (part.first <= router) of = &part;
    const topology::Shape* shape = of->graph.shape();
    const std::string label = shape ? shape->router_label(router - of->first) : "";
    return label.empty() ? of->name : of->name + " " + label;
  }
};

/// The ports of a network, without its endpoints.
void add_routers(const std::string& name, const Graph& part, std::size_t first_type,
                 topology::GraphBuilder& whole) {
  const RouterId first = static_cast<RouterId>(
      whole.router(part.port_count(0), whole.tier(name + " " + part.tier_names()[part.router_tier(0)])));
  for (RouterId r = 1; r < part.routers(); ++r)
    whole.router(part.port_count(r), whole.tier(name + " " + part.tier_names()[part.router_tier(r)]));
  for (topology::CableId c = 0; c < part.cables(); ++c) {
    const topology::CableEnds ends = part.cable_ends(c);
    whole.connect(first + part.port_router(ends.a), part.port_index(ends.a), first + part.port_router(ends.b),
                  part.port_index(ends.b), static_cast<std::uint8_t>(first_type + part.cable_type_index(c)),
                  part.cable_length(c));
  }
}

/// The graph of the whole. Throws UserError where the nodes of a router do not follow each other.
Graph join_graphs(const Networks& networks, const std::vector<topology::CableType>& cables) {
  topology::GraphBuilder whole(cables);
  auto shape = std::make_shared<JoinedShape>();
  RouterId first_router = 0;
  std::size_t first_type = 0;
  for (const NetworkPart& part : networks.parts) {
    const Description& d = part.description;
    Machine own = build_graph(d);
    add_routers(part.name, *own.graph, first_type, whole);
    const RouterId routers = own.graph->routers();
    shape->parts.push_back({part.name, first_router, std::move(*own.graph)});
    first_router += routers;
    first_type += d.cables.size();
  }
  // By node: where it is attached, in the first network that has it.
  std::vector<std::pair<RouterId, topology::PortIndex>> places(networks.nodes, {kNone, 0});
  std::vector<std::size_t> part_of(networks.nodes);
  for (std::size_t p = 0; p < networks.parts.size(); ++p) {
    const JoinedShape::Part& part = shape->parts[p];
    for (std::size_t e = 0; e < networks.parts[p].nodes.size(); ++e) {
      const std::uint32_t node = networks.parts[p].nodes[e];
      if (places[node].first != kNone) continue;
      const PortId port = part.graph.endpoint_port(static_cast<EndpointId>(e));
      places[node] = {part.first + part.graph.port_router(port), part.graph.port_index(port)};
      part_of[node] = p;
    }
  }
  std::vector<std::uint32_t> last(first_router, kNone);  // by router: the node attached last
  for (std::uint32_t node = 0; node < networks.nodes; ++node) {
    std::uint32_t& before = last[places[node].first];
    if (before != kNone && before + 1 != node) {
      const NetworkPart& part = networks.parts[part_of[node]];
      const std::string key = "network." + part.name + ".nodes";
      throw UserError({{part.description.origin(key), key,
                        fmt::format("nodes {} and {} are at one router; nodes of a router have numbers one "
                                    "after the other",
                                    before, node)}});
    }
    before = node;
    whole.endpoint(places[node].first, places[node].second);
  }
  whole.shape(std::move(shape));
  return std::move(whole).finish();
}

}  // namespace

Joined::Joined(const Networks& networks, const Graph& graph, const topology::Faults& faults)
    : Routing(graph, faults),
      gateways_(networks.gateways),
      share_(networks.gateway.share),
      home_(networks.nodes, kNone) {
  RouterId first_router = 0;
  PortId first_port = 0;
  for (const NetworkPart& part : networks.parts) {
    JoinedPart own;
    own.name = part.name;
    own.machine = build(part.description);
    own.first_router = first_router;
    own.first_port = first_port;
    own.up_to = static_cast<std::uint64_t>(part.parameters.up_to.value);
    own.node_of.assign(own.machine.graph->endpoints(), kNone);
    own.endpoint_of.assign(networks.nodes, kNone);
    for (std::size_t e = 0; e < part.nodes.size(); ++e) {
      own.node_of[e] = part.nodes[e];
      own.endpoint_of[part.nodes[e]] = static_cast<EndpointId>(e);
      if (home_[part.nodes[e]] == kNone) home_[part.nodes[e]] = static_cast<std::uint32_t>(parts_.size());
    }
    first_router += own.machine.graph->routers();
    first_port += own.machine.graph->ports();
    parts_.push_back(std::move(own));
  }
  for (const JoinedPart& a : parts_)
    for (const JoinedPart& b : parts_) {
      std::vector<std::uint32_t>& between = between_.emplace_back();
      // What goes through a gateway may be of any size.
      for (std::uint32_t g = 0; &a != &b && !a.up_to && !b.up_to && g < gateways_.size(); ++g)
        if (a.has(gateways_[g]) && b.has(gateways_[g])) between.push_back(g);
    }
}

bool Joined::is_gateway(EndpointId node) const {
  return std::find(gateways_.begin(), gateways_.end(), node) != gateways_.end();
}

std::uint32_t Joined::part_of_router(RouterId router) const {
  std::uint32_t out = 0;
  for (std::uint32_t p = 0; p < parts_.size(); ++p)
    if (parts_[p].first_router <= router) out = p;
  return out;
}

Way Joined::way(EndpointId from, EndpointId to, std::uint64_t bytes,
                const std::function<bool(std::uint32_t)>& avoid) const {
  for (std::uint32_t p = 0; p < parts_.size(); ++p)
    if (parts_[p].has(from) && parts_[p].has(to) && (parts_[p].up_to == 0 || bytes <= parts_[p].up_to))
      return {p, p, kNone};
  const std::uint64_t key = share_ == GatewayShare::Source        ? from
                            : share_ == GatewayShare::Destination ? to
                                                                  : std::uint64_t{from} + to;
  for (std::uint32_t a = 0; a < parts_.size(); ++a)
    for (std::uint32_t b = 0; b < parts_.size(); ++b) {
      const std::vector<std::uint32_t>& between = between_[a * parts_.size() + b];
      if (between.empty() || !parts_[a].has(from) || !parts_[b].has(to)) continue;
      for (std::size_t i = 0; avoid && i < between.size(); ++i)
        if (const std::uint32_t g = between[(key + i) % between.size()]; !avoid(g)) return {a, b, g};
      return {a, b, between[key % between.size()]};
    }
  WEFT_CHECK(false, "a description in which a pair of nodes has no way is refused");
  return {};
}

void Joined::candidates(const routing::Hop& hop, routing::Candidates& out) const {
  const JoinedPart& part = parts_[part_of_router(hop.router)];
  routing::Hop own = hop;
  own.router -= part.first_router;
  auto toward = [&](EndpointId node) {
    own.target = part.endpoint_of[node];
    if (part.machine.graph->endpoint_router(own.target) == own.router) return;
    routing::Candidates found;
    part.machine.routing->candidates(own, found);
    for (const routing::Candidate& c : found)
      if (std::find(out.begin(), out.end(), c) == out.end()) out.add(c.port, c.channel_class);
  };
  out.clear();
  if (hop.via_leg || part.has(hop.target)) {
    if (!hop.via_leg) return toward(hop.target);
    return part.machine.routing->candidates(own, out);
  }
  for (EndpointId gateway : gateways_)
    if (part.has(gateway)) toward(gateway);
}

unsigned Joined::classes() const {
  unsigned out = 1;
  for (const JoinedPart& part : parts_) out = std::max(out, part.machine.routing->classes());
  return out;
}

bool Joined::claims_deadlock_free() const {
  return std::ranges::all_of(
      parts_, [](const JoinedPart& part) { return part.machine.routing->claims_deadlock_free(); });
}

const Joined* joined(const Machine& machine) { return dynamic_cast<const Joined*>(machine.routing.get()); }

namespace {

topology::Size size_of(const Networks& networks) {
  topology::Size out;
  for (const NetworkPart& part : networks.parts) {
    const topology::Size one = part.description.topology->size(part.description.topology_parameters.get());
    out.routers += one.routers;
    out.ports += one.ports;
  }
  out.endpoints = networks.nodes;
  return out;
}

NetworksBuilder make_builder() {
  NetworksBuilder out;
  out.name = "networks";
  out.topology.name = out.routing.name = out.name;
  out.topology.about = "several networks, each of its own topology";
  out.topology.section.make = out.routing.section.make = [] { return std::make_shared<Networks>(); };
  out.topology.size = [](const void* p) { return size_of(*static_cast<const Networks*>(p)); };
  out.topology.build = [](const void* p, const topology::BuildContext& context) {
    return join_graphs(*static_cast<const Networks*>(p), context.cable_types);
  };
  out.routing.about = "in each network by its own routing, to others through gateways";
  out.routing.refusal = [](const void*, const Graph&) { return std::string(); };
  out.routing.make = [](const void* p, const Graph& graph, const topology::Faults& faults) {
    return std::make_unique<Joined>(*static_cast<const Networks*>(p), graph, faults);
  };
  return out;
}

WEFT_REGISTER(NetworksBuilder, make_builder());

}  // namespace

}  // namespace weft::machine
