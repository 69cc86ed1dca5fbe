#include "network/flit/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"

namespace weft::network::flit {

using topology::EndpointId;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

namespace {

// State of a tile. Where all of it stays in a processor's own cache, tiles are cut for the nearest one; where
// it does not, longer stages are worth more.
constexpr std::uint64_t kOwnCacheBytes = 1 << 20, kTileBytes = 64 * 1024, kFarTileBytes = 128 * 1024;

// A thread with more state than that has several tiles, so that others can take some of them where it is
// slow.
constexpr std::uint64_t kShareableBytes = 32 * 1024, kLeastTiles = 4;

constexpr unsigned kLongestWindow = 8;  // cycles; longer ones would gain little

unsigned bits_for(unsigned count) { return static_cast<unsigned>(std::countr_zero(std::bit_ceil(count))); }

}  // namespace

Fabric::Fabric(const topology::Graph& of, Settings how, bool link_layer)
    : graph(of), settings(std::move(how)), link_layer_(link_layer) {
  WEFT_CHECK(settings.all_channels() <= 32, "a port has at most 32 channels");
  WEFT_CHECK(settings.route_cycles <= 1 && settings.allocate_cycles <= 1 && settings.traverse_cycles >= 1);
  WEFT_CHECK(settings.cable_cycles.size() == graph.cables() &&
             settings.cable_interval.size() == graph.cables());
  WEFT_CHECK(graph.endpoints() < Entry::kMaxEndpoints);
  for (EndpointId e = 0; e < graph.endpoints(); ++e) {
    endpoint_router.push_back(graph.endpoint_router(e));
    endpoint_port.push_back(graph.endpoint_port(e));
  }
  const unsigned ranks = settings.ranks ? settings.ranks->count() : 1;
  if (ranks > graph.routers())
    throw UserError(fmt::format("{} cannot share {}: at most one for each", count_of(ranks, "rank"),
                                count_of(graph.routers(), "router")));
  settings.threads = ranks * std::clamp(settings.threads, 1u, graph.routers() / ranks);
  part = part_of(graph, settings.ranks);
  size_arrays();
  share_out();
  find_beyond();
  endpoint_flight = flight_number(settings.endpoint_cycles);
  connect_ports();
  share_remainders();
  rank_local_ports();
  if (settings.router.inner_stages > 0) connect_inner_ports();
  if (settings.weighted()) classes = TrafficClasses(settings, state.ports.size());
  if (!settings.multicast()) return;
  unsigned most_ports = 1;
  for (RouterId r = 0; r < graph.routers(); ++r) most_ports = std::max(most_ports, graph.port_count(r));
  multicast =
      MulticastState(static_cast<std::uint32_t>(state.ports.size()), most_ports, state.channel_bits,
                     settings.channels * settings.message_classes, settings.channels, state.tiles.size());
}

void Fabric::size_arrays() {
  unsigned most_ports = 1;
  std::uint32_t ports = graph.ports();
  for (RouterId r = 0; r < graph.routers(); ++r) most_ports = std::max(most_ports, graph.port_count(r));
  if (settings.router.inner_stages > 0) {
    inner = InnerFabric(graph, settings.router);
    ports = inner.begin.back();
  }
  unsigned longest = settings.endpoint_cycles + 1;
  for (std::uint16_t cycles : settings.cable_cycles) longest = std::max<unsigned>(longest, cycles);
  unsigned shortest = kLongestWindow;
  for (std::uint16_t cycles : settings.cable_cycles) shortest = std::min<unsigned>(shortest, cycles);
  longest_window = link_layer_ ? 1 : std::min(kLongestWindow, settings.traverse_cycles + shortest);
  state.slots = std::bit_ceil(longest + settings.traverse_cycles + longest_window + 1);
  state.channel_bits = bits_for(settings.all_channels());
  state.output_bits = settings.router.queue_per_output ? bits_for(most_ports) : 0;
  std::uint64_t channels = std::uint64_t{ports} << state.channel_bits;
  std::uint64_t queues = channels << state.output_bits;
  if (queues >= kUndecided)
    throw UserError(fmt::format("the routers of this machine have {} queues; the flit engine runs at most {}",
                                with_commas(queues), with_commas(kUndecided)));
  const double share = settings.ranks ? 1.0 / settings.ranks->count() : 1;
  require_memory(
      share * (static_cast<double>(queues * sizeof(Queue) + channels * sizeof(OutChannel)) + ports * 96.0),
      fmt::format("the flit engine's state of {} in {}", count_of(queues, "queue"),
                  count_of(graph.routers(), "router")),
      "a smaller machine, or the engines flow and ideal, take less");
  // Ports of this process, and those inside its routers; where it has all of them, that is one run.
  const auto own = [&](unsigned bits) {
    std::vector<Run> runs{part.ports};
    if (ports > graph.ports() && part.routers.size() == graph.routers())
      runs = {{0, ports}};
    else if (ports > graph.ports())
      runs.push_back({inner.begin[part.routers.begin], inner.begin[part.routers.end]});
    for (Run& run : runs) run.begin <<= bits, run.end <<= bits;
    return runs;
  };
  state.queues = PartArray<Queue>(queues, own(state.channel_bits + state.output_bits));
  state.ports = PartArray<Port>(ports, own(0));
  state.rests = PartArray<PortRest>(ports, own(0));
  state.sent = PartArray<std::uint64_t>(ports, own(0));
  state.channels = PartArray<OutChannel>(channels, own(state.channel_bits));
  if (state.output_bits) state.receiving = PartArray<QueueNumber>(channels, own(state.channel_bits));
}

/// Cuts the routers into tiles, and the tiles into shares of the threads.
void Fabric::share_out() {
  const unsigned threads = settings.threads, ranks = settings.ranks ? settings.ranks->count() : 1;
  const unsigned own = threads / ranks;
  std::uint64_t bytes = state.queues.size() * sizeof(Queue) + state.ports.size() * sizeof(Port) +
                        state.channels.size() * sizeof(OutChannel);
  const std::uint64_t tile_bytes = bytes / threads <= kOwnCacheBytes ? kTileBytes : kFarTileBytes;
  std::uint64_t tiles = (bytes / threads + tile_bytes - 1) / tile_bytes;
  if (own > 1 && !link_layer_)
    tiles = std::max(tiles, std::min(kLeastTiles, bytes / threads / kShareableBytes));
  tiles_of_thread =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tiles, 1, graph.routers() / threads));
  first_thread = settings.ranks ? settings.ranks->rank() * own : 0;
  first_tile = first_thread * tiles_of_thread;
  router_tile.resize(graph.routers());
  auto endpoint = static_cast<std::uint32_t>(part.endpoints.begin);
  for (unsigned t = 0; t < threads; ++t) {
    auto begin = static_cast<RouterId>(std::uint64_t{graph.routers()} * t / threads);
    auto end = static_cast<RouterId>(std::uint64_t{graph.routers()} * (t + 1) / threads);
    for (std::uint64_t k = 0; k < tiles_of_thread; ++k) {
      auto first = static_cast<RouterId>(begin + std::uint64_t{end - begin} * k / tiles_of_thread);
      auto last = static_cast<RouterId>(begin + std::uint64_t{end - begin} * (k + 1) / tiles_of_thread);
      for (RouterId r = first; r < last; ++r)
        router_tile[r] = static_cast<std::uint32_t>(t * tiles_of_thread + k);
    }
    if (t < first_thread || t >= first_thread + own) continue;
    std::uint32_t endpoints = 0;
    for (RouterId r = begin; r < end; ++r) endpoints += graph.endpoint_count(r);
    const std::uint32_t tile = (t - first_thread) * tiles_of_thread;
    shares.push_back({tile, tile + tiles_of_thread, endpoint, endpoint + endpoints});
    endpoint += endpoints;
  }
  state.tiles.resize(std::size_t{own} * tiles_of_thread);
  for (RouterId router : endpoint_router) endpoint_tile.push_back(tile_of(router));
}

