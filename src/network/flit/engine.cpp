#include "network/flit/engine.hpp"

#include <fmt/format.h>

#include <map>

#include "base/barrier.hpp"
#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"
#include "network/flit/buffers.hpp"
#include "network/flit/kernel_channels.hpp"
#include "network/flit/kernel_endpoints.hpp"
#include "network/flit/kernel_links.hpp"
#include "network/flit/kernel_switch.hpp"
#include "network/flit/kernel_ways.hpp"
#include "routing/compile.hpp"

namespace weft::network::flit {

using topology::kNone;
using topology::PortId;
using topology::RouterId;

namespace {

// State of a tile. Where all of it stays in a processor's own cache, tiles are cut for the nearest one; where
// it does not, longer stages are worth more.
constexpr std::uint64_t kOwnCacheBytes = 1 << 20, kTileBytes = 64 * 1024, kFarTileBytes = 128 * 1024;

constexpr unsigned kLongestWindow = 8;  // cycles; longer ones would gain little

unsigned bits_for(unsigned count) { return static_cast<unsigned>(std::countr_zero(std::bit_ceil(count))); }

}  // namespace

Engine::~Engine() = default;

Engine::Engine(const topology::Graph& graph, const routing::Routing& routing, Settings settings, Guard* guard)
    : graph_(graph),
      routing_(&routing),
      settings_(std::move(settings)),
      packets_(settings_.most_packets),
      guard_(guard) {
  WEFT_CHECK(settings_.most_packets <= PacketStore::kMaxPackets, "packets have numbers of 27 bits");
  WEFT_CHECK(settings_.all_channels() <= 32, "a port has at most 32 channels");
  WEFT_CHECK(settings_.route_cycles <= 1 && settings_.allocate_cycles <= 1 && settings_.traverse_cycles >= 1);
  WEFT_CHECK(settings_.cable_cycles.size() == graph.cables() &&
             settings_.cable_interval.size() == graph.cables());
  WEFT_CHECK(graph.endpoints() < Entry::kMaxEndpoints);
  share_channels();
  for (EndpointId e = 0; e < graph.endpoints(); ++e) {
    endpoint_router_.push_back(graph.endpoint_router(e));
    endpoint_port_.push_back(graph.endpoint_port(e));
  }
  senders_.resize(graph.endpoints());
  settings_.threads = std::max(1u, std::min(settings_.threads, graph.routers()));
  size_arrays();
  share_out();
  endpoint_flight_ = flight_number(settings_.endpoint_cycles);
  connect_ports();
  share_remainders();
  set_paces();
  place_ports();
  rank_local_ports();
  if (settings_.router.inner_stages > 0) connect_inner_ports();
  if (guard_) guard_ports();
}

/// Which channels each class of the routing has.
void Engine::share_channels() {
  routing::ChannelPlan plan = routing_->plan(settings_.channels);
  WEFT_CHECK(plan.complete, "every class of the routing has channels");
  class_channels_.clear();
  channel_class_.assign(settings_.all_channels(), 0);
  for (unsigned c = 0; c < routing_->classes(); ++c) {
    std::uint32_t mask = 0;
    for (unsigned k = plan.begin[c]; k < plan.end[c]; ++k) {
      mask |= 1u << k;
      for (unsigned m = 0; m < settings_.message_classes; ++m)
        channel_class_[m * settings_.channels + k] = static_cast<std::uint8_t>(c);
    }
    class_channels_.push_back(mask);
  }
  while (class_channels_.size() < 2) class_channels_.push_back(class_channels_.front());
}

/// Returns how many ports there are then, with those of the graph.
std::uint32_t Engine::number_inner_ports() {
  WEFT_CHECK(!settings_.router.queue_per_output, "a router has inner ports or a queue for each output");
  std::uint32_t ports = graph_.ports();
  std::map<unsigned, std::uint32_t> layouts;  // by the ports of a router
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    const unsigned outer = graph_.port_count(r);
    auto [at, fresh] = layouts.try_emplace(outer, static_cast<std::uint32_t>(layouts.size()));
    if (fresh) inner_.layouts.push_back(settings_.router.inner(outer));
    const machine::InnerPorts& layout = inner_.layouts[at->second];
    WEFT_CHECK(layout.first.size() == std::size_t{outer} * outer &&
                   layout.next.size() == layout.count() * outer && layout.names.size() == layout.count(),
               "a kind of router says where flits go from every inner port");
    WEFT_CHECK(layout.count() <= 0x10000, "turns tell the ports inside a router apart");
    inner_.begin.push_back(ports);
    inner_.outer.push_back(graph_.port_begin(r));
    inner_.ports.push_back(outer);
    inner_.layout.push_back(at->second);
    inner_.router.insert(inner_.router.end(), layout.count(), r);
    ports += static_cast<std::uint32_t>(layout.count());
  }
  inner_.begin.push_back(ports);
  return ports;
}

