#include "network/flit/timing.hpp"

#include <algorithm>
#include <numeric>

namespace weft::network::flit {

using machine::Machine;

namespace {

std::int64_t flit_bits(const Machine& m) {
  return m.description.router.flit.value * 8 + m.description.router.flit_overhead_bits;
}

/// A flit's time on the fastest cable there is, unless the router has a clock of its own.
CycleTime cycle_time(const Machine& m) {
  const auto& router = m.description.router;
  if (router.clock.value > 0) return {1'000'000'000'000, router.clock.value};
  std::int64_t fastest = 0;
  for (topology::CableId c = 0; c < m.graph->cables(); ++c)
    fastest = std::max(fastest, m.graph->cable_type(c).rate().value);
  if (fastest == 0) fastest = m.graph->cable_types().front().rate().value;  // one router, no cables
  __int128 numerator = static_cast<__int128>(flit_bits(m)) * 1'000'000'000'000;
  std::int64_t common = std::gcd(static_cast<std::int64_t>(numerator % fastest), fastest);
  return {static_cast<std::int64_t>(numerator / common), fastest / common};
}

}  // namespace

Timing timing_of(const Machine& m) {
  const Time latency = m.description.router.latency;
  Timing t;
  t.cycle = cycle_time(m);
  // A pipeline of routing, channel allocation, switch allocation and traversal, as far as the latency allows;
  // what is left over lies behind the switch.
  auto cycles = static_cast<unsigned>(std::max<std::uint64_t>(1, t.cycle.whole_cycles(latency)));
  t.route_cycles = cycles >= 3 ? 1 : 0;
  t.allocate_cycles = cycles >= 2 ? 1 : 0;
  t.traverse_cycles = cycles - t.route_cycles - t.allocate_cycles;
  t.router_remainder = t.cycle.remainder(latency, cycles);
  return t;
}

CableTiming cable_timing(const Machine& m, const Timing& t, topology::CableId c) {
  const topology::CableType& type = m.graph->cable_type(c);
  CableTiming out;
  const Time hop = m.description.router.latency + type.flight_time(m.graph->cable_length(c));
  const std::uint64_t router = t.router_cycles(), whole = t.cycle.whole_cycles(hop);
  out.cycles = std::max(whole, router) - router;
  out.remainder = t.cycle.remainder(hop, router + out.cycles);
  __int128 bits = static_cast<__int128>(flit_bits(m)) * 1'000'000'000'000;
  __int128 slowest = static_cast<__int128>(type.rate().value) * t.cycle.picoseconds;
  out.interval = static_cast<std::uint64_t>(
      std::max<__int128>(256, (bits * t.cycle.over * 256 + slowest - 1) / slowest));
  return out;
}

}  // namespace weft::network::flit