/// The inboxes of a slot: for the tiles and links here, and for what goes to other ranks.
void Fabric::find_beyond() {
  const std::uint32_t threads = settings.threads, own = own_threads(), links = threads * tiles_of_thread;
  for (std::size_t p = part.ports.begin; p < part.ports.end && own < threads; ++p) {
    const PortId peer = graph.peer(static_cast<PortId>(p));
    if (peer == kNone || part.has_router(graph.port_router(peer))) continue;
    beyond.push_back({router_tile[graph.port_router(peer)], 0});
  }
  for (std::uint32_t thread = 0; link_layer_ && thread < threads; ++thread)
    if (thread - first_thread >= own) beyond.push_back({links + thread, 0});
  std::sort(beyond.begin(), beyond.end(), [](const auto& a, const auto& b) { return a.tile < b.tile; });
  const auto same = [](const auto& a, const auto& b) { return a.tile == b.tile; };
  beyond.erase(std::unique(beyond.begin(), beyond.end(), same), beyond.end());
  for (Beyond& b : beyond) b.rank = (b.tile < links ? b.tile / tiles_of_thread : b.tile - links) / own;
  constexpr std::uint32_t kLineMarks = 64;
  state.thread_inboxes = first_beyond() + static_cast<std::uint32_t>(beyond.size());
  if (own > 1) state.thread_inboxes = (state.thread_inboxes + kLineMarks - 1) / kLineMarks * kLineMarks;
  state.slot_inboxes = state.thread_inboxes * own;
  state.inboxes.resize(std::size_t{state.slot_inboxes} * state.slots);
  state.awake.assign(state.inboxes.size(), Mark::kNo);
}