void Engine::size_arrays() {
  unsigned most_ports = 1;
  std::uint32_t ports = graph_.ports();
  for (RouterId r = 0; r < graph_.routers(); ++r) most_ports = std::max(most_ports, graph_.port_count(r));
  if (settings_.router.inner_stages > 0) ports = number_inner_ports();
  unsigned longest = settings_.endpoint_cycles + 1;
  for (std::uint16_t cycles : settings_.cable_cycles) longest = std::max<unsigned>(longest, cycles);
  unsigned shortest = kLongestWindow;
  for (std::uint16_t cycles : settings_.cable_cycles) shortest = std::min<unsigned>(shortest, cycles);
  longest_window_ = guard_ ? 1 : std::min(kLongestWindow, settings_.traverse_cycles + shortest);
  limit_window(settings_.tell_departures ? 1 : longest_window_);
  state_.slots = std::bit_ceil(longest + settings_.traverse_cycles + longest_window_ + 1);
  state_.channel_bits = bits_for(settings_.all_channels());
  state_.output_bits = settings_.router.queue_per_output ? bits_for(most_ports) : 0;
  std::uint64_t channels = std::uint64_t{ports} << state_.channel_bits;
  std::uint64_t queues = channels << state_.output_bits;
  if (queues >= kUndecided)
    throw UserError(fmt::format("the routers of this machine have {} queues; the flit engine runs at most {}",
                                with_commas(queues), with_commas(kUndecided)));
  require_memory(static_cast<double>(queues * sizeof(Queue) + channels * sizeof(OutChannel)) + ports * 96.0,
                 fmt::format("the flit engine's state of {} in {}", count_of(queues, "queue"),
                             count_of(graph_.routers(), "router")),
                 "a smaller machine, or the engines flow and ideal, take less");
  state_.queues.assign(queues, {});
  state_.ports.assign(ports, {});
  state_.rests.assign(ports, {});
  state_.sent.assign(ports, 0);
  state_.channels.assign(channels, {});
  if (state_.output_bits) state_.receiving.assign(channels, 0);
}

/// Cuts the routers into tiles, and the tiles into shares of the threads.
void Engine::share_out() {
  const unsigned threads = settings_.threads;
  std::uint64_t bytes = state_.queues.size() * sizeof(Queue) + state_.ports.size() * sizeof(Port) +
                        state_.channels.size() * sizeof(OutChannel);
  const std::uint64_t tile_bytes = bytes / threads <= kOwnCacheBytes ? kTileBytes : kFarTileBytes;
  std::uint64_t tiles_of_thread = (bytes / threads + tile_bytes - 1) / tile_bytes;
  tiles_of_thread = std::clamp<std::uint64_t>(tiles_of_thread, 1, graph_.routers() / threads);
  router_tile_.resize(graph_.routers());
  std::uint32_t endpoint = 0;
  for (unsigned t = 0; t < threads; ++t) {
    auto begin = static_cast<RouterId>(std::uint64_t{graph_.routers()} * t / threads);
    auto end = static_cast<RouterId>(std::uint64_t{graph_.routers()} * (t + 1) / threads);
    auto first_tile = static_cast<std::uint32_t>(state_.tiles.size());
    for (std::uint64_t k = 0; k < tiles_of_thread; ++k) {
      auto first = static_cast<RouterId>(begin + std::uint64_t{end - begin} * k / tiles_of_thread);
      auto last = static_cast<RouterId>(begin + std::uint64_t{end - begin} * (k + 1) / tiles_of_thread);
      for (RouterId r = first; r < last; ++r)
        router_tile_[r] = static_cast<std::uint32_t>(state_.tiles.size());
      state_.tiles.emplace_back();
    }
    std::uint32_t endpoints = 0;
    for (RouterId r = begin; r < end; ++r) endpoints += graph_.endpoint_count(r);
    workers_.push_back(std::make_unique<Worker>(
        t, first_tile, static_cast<std::uint32_t>(state_.tiles.size()), endpoint, endpoint + endpoints));
    if (settings_.iterations > 1) workers_.back()->matched.assign(state_.ports.size(), 0);
    endpoint += endpoints;
  }
  for (RouterId router : endpoint_router_) endpoint_tile_.push_back(router_tile_[router]);
  state_.slot_inboxes = static_cast<std::uint32_t>(state_.tiles.size() * threads);
  if (guard_) state_.slot_inboxes += threads * threads;  // for the links of each thread
  state_.inboxes.resize(std::size_t{state_.slot_inboxes} * state_.slots);
  state_.awake.assign(state_.inboxes.size(), Mark::kNo);
}

