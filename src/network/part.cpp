#include "network/part.hpp"

namespace weft::network {

using topology::Graph;
using topology::RouterId;

Part part_of(const Graph& graph, unsigned rank, unsigned count) {
  const auto border = [&](unsigned r) {
    return static_cast<RouterId>(std::uint64_t{graph.routers()} * r / count);
  };
  Part out;
  out.routers = {border(rank), border(rank + 1)};
  out.ports = {graph.port_begin(border(rank)), graph.port_begin(border(rank + 1))};
  // Endpoints are numbered in the order of their routers.
  for (RouterId r = 0; r < out.routers.begin; ++r) out.endpoints.begin += graph.endpoint_count(r);
  out.endpoints.end = out.endpoints.begin;
  for (std::size_t r = out.routers.begin; r < out.routers.end; ++r)
    out.endpoints.end += graph.endpoint_count(static_cast<RouterId>(r));
  return out;
}

}  // namespace weft::network