std::uint32_t Fabric::inbox_for(std::uint32_t tile) const {
  const std::uint32_t links = settings.threads * tiles_of_thread;
  const bool of_links = tile >= links;
  const std::uint32_t owner = of_links ? tile - links : tile / tiles_of_thread;
  if (owner - first_thread < own_threads()) return of_links ? links_tile(owner) : tile - first_tile;
  const auto at = std::lower_bound(beyond.begin(), beyond.end(), tile,
                                   [](const Beyond& b, std::uint32_t wanted) { return b.tile < wanted; });
  WEFT_CHECK(at != beyond.end() && at->tile == tile, "every border between ranks has an inbox");
  return first_beyond() + static_cast<std::uint32_t>(at - beyond.begin());
}

void Fabric::connect_ports() {
  for (const Run& run : state.ports.own())
    for (std::size_t p = run.begin; p < run.end; ++p) connect_port(static_cast<PortNumber>(p));
  // The sender tells headers from payload (header_queues.hpp): to the router it is one buffer.
  if (settings.local_headers)
    for (Port& port : state.ports)
      if (port.flags & Port::kEndpoint)
        port.room = static_cast<std::uint16_t>(settings.local_headers + settings.buffer_flits);
}

void Fabric::connect_port(PortNumber p) {
  Port& port = state.ports[p];
  PortRest& rest = state.rests[p];
  port.requester = port.granted = kEnd;
  port.last_input = port.last_output = static_cast<std::uint16_t>(p);
  port.free_channels = every_channel();
  rest.interval = 256;
  port.room = static_cast<std::uint16_t>(settings.buffer_flits);
  rest.shared = port.spare = static_cast<std::uint16_t>(settings.shared_flits);
  port.flight = flight_number(settings.traverse_cycles + settings.endpoint_cycles);
  port.peer = p << state.channel_bits;
  if (p >= graph.ports()) {
    RouterId r = inner.router[p - graph.ports()];
    port.inbox = inbox_for(router_tile[r]);
    return;
  }
  RouterId here = graph.port_router(p);
  PortId peer = graph.peer(p);
  port.inbox = inbox_for(router_tile[peer == kNone ? here : graph.port_router(peer)]);
  if (peer != kNone) port.peer = peer << state.channel_bits;
  if (topology::CableId cable = graph.port_cable(p); cable != kNone) {
    rest.interval = settings.cable_interval[cable];
    port.flight = flight_number(settings.traverse_cycles + settings.cable_cycles[cable]);
    if (!settings.cable_buffer.empty()) port.room = settings.cable_buffer[cable];
  }
  // Where copies go out too, a port may be busy with one.
  if (rest.interval != 256 || settings.multicast()) port.flags |= Port::kNarrow;
  if (graph.port_endpoint(p) != kNone) port.flags |= Port::kEndpoint;
}

/// Where all cables are alike, a packet's remainder follows from its hops and need not be added up on the
/// way.
void Fabric::share_remainders() {
  const auto& all = settings.cable_remainder;
  // A packet may be made up to a cycle early; where a hop takes less than its cycle, more is made good.
  const bool only_late = settings.router_remainder >= 0 &&
                         std::all_of(all.begin(), all.end(), [](Remainder r) { return r >= 0; });
  if (only_late) delivery_lead = settings.traverse_cycles + settings.endpoint_cycles - 1;
  delivery_lead = std::max(1u, delivery_lead);
  if (all.empty()) return;
  if (std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end()) {
    hop_remainder = all.front();
    return;
  }
  port_remainder.assign(graph.ports(), 0);
  for (PortId p = 0; p < graph.ports(); ++p)
    if (topology::CableId cable = graph.port_cable(p); cable != kNone) port_remainder[p] = all[cable];
}

std::uint16_t Fabric::flight_number(unsigned cycles) {
  auto& flights = state.flights;
  auto found = std::find(flights.begin(), flights.end(), cycles);
  if (found == flights.end()) found = flights.insert(found, static_cast<std::uint16_t>(cycles));
  return static_cast<std::uint16_t>(found - flights.begin());
}

