#include "routing/up_down.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "routing/kind.hpp"

namespace weft::routing {

UpDown::UpDown(const Graph& graph, const topology::Faults& faults, RouterId root, bool all_paths)
    : Routing(graph, faults), all_paths_(all_paths), levels_(graph, faults, root), destinations_(graph) {
  check_table_bytes(4.0 * static_cast<double>(destinations_.routers.size()) * graph.routers(),
                    "up*/down* tables");
  fill_tables();
}

UpDownLevels::UpDownLevels(const Graph& graph, const topology::Faults& faults, RouterId root)
    : graph_(graph), faults_(faults) {
  if (root == kNone) root = most_central_router();
  std::vector<RouterId> queue;
  distances_to(graph, faults, root, level_, queue);
  root_other_pieces();
}

// Faults may leave the network in pieces; each has a root of its own, so that those within it can still talk.
void UpDownLevels::root_other_pieces() {
  std::vector<std::uint16_t> piece;
  std::vector<RouterId> queue;
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    if (level_[r] != kUnreachable || faults_.router_dead(r)) continue;
    distances_to(graph_, faults_, r, piece, queue);
    for (RouterId member : queue) level_[member] = piece[member];
  }
}

RouterId UpDownLevels::most_central_router() const {
  // Two sweeps find the ends of a longest shortest path; its middle is central on trees and close to it
  // elsewhere.
  std::vector<std::uint16_t> from_a, from_b;
  std::vector<RouterId> queue;
  RouterId start = 0;
  while (start + 1 < graph_.routers() && faults_.router_dead(start)) ++start;
  distances_to(graph_, faults_, start, from_a, queue);
  RouterId a = queue.empty() ? start : queue.back();
  distances_to(graph_, faults_, a, from_a, queue);
  RouterId b = queue.empty() ? a : queue.back();
  distances_to(graph_, faults_, b, from_b, queue);
  RouterId best = a;
  auto worst = [&](RouterId r) { return std::max(from_a[r], from_b[r]); };
  for (RouterId r = 0; r < graph_.routers(); ++r)
    if (worst(r) < worst(best) || (worst(r) == worst(best) && graph_.port_count(r) > graph_.port_count(best)))
      best = r;
  return best;
}

bool UpDownLevels::leads_up(PortId p) const {
  RouterId from = graph_.port_router(p), to = graph_.port_router(graph_.peer(p));
  return above(to, from);
}

bool UpDown::came_down(RouterId router, PortIndex in_port) const {
  return levels_.leads_up(graph_.port(router, in_port));
}

void UpDown::fill_tables() {
  const std::uint32_t routers = graph_.routers();
  down_.assign(destinations_.routers.size() * routers, kUnreachable);
  any_.assign(destinations_.routers.size() * routers, kUnreachable);
  std::vector<std::uint16_t> longest(destinations_.routers.size(), 0);
  parallel_for(destinations_.routers.size(), default_threads(), [&](unsigned, std::uint64_t d) {
    RouterId to = destinations_.routers[d];
    if (faults_.router_dead(to)) return;
    std::uint16_t* down = &down_[d * routers];
    std::uint16_t* any = &any_[d * routers];
    // Backwards from the destination: descents first, then climbs that precede a descent.
    std::vector<RouterId> queue{to};
    down[to] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (PortId p = graph_.port_begin(queue[i]); p < graph_.port_begin(queue[i] + 1); ++p)
        if (faults_.usable(graph_, p) && levels_.leads_up(p))
          if (RouterId above = graph_.port_router(graph_.peer(p)); down[above] == kUnreachable) {
            down[above] = static_cast<std::uint16_t>(down[queue[i]] + 1);
            queue.push_back(above);
          }
    // A router's path is its descent or a climb to one above it: settle routers from the root downwards.
    std::vector<RouterId> order(routers);
    for (RouterId r = 0; r < routers; ++r) order[r] = r;
    std::sort(order.begin(), order.end(), [&](RouterId a, RouterId b) { return levels_.above(a, b); });
    for (RouterId r : order) {
      any[r] = down[r];
      for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p)
        if (faults_.usable(graph_, p) && levels_.leads_up(p))
          if (std::uint16_t above = any[graph_.port_router(graph_.peer(p))]; above != kUnreachable)
            any[r] = std::min(any[r], static_cast<std::uint16_t>(above + 1));
      if (any[r] != kUnreachable) longest[d] = std::max(longest[d], any[r]);
    }
  });
  for (std::uint16_t hops : longest) longest_ = std::max<std::uint32_t>(longest_, hops);
}

void UpDown::candidates(const Hop& hop, Candidates& out) const {
  out.clear();
  bool descending = hop.in_port != kInjected && came_down(hop.router, hop.in_port);
  offer(hop.router, descending, hop.target, 0, out);
}

void UpDown::offer(RouterId router, bool descending, EndpointId to, ChannelClass cls, Candidates& out) const {
  std::size_t row = std::size_t{destinations_.index[graph_.endpoint_router(to)]} * graph_.routers();
  const std::uint16_t* down = &down_[row];
  const std::uint16_t* any = &any_[row];
  std::uint16_t left = descending ? down[router] : any[router];
  if (left == kUnreachable) return;
  PortIndex found[Candidates::kMax];
  std::uint32_t count = 0;
  for (PortId p = graph_.port_begin(router); p < graph_.port_begin(router + 1); ++p) {
    if (!faults_.usable(graph_, p)) continue;
    RouterId next = graph_.port_router(graph_.peer(p));
    bool up = levels_.leads_up(p);
    bool good = up ? !descending && any[next] != kUnreachable && any[next] + 1 == left
                   : down[next] != kUnreachable && down[next] + 1 == left;
    if (good && count < Candidates::kMax) found[count++] = graph_.port_index(p);
  }
  if (count == 0) return;
  if (all_paths_) {
    for (std::uint32_t i = 0; i < count; ++i) out.add(found[i], cls);
  } else {
    out.add(found[spread_choice(router, graph_.endpoint_router(to), count)], cls);
  }
}

namespace {

enum class Paths { One, All };

struct Parameters {
  std::int64_t root = -1;
  Paths paths = Paths::One;
};

std::string refusal(const Parameters& p, const Graph& graph) {
  return p.root >= graph.routers() ? fmt::format("there is no router {} to be the root", p.root) : "";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<UpDown>(graph, faults, p.root < 0 ? kNone : static_cast<RouterId>(p.root),
                                  p.paths == Paths::All);
}

WEFT_REGISTER(RoutingKind,
              routing_kind<Parameters>(
                  "up-down",
                  "climb toward a root, then descend, on any graph; routes around dead cables and routers",
                  config::Schema<Parameters>()
                      .field(&Parameters::root, "root", "Router at the top; -1: the most central one",
                             config::Range<std::int64_t>{-1, 0xffff'fffe})
                      .choice(&Parameters::paths, "paths",
                              "Offer one shortest legal path, which keeps packets in order, or all of them",
                              {"one", "all"})
                      .section(),
                  refusal, make, {{"paths=all"}}));

}  // namespace

}  // namespace weft::routing
