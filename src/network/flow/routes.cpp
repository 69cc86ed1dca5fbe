#include "network/flow/routes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"
#include "routing/dimension_order.hpp"
#include "routing/distances.hpp"
#include "routing/fat_tree.hpp"
#include "routing/vias.hpp"
#include "topology/grid_shape.hpp"

namespace weft::network::flow {

using routing::Hop;
using routing::kInjected;
using topology::GridShape;
using topology::kNone;
using topology::PortIndex;
using topology::RouterId;

namespace {

constexpr std::uint32_t kViasPerFlow = 4;

const GridShape* plain_grid(const machine::Machine& m) {
  auto* grid = m.graph->shape_as<GridShape>();
  bool plain = grid && dynamic_cast<const routing::DimensionOrder*>(m.routing.get()) && grid->parallel == 1 &&
               grid->attached_to.empty() && !m.faults->any();
  return plain ? grid : nullptr;
}

void add_share(std::vector<Share>& out, std::size_t begin, LinkId link, std::uint32_t weight) {
  for (std::size_t i = begin; i < out.size(); ++i)
    if (out[i].link == link) {
      out[i].weight += weight;
      return;
    }
  out.push_back({link, weight});
}

}  // namespace

RouteMaker::RouteMaker(const machine::Machine& m, const Links& links)
    : graph_(*m.graph),
      routing_(*m.routing),
      links_(links),
      grid_(plain_grid(m)),
      tree_(m.faults->any() ? nullptr : dynamic_cast<const routing::FatTree*>(m.routing.get())),
      vias_(m.routing->via_count()),
      chooses_(m.routing->via_count() > 0 && m.routing->may_go_direct()),
      escape_(m.routing->has_escape()),
      passes_once_(m.routing->via_count() == 0 && !m.routing->uses_input()),
      several_classes_(m.routing->classes() > 1),
      uses_input_(m.routing->uses_input()) {}

bool RouteMaker::route(EndpointId from, EndpointId to, const std::uint32_t* load, Scratch& scratch,
                       std::vector<Share>& out) const {
  scratch.load = load;
  out.clear();
  out.push_back({links_.injection(from), kWhole});
  bool arrives = true;
  RouterId source = graph_.endpoint_router(from), goal = graph_.endpoint_router(to);
  if (routing_.faults().router_dead(source) || routing_.faults().router_dead(goal)) return false;
  if (source == goal) {
    // nothing to cross but the router
  } else if (grid_) {
    walk_grid(source, goal, out);
  } else if (vias_ == 0) {
    arrives = walk(from, to, kWhole, kNone, scratch, out);
  } else {
    auto via = [&](std::uint32_t i) {
      return routing::draw_via(routing_, source, goal, std::uint64_t{from} << 32 | to, i, 0x76696173);
    };
    if (!chooses_) {
      for (std::uint32_t i = 0; i < kViasPerFlow && arrives; ++i)
        arrives = walk(from, to, kWhole / kViasPerFlow, via(i), scratch, out);
    } else {
      bool straight = !routing_.vias() || routing_.vias()->direct(source, goal);
      arrives = straight && walk(from, to, kWhole, kNone, scratch, out);
      std::vector<Share>& other = scratch.other;
      other.assign(1, out.front());
      if (!arrives) out.resize(1);  // what an attempt has left
      if ((load || !arrives) && walk(from, to, kWhole, via(0), scratch, other) &&
          (!arrives || crowding(other, load) < crowding(out, load))) {
        out.swap(other);
        arrives = true;
      }
    }
  }
  out.push_back({links_.ejection(to), kWhole});
  return arrives;
}

// As UGAL has it: how crowded the worst link is, times the length of the way.
double RouteMaker::crowding(const std::vector<Share>& route, const std::uint32_t* load) const {
  double worst = 0, length = 0;
  for (std::size_t i = 1; i < route.size(); ++i) {  // the injection is the same for all
    worst = std::max(worst, (load[route[i].link] + route[i].weight) / links_.capacity(route[i].link));
    length += route[i].weight;
  }
  return worst * length;
}

std::int64_t RouteMaker::delay_ps(const std::vector<Share>& route) const {
  std::int64_t sum = 0;
  for (const Share& s : route) sum += s.weight * links_.delay_ps(s.link);
  return sum / kWhole;
}

bool RouteMaker::walk(EndpointId from, EndpointId to, std::uint32_t weight, std::uint32_t via,
                      Scratch& scratch, std::vector<Share>& out) const {
  constexpr unsigned kTooLong = 100'000;
  RouterId goal = graph_.endpoint_router(to);
  Hop start{graph_.endpoint_router(from), kInjected, 0, via != kNone, via != kNone ? via : to};
  scratch.now.assign(1, {start, weight});
  for (unsigned steps = 0; !scratch.now.empty(); ++steps) {
    WEFT_CHECK(steps < kTooLong, fmt::format("a route from endpoint {} to {} does not end", from, to));
    scratch.next.clear();
    for (Scratch::Part& part : scratch.now) {
      if (part.hop.via_leg && routing_.via_reached(part.hop.router, part.hop.target))
        part.hop = {part.hop.router, kInjected, 0, false, to, true};
      if (!part.hop.via_leg && part.hop.router == goal) continue;
      if (!spread(part, from, to, scratch, out)) return false;
    }
    scratch.now.swap(scratch.next);
  }
  return true;
}

// Channels do not matter to a fluid: one way for each port, and escape channels only where nothing else is.
std::uint32_t RouteMaker::one_for_each_port(Scratch& scratch) const {
  scratch.ways.clear();
  if (scratch.port_seen.empty()) scratch.port_seen.resize(std::size_t{1} << 16);
  ++scratch.look;
  auto collect = [&](bool escape) {
    for (const routing::Candidate& c : scratch.candidates) {
      if (escape_ && routing_.is_escape(c.channel_class) != escape) continue;
      if (scratch.port_seen[c.port] == scratch.look) continue;
      scratch.port_seen[c.port] = scratch.look;
      scratch.ways.push_back(c);
    }
  };
  collect(false);
  if (scratch.ways.empty() && escape_) collect(true);
  return static_cast<std::uint32_t>(scratch.ways.size());
}

// One step of a part: over all ports it may take.
bool RouteMaker::spread(const Scratch::Part& part, EndpointId from, EndpointId to, Scratch& scratch,
                        std::vector<Share>& out) const {
  routing::Candidates& all = scratch.candidates;
  const routing::Candidate* listed = all.begin();
  std::uint32_t count = 0;
  routing::FatTree::PortChoice formula{};
  if (tree_) {
    formula = tree_->choice(part.hop.router, to);
    count = formula.offered;
  } else {
    all.clear();
    routing_.candidates(part.hop, all);
    count = static_cast<std::uint32_t>(all.size());
    if (several_classes_) {
      count = one_for_each_port(scratch);
      listed = scratch.ways.data();
    }
  }
  auto way = [&](std::uint32_t i) { return tree_ ? routing::Candidate{formula.port(i), 0} : listed[i]; };
  if (count == 0) return false;

  std::uint32_t first = count == 1 ? 0 : routing::spread_choice(from ^ (part.hop.router << 16), to, count);
  if (scratch.load &&
      count > 1) {  // each part by the way that is least loaded then, as a router does with packets
    scratch.given.assign(count, 0);
    scratch.crowds.resize(count);
    auto look_at = [&](std::uint32_t k) {
      const LinkId link = graph_.port(part.hop.router, way(k).port);
      scratch.crowds[k] = (scratch.load[link] + scratch.given[k]) / links_.capacity(link);
    };
    for (std::uint32_t k = 0; k < count; ++k) look_at(k);
    for (std::uint32_t i = 0; i < part.weight; ++i) {
      std::uint32_t best = first;
      for (std::uint32_t k = first, seen = 0; seen < count; ++seen, k = k + 1 == count ? 0 : k + 1)
        if (scratch.crowds[k] < scratch.crowds[best]) best = k;
      ++scratch.given[best];
      look_at(best);
    }
    for (std::uint32_t k = 0; k < count; ++k)
      if (scratch.given[k] > 0) go(part, way(k), scratch.given[k], scratch, out);
    return true;
  }
  std::uint32_t used = std::min(count, part.weight);
  for (std::uint32_t i = 0; i < used; ++i)
    go(part, way(static_cast<std::uint32_t>((first + std::uint64_t{i} * count / used) % count)),
       part.weight / used + (i < part.weight % used), scratch, out);
  return true;
}

// So much of a part goes one way.
void RouteMaker::go(const Scratch::Part& part, const routing::Candidate& way, std::uint32_t weight,
                    Scratch& scratch, std::vector<Share>& out) const {
  topology::PortId port = graph_.port(part.hop.router, way.port), peer = graph_.peer(port);
  if (passes_once_)
    out.push_back({port, weight});
  else
    add_share(out, 1, port, weight);
  Hop hop{graph_.port_router(peer), static_cast<PortIndex>(uses_input_ ? graph_.port_index(peer) : 0),
          way.channel_class,        part.hop.via_leg,
          part.hop.target,          part.hop.second_leg};
  for (Scratch::Part& other : scratch.next)
    if (other.hop.router == hop.router && other.hop.in_class == hop.in_class &&
        other.hop.via_leg == hop.via_leg && other.hop.second_leg == hop.second_leg &&
        other.hop.in_port == hop.in_port) {
      other.weight += weight;
      return;
    }
  scratch.next.push_back({hop, weight});
}

void RouteMaker::walk_grid(RouterId at, RouterId goal, std::vector<Share>& out) const {
  for (unsigned d = 0; d < grid_->dimensions.size(); ++d) {
    const GridShape::Dimension& dimension = grid_->dimensions[d];
    std::uint32_t place = grid_->coordinate(at, d);
    GridShape::Step step = grid_->step(d, place, grid_->coordinate(goal, d));
    if (step.hops == 0) continue;
    bool plus = step.tie ? grid_->tie_goes_plus(d, at, goal) : step.plus;
    PortIndex port = plus ? dimension.plus : dimension.minus;
    RouterId around = (dimension.length - 1) * dimension.stride;
    for (std::uint32_t i = 0; i < step.hops; ++i) {
      out.push_back({graph_.port_begin(at) + port, kWhole});
      if (plus) {
        bool wraps = ++place == dimension.length;
        place = wraps ? 0 : place;
        at = wraps ? at - around : at + dimension.stride;
      } else {
        bool wraps = place == 0;
        place = wraps ? dimension.length - 1 : place - 1;
        at = wraps ? at + around : at - dimension.stride;
      }
    }
  }
}

}  // namespace weft::network::flow
