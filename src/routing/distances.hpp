// Shortest distances on what is left of a graph, counted in cables crossed.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/routing.hpp"

namespace weft::routing {

inline constexpr std::uint16_t kUnreachable = 0xffff;

/// Distances of all routers to one, into `out` (one entry per router; `queue` is scratch).
void distances_to(const Graph& graph, const topology::Faults& faults, RouterId to,
                  std::vector<std::uint16_t>& out, std::vector<RouterId>& queue);

/// Routers that carry endpoints, numbered; tables have one column for each.
struct DestinationRouters {
  explicit DestinationRouters(const Graph& graph);
  std::vector<RouterId> routers;
  std::vector<std::uint32_t> index;  // by router; kNone where it carries no endpoint
};

/// Spreads (a, b) evenly over a few choices, always the same way.
std::uint32_t spread_choice(std::uint32_t a, std::uint32_t b, std::uint32_t choices);

/// Refuses tables that would not fit: throws UserError naming the bytes.
void check_table_bytes(double bytes, const char* what);

}  // namespace weft::routing
