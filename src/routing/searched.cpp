// Shortest ways searched when they are asked for: no tables, so that a graph without regularity may have a
// million endpoints.
//
// Around the destination a ball of some thousand ports is measured; from where the packet stands, a
// second search goes out until it meets the ball. In a random graph both have about the square root of the
// routers in them. In a graph that is wide rather than dense they do not meet within a few steps; then the
// ball grows over the whole graph, once for each destination. What was measured for the last destination is
// kept, so asking in the order of destinations is cheap.
#include <algorithm>
#include <atomic>

#include "routing/distances.hpp"
#include "routing/kind.hpp"

namespace weft::routing {

namespace {

struct Parameters {};

/// What a thread has measured for the destination it asked for last.
struct Search {
  std::uint64_t owner = 0;  // which routing
  RouterId goal = kNone;
  std::vector<std::uint32_t> stamp;     // by router: `epoch` where `distance` is known
  std::vector<std::uint16_t> distance;  // to the goal
  std::vector<std::uint32_t> seen;      // by router: `look` where the second search has been
  std::vector<RouterId> ball, frontier, next;
  std::size_t level_begin = 0;  // routers of the ball's outermost level
  std::uint16_t radius = 0;
  std::uint32_t epoch = 0, look = 0;
};

class Searched final : public Routing {
 public:
  Searched(const Graph& graph, const topology::Faults& faults) : Routing(graph, faults) {
    static std::atomic<std::uint64_t> count{0};
    id_ = ++count;
    // A packet takes a new class at each hop, so there must be as many as the longest path has cables. Twice
    // the distance of the router farthest from the first is never too few; small graphs are measured.
    constexpr RouterId kSmall = 1024;
    std::vector<std::uint16_t> left;
    std::vector<RouterId> queue;
    for (RouterId r = 0; r < (graph.routers() <= kSmall ? graph.routers() : 1); ++r) {
      distances_to(graph, faults, r, left, queue);
      if (!queue.empty()) longest_ = std::max<std::uint32_t>(longest_, left[queue.back()]);
    }
    if (graph.routers() > kSmall) longest_ *= 2;
  }

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    Search& s = search_for(graph_.endpoint_router(hop.target));
    if (faults_.router_dead(hop.router)) return;
    std::uint32_t left = distance(s, hop.router);
    if (left == kUnreachable) return;
    auto cls =
        static_cast<ChannelClass>(hop.in_port == kInjected ? 0 : std::min(hop.in_class + 1u, classes() - 1));
    for (PortId p = graph_.port_begin(hop.router); p < graph_.port_begin(hop.router + 1); ++p)
      if (faults_.usable(graph_, p) && is_at(s, graph_.port_router(graph_.peer(p)), left - 1))
        out.add(graph_.port_index(p), cls);
  }

  unsigned classes() const override { return std::clamp(longest_, 1u, kMostClasses); }
  bool uses_input() const override { return true; }
  bool claims_deadlock_free() const override { return longest_ <= kMostClasses; }

 private:
  static constexpr std::uint32_t kMostClasses = 255;
  // Ports looked at around the goal: more where more endpoints share the work.
  static constexpr std::size_t kBall = 4096, kBallPerEndpoint = 256;
  static constexpr std::uint32_t kSteps = 3;  // of the second search

  Search& search_for(RouterId goal) const {
    thread_local Search s;
    if (s.owner == id_ && s.goal == goal) return s;
    if (s.owner != id_) {
      s = {};
      s.owner = id_;
      s.stamp.assign(graph_.routers(), 0);
      s.distance.assign(graph_.routers(), 0);
      s.seen.assign(graph_.routers(), 0);
    }
    s.goal = goal;
    ++s.epoch;
    s.ball.clear();
    s.radius = 0;
    s.level_begin = 0;
    if (faults_.router_dead(goal)) return s;
    s.ball.push_back(goal);
    s.stamp[goal] = s.epoch;
    s.distance[goal] = 0;
    std::size_t ends = 0, most = std::max(kBall, kBallPerEndpoint * graph_.endpoint_count(goal));
    while (s.level_begin < s.ball.size()) {
      std::size_t more = 0;
      for (std::size_t i = s.level_begin; i < s.ball.size(); ++i) more += graph_.port_count(s.ball[i]);
      if (ends + more > most) break;
      ends += more;
      grow(s);
    }
    return s;
  }

  void grow(Search& s) const {
    std::size_t end = s.ball.size();
    ++s.radius;
    for (std::size_t i = s.level_begin; i < end; ++i)
      for (PortId p = graph_.port_begin(s.ball[i]); p < graph_.port_begin(s.ball[i] + 1); ++p) {
        if (!faults_.usable(graph_, p)) continue;
        RouterId next = graph_.port_router(graph_.peer(p));
        if (s.stamp[next] == s.epoch) continue;
        s.stamp[next] = s.epoch;
        s.distance[next] = s.radius;
        s.ball.push_back(next);
      }
    s.level_begin = end;
  }

  /// Cables from a router to the goal.
  std::uint32_t distance(Search& s, RouterId from) const {
    if (s.stamp[from] == s.epoch) return s.distance[from];
    if (s.level_begin == s.ball.size()) return kUnreachable;  // the ball cannot grow and does not hold it
    ++s.look;
    s.frontier.assign(1, from);
    s.seen[from] = s.look;
    for (std::uint32_t steps = 1; !s.frontier.empty() && steps <= kSteps; ++steps) {
      s.next.clear();
      for (RouterId r : s.frontier)
        for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p) {
          if (!faults_.usable(graph_, p)) continue;
          RouterId next = graph_.port_router(graph_.peer(p));
          if (s.stamp[next] == s.epoch)
            return steps + s.radius;  // the ball is met at its outermost level first
          if (s.seen[next] == s.look) continue;
          s.seen[next] = s.look;
          s.next.push_back(next);
        }
      s.frontier.swap(s.next);
    }
    while (s.level_begin < s.ball.size()) grow(s);
    return s.stamp[from] == s.epoch ? s.distance[from] : kUnreachable;
  }

  /// Is a router so many cables from the goal? It is not nearer: it is a neighbour of one that is one cable
  /// further.
  bool is_at(Search& s, RouterId r, std::uint32_t left) const {
    if (s.stamp[r] == s.epoch) return s.distance[r] == left;
    if (left <= s.radius) return false;
    return reaches(s, r, left - s.radius);
  }

  /// Can the ball be met in so many steps?
  bool reaches(const Search& s, RouterId r, std::uint32_t steps) const {
    for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p) {
      if (!faults_.usable(graph_, p)) continue;
      RouterId next = graph_.port_router(graph_.peer(p));
      if (s.stamp[next] == s.epoch || (steps > 1 && reaches(s, next, steps - 1))) return true;
    }
    return false;
  }

  std::uint64_t id_;
  std::uint32_t longest_ = 0;  // no path has more cables
};

std::string refusal(const Parameters&, const Graph&) { return ""; }

std::unique_ptr<Routing> make(const Parameters&, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<Searched>(graph, faults);
}

WEFT_REGISTER(RoutingKind, routing_kind<Parameters>("searched",
                                                    "all shortest paths, searched as they are asked for: no "
                                                    "tables, for graphs of any size; a new class of channels "
                                                    "at each hop",
                                                    config::Schema<Parameters>().section(), refusal, make));

}  // namespace

}  // namespace weft::routing
