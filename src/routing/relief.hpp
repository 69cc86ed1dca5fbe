// Moves routes of shortest-path tables off the busiest cables.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/distances.hpp"

namespace weft::routing {

inline constexpr PortIndex kNoRoute = 0xffff;

/// Tables under construction: one for each router, a column for each destination router.
struct RouteTables {
  std::vector<PortIndex> next;      // [router][destination]; kNoRoute where there is none
  std::vector<std::uint64_t> load;  // by sending port: pairs of endpoints whose route crosses it
};

/// Takes the busiest cable and moves one of its routes to another shortest path on which no cable becomes as
/// busy; again, until the busiest is near the mean, nothing can be moved, or enough was tried (a bound on
/// steps, not on time: the same tables everywhere).
void relieve_busiest_cables(const Graph& graph, const topology::Faults& faults,
                            const DestinationRouters& destinations, RouteTables& tables);

}  // namespace weft::routing