void Fabric::rank_local_ports() {
  if (settings.local_yield.empty()) return;
  for (std::size_t at = part.routers.begin; at < part.routers.end; ++at) {
    const auto r = static_cast<RouterId>(at);
    std::size_t local = 0;
    for (PortNumber p = graph.port_begin(r); p < graph.port_begin(r) + graph.port_count(r); ++p)
      if ((state.ports[p].flags & Port::kEndpoint) && local < settings.local_yield.size())
        state.ports[p].flags |= static_cast<std::uint8_t>(settings.local_yield[local++] << Port::kYieldShift);
  }
}

void Fabric::connect_inner_ports() {
  for (PortNumber p = inner.begin[part.routers.begin]; p < inner.begin[part.routers.end]; ++p) {
    Port& port = state.ports[p];
    RouterId r = inner.router[p - graph.ports()];
    port.flags |= Port::kInner;
    port.flight = flight_number(1);
    const unsigned flits = inner.layout_of(r).buffer_flits[p - inner.begin[r]];
    port.room = static_cast<std::uint16_t>(settings.inner_own_flits);
    state.rests[p].shared = port.spare =
        static_cast<std::uint16_t>(flits - settings.all_channels() * settings.inner_own_flits);
  }
}

std::vector<unsigned> Fabric::lead_through_links(const std::vector<PortId>& link_ports) {
  std::vector<unsigned> owners;
  for (PortId p : link_ports) {
    const unsigned owner = thread_of(graph.port_router(p));
    owners.push_back(owner);
    link_inbox.push_back(inbox_for(settings.threads * tiles_of_thread + owner));
    if (!part.has_router(graph.port_router(p))) continue;
    Port& port = state.ports[p];
    port.flags |= Port::kLinkLayer | Port::kNarrow;
    port.flight = flight_number(0);
    port.inbox = link_inbox.back();
  }
  return owners;
}

void Fabric::freeze(RouterId router, bool frozen) {
  if (!part.has_router(router)) return;
  constexpr std::uint8_t flags = Port::kLinkLayer | Port::kNarrow;
  for (PortId p = graph.port_begin(router); p < graph.port_begin(router + 1); ++p) {
    if (graph.port_endpoint(p) == kNone) continue;
    std::uint8_t& now = state.ports[p].flags;
    now = static_cast<std::uint8_t>(frozen ? now | flags : now & ~flags);
    if (settings.multicast()) now |= Port::kNarrow;
  }
}

void Fabric::empty() {
  for (Queue& queue : state.queues) queue = {};
  for (const Run& run : state.ports.own())
    for (std::size_t p = run.begin; p < run.end; ++p) {
      Port& port = state.ports[p];
      port.requester = port.granted = kEnd;
      port.free_channels = every_channel();
      port.spare = state.rests[p].shared;
    }
  for (OutChannel& channel : state.channels) channel.used = 0;
  for (Inbox& inbox : state.inboxes) {
    inbox.heads.clear(), inbox.bodies.clear();
    inbox.credits.clear(), inbox.due.clear();
  }
  std::fill(state.awake.begin(), state.awake.end(), Mark::kNo);
  multicast.empty();
  for (Tile& tile : state.tiles) {
    for (auto& bag : tile.channel_requests) bag.clear();
    for (auto& bag : tile.switch_requests) bag.clear();
    for (auto& bag : tile.senders) bag.clear();
  }
}

std::uint32_t Fabric::occupancy(PortNumber p) const {
  std::uint32_t flits = 0;
  unsigned bits = state.channel_bits + state.output_bits;
  for (QueueNumber q = p << bits; q < (p + 1) << bits; ++q) flits += state.queues[q].flits;
  return flits;
}

std::uint64_t Fabric::bytes() const {
  std::uint64_t bags = 0;
  for (const Inbox& inbox : state.inboxes)
    bags += sizeof(Inbox) + inbox.heads.bytes() + inbox.bodies.bytes() + inbox.credits.bytes() +
            inbox.due.bytes();
  for (const Tile& tile : state.tiles) {
    for (const auto& bag : tile.channel_requests) bags += bag.bytes();
    for (const auto& bag : tile.switch_requests) bags += bag.bytes();
    for (const auto& bag : tile.senders) bags += bag.bytes();
  }
  return state.queues.own_bytes() + state.ports.own_bytes() + state.rests.own_bytes() +
         state.sent.own_bytes() + state.channels.own_bytes() + endpoint_router.size() * 8 +
         state.awake.size() + bags;
}

}  // namespace weft::network::flit
