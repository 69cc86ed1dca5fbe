#include "machine/management_network.hpp"

#include <fmt/format.h>

#include <deque>

#include "base/diagnostics.hpp"

namespace weft::machine {

namespace {

using topology::EndpointId;
using topology::Graph;
using topology::kNone;
using topology::RouterId;

/// Levels of switches between the station and so many chips.
std::uint32_t levels(std::uint64_t chips, unsigned fan_out) {
  std::uint32_t out = 1;
  for (std::uint64_t reach = fan_out; reach < chips; reach *= fan_out) ++out;
  return out;
}

/// From one router to all others.
std::vector<std::uint32_t> distances(const Graph& graph, RouterId from) {
  std::vector<std::uint32_t> out(graph.routers(), kNone);
  std::deque<RouterId> ahead{from};
  out[from] = 0;
  while (!ahead.empty()) {
    const RouterId at = ahead.front();
    ahead.pop_front();
    for (topology::PortId p = graph.port_begin(at); p < graph.port_begin(at + 1); ++p) {
      if (graph.peer(p) == kNone) continue;
      std::uint32_t& hops = out[graph.port_router(graph.peer(p))];
      if (hops != kNone) continue;
      hops = out[at] + 1;
      ahead.push_back(graph.port_router(graph.peer(p)));
    }
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> management_hops(const Machine& machine) {
  const Description& d = machine.description;
  const RouterId routers = machine.graph->routers();
  const std::string prefix = "management.";
  // Nothing is sent by routes of its own: the way is the shortest.
  std::vector<std::string> settings{"routing.kind=shortest-path"};
  for (const config::Setting& s : d.settings)
    if (s.key.starts_with(prefix + "topology."))
      settings.push_back(s.key.substr(prefix.size()) + "=" + s.value);
  if (settings.size() == 1) return std::vector<std::uint32_t>(routers, levels(routers, d.management.fan_out));
  const Machine own = build_graph(describe_text("", d.files.empty() ? "" : d.files.front(), settings));
  const std::string key = prefix + "topology.kind";
  Diagnostics problems;
  if (own.graph->endpoints() < routers + 1)
    problems.add(
        d.origin(key), prefix + "topology",
        fmt::format("has {} endpoints; the station and every one of the machine's {} routers need one",
                    own.graph->endpoints(), routers));
  problems.throw_if_any();
  const std::vector<std::uint32_t> from_station = distances(*own.graph, own.graph->endpoint_router(0));
  std::vector<std::uint32_t> out;
  for (RouterId r = 0; r < routers; ++r) {
    const std::uint32_t hops = from_station[own.graph->endpoint_router(static_cast<EndpointId>(r + 1))];
    if (hops == kNone)
      problems.add(d.origin(key), prefix + "topology",
                   fmt::format("has no way to the place of router r{}", r));
    problems.throw_if_any();
    out.push_back(hops + 1);
  }
  return out;
}

}  // namespace weft::machine