void Engine::connect_ports() {
  const unsigned threads = settings_.threads;
  std::uint32_t all = settings_.all_channels() == 32 ? ~0u : (1u << settings_.all_channels()) - 1;
  auto inbox_of = [&](RouterId from, RouterId to) {
    unsigned sender = 0;
    while (router_tile_[from] >= workers_[sender]->tile_end) ++sender;
    return router_tile_[to] * threads + sender;
  };
  for (PortNumber p = 0; p < state_.ports.size(); ++p) {
    Port& port = state_.ports[p];
    PortRest& rest = state_.rests[p];
    port.asker = port.granted = kEnd;
    port.last_input = port.last_output = static_cast<std::uint16_t>(p);
    port.free_channels = all;
    rest.interval = 256;
    port.room = static_cast<std::uint16_t>(settings_.buffer_flits);
    rest.shared = port.spare = static_cast<std::uint16_t>(settings_.shared_flits);
    port.flight = flight_number(settings_.traverse_cycles + settings_.endpoint_cycles);
    port.peer = p << state_.channel_bits;
    if (p >= graph_.ports()) {
      RouterId r = inner_.router[p - graph_.ports()];
      port.inbox = inbox_of(r, r);
      continue;
    }
    RouterId here = graph_.port_router(p);
    PortId peer = graph_.peer(p);
    port.inbox = inbox_of(here, peer == kNone ? here : graph_.port_router(peer));
    if (peer != kNone) port.peer = peer << state_.channel_bits;
    if (topology::CableId cable = graph_.port_cable(p); cable != kNone) {
      rest.interval = settings_.cable_interval[cable];
      port.flight = flight_number(settings_.traverse_cycles + settings_.cable_cycles[cable]);
      if (!settings_.cable_buffer.empty()) port.room = settings_.cable_buffer[cable];
    }
    if (rest.interval != 256) port.flags |= Port::kNarrow;
    if (graph_.port_endpoint(p) != kNone) port.flags |= Port::kEndpoint;
  }
  header_queues_ = HeaderQueues(settings_.local_headers, settings_.buffer_flits, state_.channels.size());
  if (header_queues_.there_are())
    for (Port& port : state_.ports)
      if (port.flags & Port::kEndpoint) port.room = static_cast<std::uint16_t>(header_queues_.all_flits());
}

/// Where all cables are alike, a packet's remainder follows from its hops and need not be added up on the
/// way.
void Engine::share_remainders() {
  const auto& all = settings_.cable_remainder;
  if (all.empty()) return;
  if (std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end()) {
    hop_remainder_ = all.front();
    return;
  }
  port_remainder_.assign(graph_.ports(), 0);
  for (PortId p = 0; p < graph_.ports(); ++p)
    if (topology::CableId cable = graph_.port_cable(p); cable != kNone) port_remainder_[p] = all[cable];
}

/// For sources that choose between a direct way and one round by a place.
void Engine::set_paces() {
  paces_.clear();
  if (routing_->via_count() == 0 || !routing_->may_go_direct()) return;
  paces_.resize(graph_.ports());
  for (PortNumber p = 0; p < graph_.ports(); ++p)
    if (topology::CableId cable = graph_.port_cable(p); cable != kNone) {
      paces_[p].round_trip = credit_round_trip(settings_, settings_.cable_cycles[cable]);
      paces_[p].full = paces_[p].round_trip * 256u / settings_.cable_interval[cable] * 15 / 16;
    }
}

std::uint16_t Engine::flight_number(unsigned cycles) {
  auto& flights = state_.flights;
  auto found = std::find(flights.begin(), flights.end(), cycles);
  if (found == flights.end()) found = flights.insert(found, static_cast<std::uint16_t>(cycles));
  return static_cast<std::uint16_t>(found - flights.begin());
}

