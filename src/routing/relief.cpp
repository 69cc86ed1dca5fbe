#include "routing/relief.hpp"

#include <algorithm>
#include <compare>
#include <queue>

namespace weft::routing {

namespace {

constexpr double kNearMean = 1.05;
constexpr std::uint64_t kMostSteps = 1u << 27;  // below a second

class Relief {
 public:
  Relief(const Graph& graph, const topology::Faults& faults, const DestinationRouters& destinations,
         RouteTables& tables)
      : graph_(graph), faults_(faults), destinations_(destinations), tables_(tables) {
    std::uint64_t sum = 0, cables = 0;
    for (PortId p = 0; p < graph_.ports(); ++p) {
      if (!faults_.usable(graph_, p)) continue;
      sum += tables_.load[p];
      ++cables;
      queue(p);
    }
    near_mean_ =
        kNearMean * static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(1, cables));
  }

  void run() {
    while (!busy_.empty() && steps_ < kMostSteps) {
      PortId hot = busiest();
      if (static_cast<double>(tables_.load[hot]) <= near_mean_ || !relieve(hot)) return;
    }
  }

 private:
  struct Busy {
    std::uint64_t load;
    PortId port_below;  // the complement: of equals, the first port is on top
    auto operator<=>(const Busy&) const = default;
  };

  void queue(PortId p) { busy_.push({tables_.load[p], ~p}); }

  PortIndex& next(RouterId r, std::uint32_t column) {
    return tables_.next[std::uint64_t{r} * destinations_.routers.size() + column];
  }

  RouterId after(RouterId r, PortIndex port) const {
    return graph_.port_router(graph_.peer(graph_.port(r, port)));
  }

  /// Of equals the first. What the queue holds may be old: a port that got busier is in it again.
  PortId busiest() {
    while (tables_.load[first_port()] != busy_.top().load) busy_.pop();
    return first_port();
  }

  PortId first_port() const { return ~busy_.top().port_below; }

  bool relieve(PortId hot) {
    RouterId r = graph_.port_router(hot);
    for (std::uint32_t column = 0; column < destinations_.routers.size(); ++column)
      if (next(r, column) == graph_.port_index(hot) && relieve_of(hot, column)) return true;
    return false;
  }

  /// Of what is sent to one destination: all that leaves by the port first, then what comes from each router
  /// that sends through here, however far.
  bool relieve_of(PortId hot, std::uint32_t column) {
    gather_upstream(graph_.port_router(hot), column);
    std::vector<RouterId> turning = upstream_;
    return std::any_of(turning.begin(), turning.end(), [&](RouterId r) { return turn(r, column, hot); });
  }

  /// The router and all whose routes to this destination pass it, nearest first.
  void gather_upstream(RouterId from, std::uint32_t column) {
    upstream_.assign(1, from);
    for (std::size_t i = 0; i < upstream_.size(); ++i) {
      RouterId at = upstream_[i];
      for (PortId p = graph_.port_begin(at); p < graph_.port_begin(at + 1); ++p) {
        ++steps_;
        if (!faults_.usable(graph_, p)) continue;
        PortId back = graph_.peer(p);
        RouterId r = graph_.port_router(back);
        if (next(r, column) == graph_.port_index(back)) upstream_.push_back(r);
      }
    }
  }

  /// Pairs of endpoints that pass a router on their way to the destination, its own among them.
  std::uint64_t passing(RouterId r, std::uint32_t column) {
    gather_upstream(r, column);
    std::uint64_t endpoints = 0;
    for (RouterId u : upstream_) endpoints += graph_.endpoint_count(u);
    return endpoints * graph_.endpoint_count(destinations_.routers[column]);
  }

  void route(RouterId r, PortIndex first, std::uint32_t column, std::vector<PortId>& out) {
    out.clear();
    for (PortIndex port = first;; port = next(r, column)) {
      out.push_back(graph_.port(r, port));
      r = after(r, port);
      ++steps_;
      if (r == destinations_.routers[column]) return;
    }
  }

  bool turn(RouterId r, std::uint32_t column, PortId hot) {
    PortIndex now = next(r, column);
    route(r, now, column, old_);
    std::uint64_t moved = passing(r, column);
    for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p) {
      PortIndex port = graph_.port_index(p);
      if (port == now || !faults_.usable(graph_, p)) continue;
      RouterId then = after(r, port);
      bool arrives = then == destinations_.routers[column];
      if (!arrives && next(then, column) == kNoRoute) continue;
      route(r, port, column, new_);
      if (new_.size() != old_.size() || !bearable(moved, hot)) continue;
      move(moved);
      next(r, column) = port;
      return true;
    }
    return false;
  }

  bool bearable(std::uint64_t moved, PortId hot) const {
    return std::all_of(new_.begin(), new_.end(), [&](PortId p) {
      bool stays = std::find(old_.begin(), old_.end(), p) != old_.end();
      return stays ? p != hot : tables_.load[p] + moved < tables_.load[hot];
    });
  }

  void move(std::uint64_t moved) {
    for (PortId p : old_) tables_.load[p] -= moved;
    for (PortId p : new_) tables_.load[p] += moved;
    for (PortId p : old_) queue(p);
    for (PortId p : new_) queue(p);
  }

  const Graph& graph_;
  const topology::Faults& faults_;
  const DestinationRouters& destinations_;
  RouteTables& tables_;
  double near_mean_ = 0;  // moving keeps the sum: routes stay as long as they are
  std::uint64_t steps_ = 0;
  std::priority_queue<Busy> busy_;
  std::vector<RouterId> upstream_;
  std::vector<PortId> old_, new_;
};

}  // namespace

void relieve_busiest_cables(const Graph& graph, const topology::Faults& faults,
                            const DestinationRouters& destinations, RouteTables& tables) {
  if (graph.ports() > 0) Relief(graph, faults, destinations, tables).run();
}

}  // namespace weft::routing
