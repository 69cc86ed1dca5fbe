// The way of a flow as links and the share of the flow that each carries.
//
// Where a routing offers several ways, a flow splits among them: evenly, or, where the load of the links is
// known, toward those that carry least. It is cut into 16 equal parts that walk the routing relation
// together; parts that meet again are one again. So shares are small integers that add up exactly, and no
// flow has more than 16 ways at once.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flow/links.hpp"
#include "topology/grid_shape.hpp"

namespace weft::routing {
class FatTree;
}

namespace weft::network::flow {

inline constexpr std::uint32_t kWhole = 16;

/// `weight` of kWhole parts of a flow cross `link`.
struct Share {
  LinkId link;
  std::uint32_t weight;
};

class RouteMaker {
 public:
  RouteMaker(const machine::Machine& machine, const Links& links);

  /// Does the source choose its way by the load it finds (UGAL)? Then `load` must be given.
  bool needs_load() const { return chooses_; }

  struct Scratch {
    struct Part {
      routing::Hop hop;
      std::uint32_t weight;
    };
    routing::Candidates candidates;
    std::vector<Part> now, next;
    std::vector<routing::Candidate> ways;
    std::vector<Share> other;
    std::vector<std::uint32_t> port_seen;  // by port of a router: `look` where it is among the ways already
    std::uint32_t look = 0;
    const std::uint32_t* load = nullptr;  // by link, where it is known
    std::vector<std::uint32_t> given;     // by way
    std::vector<double> crowds;           // by way: how crowded it is
  };

  /// Fills `out` with the shares of all links, injection first. False: there is no way. `load`, by link: the
  /// weights of the flows that use it now.
  bool route(EndpointId from, EndpointId to, const std::uint32_t* load, Scratch& scratch,
             std::vector<Share>& out) const;

  /// Mean delay over the ways, from the first byte's start to its arrival.
  std::int64_t delay_ps(const std::vector<Share>& route) const;

 private:
  bool walk(EndpointId from, EndpointId to, std::uint32_t weight, std::uint32_t via, Scratch& scratch,
            std::vector<Share>& out) const;
  bool spread(const Scratch::Part& part, EndpointId from, EndpointId to, Scratch& scratch,
              std::vector<Share>& out) const;
  void go(const Scratch::Part& part, const routing::Candidate& way, std::uint32_t weight, Scratch& scratch,
          std::vector<Share>& out) const;
  std::uint32_t one_for_each_port(Scratch& scratch) const;
  void walk_grid(topology::RouterId from, topology::RouterId to, std::vector<Share>& out) const;
  double crowding(const std::vector<Share>& route, const std::uint32_t* load) const;

  const topology::Graph& graph_;
  const routing::Routing& routing_;
  const Links& links_;
  const topology::GridShape* grid_ = nullptr;  // dimension order on a plain grid: the way is a formula
  const routing::FatTree* tree_ = nullptr;     // a whole tree: ways need not be listed to take a few
  std::uint32_t vias_ = 0;                     // intermediate places of the routing
  bool chooses_ = false, escape_ = false;
  bool passes_once_ = false;  // parts that meet at a router go on as one, so no link comes twice
  bool several_classes_ = false, uses_input_ = false;
};

}  // namespace weft::network::flow
