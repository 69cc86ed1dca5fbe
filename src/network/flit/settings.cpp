#include "network/flit/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "network/flit/packets.hpp"

namespace weft::network::flit {

namespace {

using machine::Machine;

[[noreturn]] void refuse(const Machine& m, const std::string& key, std::string message) {
  throw UserError({{m.description.origin(key), key, std::move(message)}});
}

/// A flit's time on the fastest cable there is, unless the router has a clock of its own.
CycleTime cycle_time(const Machine& m) {
  const auto& router = m.description.router;
  if (router.clock.value > 0) return {1'000'000'000'000, router.clock.value};
  std::int64_t fastest = 0;
  for (topology::CableId c = 0; c < m.graph->cables(); ++c)
    fastest = std::max(fastest, m.graph->cable_type(c).rate().value);
  if (fastest == 0) fastest = m.graph->cable_types().front().rate().value;  // one router, no cables
  std::int64_t bits = router.flit.value * 8;
  __int128 numerator = static_cast<__int128>(bits) * 1'000'000'000'000;
  std::int64_t common = std::gcd(static_cast<std::int64_t>(numerator % fastest), fastest);
  return {static_cast<std::int64_t>(numerator / common), fastest / common};
}

void check(const Machine& m, unsigned largest_packet_flits) {
  const auto& router = m.description.router;
  unsigned classes = m.routing->classes();
  if (router.channels < classes)
    refuse(m, "router.channels",
           fmt::format("routing {} asks for at least {} channels, the router has {}; `weft check` shows what "
                       "would happen",
                       m.description.routing->name, classes, router.channels));
  if (router.channels * router.message_classes > 32)
    refuse(m, "router.message_classes", "a port has at most 32 channels over all message classes");
  if (largest_packet_flits > Entry::kMaxFlits)
    refuse(m, "router.flit",
           fmt::format("a packet of {} flits is longer than {}", largest_packet_flits, Entry::kMaxFlits));
  unsigned room = router.buffer_flits + router.shared_flits;
  if (router.switching == Switching::CutThrough && largest_packet_flits > room)
    refuse(m, "router.buffer_flits",
           fmt::format("cut-through needs room for a whole packet: {} flits, and a channel has {}",
                       largest_packet_flits, room));
  if (m.graph->endpoints() >= Entry::kMaxEndpoints)
    refuse(m, "topology", fmt::format("the flit engine runs at most {} endpoints", Entry::kMaxEndpoints));
}

}  // namespace

Settings settings_for(const Machine& m, unsigned smallest_packet_flits, unsigned largest_packet_flits) {
  check(m, largest_packet_flits);
  const auto& router = m.description.router;
  Settings s;
  s.channels = router.channels;
  s.message_classes = router.message_classes;
  s.buffer_flits = router.buffer_flits;
  s.shared_flits = router.shared_flits;
  s.switching = router.switching;
  s.allocator = router.allocator;
  s.iterations = router.iterations;
  s.smallest_packet_flits = smallest_packet_flits;
  s.cycle = cycle_time(m);

  // A pipeline of routing, channel allocation, switch allocation and traversal, as far as the latency allows;
  // what is left over lies behind the switch.
  unsigned latency = static_cast<unsigned>(std::max<std::uint64_t>(1, s.cycle.cycles(router.latency)));
  s.route_cycles = latency >= 3 ? 1 : 0;
  s.allocate_cycles = latency >= 2 ? 1 : 0;
  s.traverse_cycles = latency - s.route_cycles - s.allocate_cycles;

  const topology::Graph& graph = *m.graph;
  for (topology::CableId c = 0; c < graph.cables(); ++c) {
    const topology::CableType& type = graph.cable_type(c);
    std::uint64_t flight =
        std::max<std::uint64_t>(1, s.cycle.cycles(type.flight_time(graph.cable_length(c))));
    if (flight > 20'000)
      refuse(m, "cable." + type.name + ".length",
             fmt::format("its flight takes {} cycles; the flit engine keeps 20,000", flight));
    s.cable_cycles.push_back(static_cast<std::uint16_t>(flight));
    __int128 bits = static_cast<__int128>(router.flit.value) * 8 * 1'000'000'000'000;
    __int128 interval =
        (bits * s.cycle.over * 256 + static_cast<__int128>(type.rate().value) * s.cycle.picoseconds - 1) /
        (static_cast<__int128>(type.rate().value) * s.cycle.picoseconds);
    if (interval > 65'535)
      refuse(m, "cable." + type.name + ".lane_rate", "it is more than 255 times slower than a router's port");
    s.cable_interval.push_back(static_cast<std::uint16_t>(std::max<__int128>(256, interval)));
  }
  return s;
}

}  // namespace weft::network::flit