void Engine::place_ports() {
  grid_route_.reset();
  if (!settings_.router.queue_per_output && settings_.router.inner_stages == 0 && port_remainder_.empty())
    grid_route_ = routing::compile_grid(*routing_);
  port_info_.clear();
  grid_ports_.clear();
  grid_endpoints_.clear();
  port_info_.reserve(graph_.ports());
  for (PortNumber p = 0; p < graph_.ports(); ++p) {
    RouterId router = graph_.port_router(p);
    port_info_.push_back({graph_.port_begin(router), router});
    if (grid_route_)
      grid_ports_.push_back({grid_route_->place(router), graph_.port_begin(router),
                             grid_route_->rows(router, p - graph_.port_begin(router))});
  }
  if (grid_route_)
    for (EndpointId e = 0; e < graph_.endpoints(); ++e)
      grid_endpoints_.push_back({grid_route_->place(endpoint_router_[e]), endpoint_port_[e] & 0x7fff'ffff,
                                 GridRoute::parity(grid_route_->place(endpoint_router_[e])) & 1});
}

void Engine::rank_local_ports() {
  if (settings_.local_yield.empty()) return;
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    std::size_t local = 0;
    for (PortNumber p = graph_.port_begin(r); p < graph_.port_begin(r) + graph_.port_count(r); ++p)
      if ((state_.ports[p].flags & Port::kEndpoint) && local < settings_.local_yield.size())
        state_.ports[p].flags |=
            static_cast<std::uint8_t>(settings_.local_yield[local++] << Port::kYieldShift);
  }
}

void Engine::connect_inner_ports() {
  for (PortNumber p = graph_.ports(); p < state_.ports.size(); ++p) {
    Port& port = state_.ports[p];
    RouterId r = inner_.router[p - graph_.ports()];
    port.flags |= Port::kInner;
    port.flight = flight_number(1);
    const unsigned flits = inner_.layout_of(r).buffer_flits[p - inner_.begin[r]];
    port.room = static_cast<std::uint16_t>(settings_.inner_own_flits);
    state_.rests[p].shared = port.spare =
        static_cast<std::uint16_t>(flits - settings_.all_channels() * settings_.inner_own_flits);
  }
}

void Engine::ask(EndpointId source, Cycle when) {
  for (auto& worker : workers_)
    if (source >= worker->endpoint_begin && source < worker->endpoint_end)
      worker->timers.set(source, std::max(when, now_));
}

void Engine::run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience) {
  WEFT_CHECK(observers.size() == settings_.threads);
  stop_ = false;
  stop_by_ = kNever;
  if (!started_) {
    started_ = true;
    for (auto& worker : workers_)
      for (EndpointId e = worker->endpoint_begin; e < worker->endpoint_end; ++e)
        worker->timers.set(e, traffic.first(e));
  }
  const bool cut_through = settings_.switching == Switching::CutThrough;
  auto start = [&]<class Route, bool Voq>(const Route& route, std::bool_constant<Voq>) {
    if (cut_through)
      run_threads<Route, true, Voq>(route, traffic, observers, until, patience);
    else
      run_threads<Route, false, Voq>(route, traffic, observers, until, patience);
  };
  observers_ = &observers;
  do {
    rerouted_ = false;
    if (settings_.router.queue_per_output)
      start(RelationRoute{}, std::true_type{});
    else if (grid_route_)
      start(*grid_route_, std::false_type{});
    else
      start(RelationRoute{}, std::false_type{});
  } while (rerouted_ && now_ < until && !stalled_ && !stop_);
  observers_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

/// Between two cycles, with all threads at rest: the clock moves on, over cycles in which nothing can happen.
void Engine::move_on(Cycle until, Cycle patience) noexcept {
  now_ = run_end_;
  until = std::min(until, stop_by_.load(std::memory_order_relaxed));
  stop_ = now_ >= until;
  std::uint64_t count = 0;
  for (auto& worker : workers_)
    count += worker->counters.flit_hops + worker->counters.flits_injected + worker->counters.flits_delivered;
  const bool moved = count != std::exchange(moved_, count);
  if (settings_.age_limit && now_ >= next_age_check_) {
    next_age_check_ = now_ + std::max<Cycle>(1, settings_.age_limit / 4);
    if (older_than(settings_.age_limit)) stalled_ = aged_ = true;
  }
  if (guard_) return follow_links(moved, until, patience);
  const std::uint64_t in_network = flits_in_network();
  if (moved || in_network == 0) {
    moved_at_ = now_;
  } else if (now_ - moved_at_ > patience) {
    stalled_ = true;
  }
#ifndef NDEBUG
  check_conservation();
#endif
  // Who asked for a stop may have something to send from then on, so the clock must not run ahead of it.
  Cycle next = stop_ ? now_ : next_work(until);
  if (next > now_ && next == until && in_network > 0 && nobody_will_act()) stalled_ = true;
  if (!stalled_) now_ = next;
  stop_ = now_ >= until;
  run_end_ = std::min(now_ + window_, until);
}

/// The first cycle, from now on to `until`, in which something arrives, goes on or is made. Before it, nobody
/// has anything to do.
Cycle Engine::next_work(Cycle until) const {
  Cycle next = until;
  for (const auto& worker : workers_)
    if (worker->links) next = worker->links->timers.next_due(now_, next);
  for (Cycle c = now_; c < next && c < now_ + state_.slots; ++c) {
    const Mark* row = &state_.awake[(c & (state_.slots - 1)) * state_.slot_inboxes];
    if (std::memchr(row, static_cast<int>(Mark::kYes), state_.slot_inboxes)) next = c;
  }
  for (const auto& worker : workers_) next = worker->timers.next_due(now_, next);
  return next;
}

/// Nothing is under way and no endpoint wants to be asked.
bool Engine::nobody_will_act() const {
  return !std::memchr(state_.awake.data(), static_cast<int>(Mark::kYes), state_.awake.size()) &&
         std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& worker) { return worker->timers.any(); });
}

