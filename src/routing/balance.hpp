// How evenly a routing loads the cables of a machine under uniform traffic: every endpoint sends the same to
// every other one, and a router that may choose shares out evenly. Gathered beside the proof, target by
// target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routing/states.hpp"

namespace weft::routing {

/// Cables between two ranks of routers, or along one dimension of a grid, one way.
struct TierBalance {
  std::string name;          // "frame lower to frame upper", "dimension 0"
  std::uint64_t cables = 0;  // living ones
  std::uint64_t idle = 0;    // ... that no packet ever crosses
  double busiest = 1;        // the most loaded over the mean
};

/// Loads are whole numbers, so that sums do not depend on the order of additions.
class LoadMap {
 public:
  explicit LoadMap(const Routing& routing);
  /// What sources send to an intermediate place, where no packet goes without one.
  void add_first_leg(const StateExplorer& explorer, std::uint32_t via, const std::vector<RouterId>& sources);
  /// What is sent to a destination that stands for so many endpoints; `first_legs` where those of all places
  /// have been added.
  void add_destination(const StateExplorer& explorer, EndpointId to, std::uint32_t endpoints,
                       const std::vector<RouterId>& starts, const LoadMap* first_legs);
  void merge(const LoadMap& other);
  std::vector<TierBalance> by_tier() const;

 private:
  using Load = std::uint64_t;
  static constexpr Load kPacket = 1u << 16;  // fine enough to be shared out many times

  void inject(const StateExplorer& explorer, RouterId r, Load load);
  void flow(const StateExplorer& explorer, bool first_leg);

  const Routing& routing_;
  const Graph& graph_;
  bool always_by_place_;
  std::vector<Load> load_;      // by sending port
  std::vector<Load> arrivals_;  // by router: where first legs end
  std::vector<Load> at_;        // by state, of the target at hand
};

}  // namespace weft::routing
