#include "network/flow/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"

namespace weft::network::flow {

using topology::CableId;
using topology::kNone;

namespace {

/// Bits of a flit on a cable, with what the link adds to each.
double wire_bits(const machine::Machine& m) {
  const auto& router = m.description.router;
  return static_cast<double>(router.flit.value) * 8 + router.flit_overhead_bits;
}

/// A flit's time at a port: the router's clock, or the fastest cable there is.
double port_cycle_ps(const machine::Machine& m) {
  const auto& router = m.description.router;
  if (router.clock.value > 0) return 1e12 / static_cast<double>(router.clock.value);
  std::int64_t fastest = 0;
  for (CableId c = 0; c < m.graph->cables(); ++c)
    fastest = std::max(fastest, m.graph->cable_type(c).rate().value);
  if (fastest == 0) fastest = m.graph->cable_types().front().rate().value;
  return wire_bits(m) * 1e12 / static_cast<double>(fastest);
}

}  // namespace

Links::Links(const machine::Machine& m)
    : graph_(*m.graph),
      ports_(m.graph->ports()),
      endpoints_(m.graph->endpoints()),
      flit_bytes_(static_cast<std::uint64_t>(m.description.router.flit.value)) {
  double cycle = port_cycle_ps(m);
  double payload =
      static_cast<double>(flit_bytes_) * 8 / wire_bits(m);  // the rest of each flit is the link's own
  double port_rate = static_cast<double>(flit_bytes_) / cycle;
  auto whole = [](double ps) { return static_cast<std::int64_t>(ps + 0.5); };
  std::int64_t router_ps = m.description.router.latency.value;
  kinds_ = {{0, 0}, {port_rate, whole(cycle)}, {port_rate, router_ps + whole(cycle)}};
  // Beside these arrays, each link has its place in those of the flows.
  require_memory(64.0 * count(), fmt::format("the flow engine's state of {}", count_of(count(), "link")),
                 "a smaller machine, or the ideal engine, takes less");
  kind_.assign(count(), kNowhere);
  std::fill(kind_.begin() + ports_, kind_.end(), kInject);

  std::map<std::pair<std::uint8_t, std::int64_t>, std::uint16_t> seen;
  for (CableId c = 0; c < graph_.cables(); ++c) {
    auto [at, fresh] = seen.try_emplace({graph_.cable_type_index(c), graph_.cable_length(c).value},
                                        static_cast<std::uint16_t>(kinds_.size()));
    if (fresh) {
      const topology::CableType& type = graph_.cable_type(c);
      // Beyond this many lengths links would need wider numbers; lengths come from formulas and are few.
      if (kinds_.size() >= 0xffff)
        throw UserError(
            "the flow engine knows at most 65,532 different cables (types and lengths); this machine has "
            "more");
      kinds_.push_back({std::min(port_rate, static_cast<double>(type.rate().value) * payload / 8e12),
                        router_ps + type.flight_time(graph_.cable_length(c)).value});
    }
    kind_[graph_.cable_ends(c).a] = kind_[graph_.cable_ends(c).b] = at->second;
  }
  for (EndpointId e = 0; e < endpoints_; ++e) kind_[graph_.endpoint_port(e)] = kEject;
}

std::string Links::name(LinkId l) const {
  if (l >= ports_) {
    EndpointId e = l - ports_;
    return fmt::format("e{} -> r{}", e, graph_.endpoint_router(e));
  }
  if (EndpointId e = graph_.port_endpoint(l); e != kNone)
    return fmt::format("{} -> e{}", graph_.port_name(l), e);
  topology::PortId peer = graph_.peer(l);
  return peer == kNone ? graph_.port_name(l)
                       : fmt::format("{} -> r{}", graph_.port_name(l), graph_.port_router(peer));
}

}  // namespace weft::network::flow