std::uint64_t Engine::flits_in_network() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->in_network;
  return sum;
}

template <class Route, bool CutThrough, bool Voq>
void Engine::run_threads(const Route& route, Traffic& traffic, const std::vector<Observer*>& observers,
                         Cycle until, Cycle patience) {
  run_end_ = std::min(now_ + window_, until);
  auto going = [&] { return now_ < until && !stalled_ && !stop_ && !rerouted_; };
  if (workers_.size() == 1) {
    Kernel<Route, CutThrough, Voq> kernel(*this, *workers_[0], route, traffic, *observers[0]);
    while (going()) {
      kernel.run(now_, run_end_);
      move_on(until, patience);
    }
    return;
  }
  Barrier meet(static_cast<std::uint32_t>(workers_.size()), [&] { move_on(until, patience); });
  auto work = [&](unsigned t) {
    Kernel<Route, CutThrough, Voq> kernel(*this, *workers_[t], route, traffic, *observers[t]);
    while (going()) {
      kernel.run(now_, run_end_);
      meet.arrive_and_wait();
    }
  };
  if (!team_) team_ = std::make_unique<ThreadTeam>(static_cast<unsigned>(workers_.size()));
  team_->run(work);
}

Counters Engine::counters() const {
  Counters sum;
  for (const auto& worker : workers_) {
    sum.flit_hops += worker->counters.flit_hops;
    sum.flits_injected += worker->counters.flits_injected;
    sum.flits_delivered += worker->counters.flits_delivered;
    sum.packets_created += worker->counters.packets_created;
    sum.packets_delivered += worker->counters.packets_delivered;
    sum.packets_lost += worker->counters.packets_lost;
    sum.packets_refused += worker->counters.packets_refused;
    sum.flits_refused += worker->counters.flits_refused;
  }
  return sum;
}

std::uint32_t Engine::standing(PortId p) const {
  std::uint32_t flits = 0;
  unsigned bits = state_.channel_bits + state_.output_bits;
  for (QueueNumber q = p << bits; q < (p + 1) << bits; ++q) flits += state_.queues[q].flits;
  return flits;
}

std::uint64_t Engine::bytes() const {
  std::uint64_t bags = 0;
  for (const Inbox& inbox : state_.inboxes)
    bags += sizeof(Inbox) + inbox.heads.bytes() + inbox.bodies.bytes() + inbox.credits.bytes() +
            inbox.ends.bytes();
  for (const Tile& tile : state_.tiles) {
    for (const auto& bag : tile.asks) bags += bag.bytes();
    for (const auto& bag : tile.ready) bags += bag.bytes();
    for (const auto& bag : tile.senders) bags += bag.bytes();
  }
  return state_.queues.size() * sizeof(Queue) +
         state_.ports.size() * (sizeof(Port) + sizeof(PortRest) + sizeof(std::uint64_t)) +
         state_.channels.size() * sizeof(OutChannel) + senders_.size() * sizeof(Sender) +
         endpoint_router_.size() * 8 + state_.awake.size() + grid_ports_.size() * sizeof(GridPort) +
         port_info_.size() * sizeof(PortInfo) + grid_endpoints_.size() * sizeof(GridEndpoint) + bags;
}

}  // namespace weft::network::flit
