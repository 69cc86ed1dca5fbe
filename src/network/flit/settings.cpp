#include "network/flit/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/flit/buffers.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/state.hpp"

namespace weft::network::flit {

namespace {

using machine::Machine;

[[noreturn]] void refuse(const Machine& m, const std::string& key, std::string message) {
  throw UserError({{m.description.origin(key), key, std::move(message)}});
}

void check_tiles(const Machine& m, unsigned largest_packet_flits) {
  const auto& router = m.description.router;
  unsigned tiles = router.tile_rows * router.tile_columns;
  for (topology::RouterId r = 0; r < m.graph->routers(); ++r)
    if (m.graph->port_count(r) > tiles)
      refuse(m, "router.tile_rows",
             fmt::format("router {} has {} ports, and there are {} x {} tiles", r, m.graph->port_count(r),
                         router.tile_rows, router.tile_columns));
  if (timing_of(m).router_cycles() < 3)
    refuse(m, "router.latency",
           "a tiled router has three stages of a cycle each, and its latency is less than three cycles");
  if (m.routing->has_escape())
    refuse(m, "router.kind",
           fmt::format(
               "a tiled router chooses a packet's output at its input, for good; routing {} must be able "
               "to turn to its escape channels later",
               m.description.routing->name));
  unsigned channels = router.channels * router.message_classes;
  for (auto [key, flits] : {std::pair{"router.row_buffer_flits", router.row_buffer_flits},
                            std::pair{"router.column_buffer_flits", router.column_buffer_flits}}) {
    if (flits < channels)
      refuse(m, key,
             fmt::format("each of {} channels has a flit of its own, and there are {}", channels, flits));
    // Shared room alone would let the packets of one class wait for those of another to leave.
    if (router.switching == Switching::CutThrough && flits < channels * largest_packet_flits)
      refuse(m, key,
             fmt::format("cut-through needs room for a whole packet of each channel: {} times {} flits, and "
                         "there are {}",
                         channels, largest_packet_flits, flits));
  }
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
  unsigned room = router.buffer_flits.given.value_or(largest_packet_flits);
  // Where all packets are of one class, shared room serves as well: those in it leave whatever happens here.
  if (router.channels * router.message_classes == 1) room += router.shared_flits;
  if (router.switching == Switching::CutThrough && largest_packet_flits > room)
    refuse(m, "router.buffer_flits",
           fmt::format("cut-through needs room for a whole packet: {} flits, and a channel has {} of its own",
                       largest_packet_flits, room));
  for (unsigned yield : router.local_yield)
    if (yield > Port::kMostYield)
      refuse(m, "router.local_yield",
             fmt::format("ports yield by at most {}, not {}", Port::kMostYield, yield));
  if (router.local_headers && router.shared_flits)
    refuse(m, "router.local_headers",
           "headers have a queue of their own beside buffers that channels do not share; router.shared_flits "
           "is not 0");
  if (router.kind == RouterKind::Tiled) check_tiles(m, largest_packet_flits);
  if (m.graph->endpoints() >= Entry::kMaxEndpoints)
    refuse(m, "topology", fmt::format("the flit engine runs at most {} endpoints", Entry::kMaxEndpoints));
}

void add_cable(const Machine& m, const Timing& t, topology::CableId c, unsigned largest_packet_flits,
               Settings& s) {
  const topology::CableType& type = m.graph->cable_type(c);
  const CableTiming timing = cable_timing(m, t, c);
  if (timing.cycles > 20'000)
    refuse(m, "cable." + type.name + ".length",
           fmt::format("its flight takes {} cycles; the flit engine keeps 20,000", timing.cycles));
  if (timing.interval > 65'535)
    refuse(m, "cable." + type.name + ".lane_rate", "it is more than 255 times slower than a router's port");
  s.cable_cycles.push_back(static_cast<std::uint16_t>(timing.cycles));
  s.cable_interval.push_back(static_cast<std::uint16_t>(timing.interval));
  s.cable_remainder.push_back(timing.remainder);
  s.cable_buffer.push_back(static_cast<std::uint16_t>(buffer_flits(m, t, c, largest_packet_flits)));
}

}  // namespace

Settings settings_for(const Machine& m, unsigned largest_packet_flits) {
  check(m, largest_packet_flits);
  const auto& router = m.description.router;
  Settings s;
  const Timing timing = timing_of(m);
  static_cast<Timing&>(s) = timing;
  s.channels = router.channels;
  s.message_classes = router.message_classes;
  s.buffer_flits = local_buffer_flits(m, s, largest_packet_flits);
  s.shared_flits = router.shared_flits;
  s.switching = router.switching;
  s.allocator = router.allocator;
  s.iterations = router.iterations;
  s.kind = router.kind;
  s.tiles = {router.tile_rows, router.tile_columns, router.row_buffer_flits, router.column_buffer_flits,
             router.switching == Switching::CutThrough ? largest_packet_flits : 1};
  s.local_yield = router.local_yield;
  s.local_headers = router.local_headers;
  if (s.kind == RouterKind::Tiled) {
    // Three stages, each a cycle or more: the row's bus, the tile's crossbar with the column, the
    // multiplexer.
    s.traverse_cycles = s.router_cycles() - 2;
    s.route_cycles = s.allocate_cycles = 0;
  }
  for (topology::CableId c = 0; c < m.graph->cables(); ++c) add_cable(m, timing, c, largest_packet_flits, s);
  return s;
}

}  // namespace weft::network::flit
