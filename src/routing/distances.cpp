#include "routing/distances.hpp"

#include <fmt/format.h>

#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"

namespace weft::routing {

void distances_to(const Graph& graph, const topology::Faults& faults, RouterId to,
                  std::vector<std::uint16_t>& out, std::vector<RouterId>& queue) {
  out.assign(graph.routers(), kUnreachable);
  queue.clear();
  if (faults.router_dead(to)) return;
  out[to] = 0;
  queue.push_back(to);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    RouterId r = queue[i];
    for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p) {
      if (!faults.usable(graph, p)) continue;
      RouterId next = graph.port_router(graph.peer(p));
      if (out[next] != kUnreachable) continue;
      out[next] = static_cast<std::uint16_t>(out[r] + 1);
      queue.push_back(next);
    }
  }
}

DestinationRouters::DestinationRouters(const Graph& graph) : index(graph.routers(), kNone) {
  for (RouterId r = 0; r < graph.routers(); ++r)
    if (graph.endpoint_count(r) > 0) {
      index[r] = static_cast<std::uint32_t>(routers.size());
      routers.push_back(r);
    }
}

std::uint32_t spread_choice(std::uint32_t a, std::uint32_t b, std::uint32_t choices) {
  std::uint64_t mixed = (std::uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint32_t>((mixed >> 32) % choices);
}

void check_table_bytes(double bytes, const char* what) {
  constexpr double limit = 12.0 * (1ull << 30);
  if (bytes > limit)
    throw UserError(
        fmt::format("routing.kind: {} of this machine would take {:.0f} GiB; a routing computed from "
                    "coordinates, or a smaller machine, is needed",
                    what, bytes / (1ull << 30)));
  require_memory(bytes, std::string("routing.kind: ") + what + " of this machine",
                 "a routing computed from coordinates needs none, and a smaller machine less");
}

}  // namespace weft::routing
