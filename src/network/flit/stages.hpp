// One thread's tiles, cycle by cycle and stage by stage: what arrives, who gets a channel, who gets the
// switch, what leaves. A stage goes over all routers of a tile before the next begins, so its loops are long
// and plain. What leaves a tile arrives some cycles later: for so long a tile can run on alone, with its
// state in a near cache, before the next has its turn.
//
// Nothing may depend on the order of a list: those who request the same output are chained to it first, and
// chosen among afterwards by rank. Ranks differ, so the choice is the same in any order.
#pragma once

#include <cstring>
#include <optional>
#include <utility>

#include "network/flit/arrivals.hpp"
#include "network/flit/channel_allocator.hpp"
#include "network/flit/ejection.hpp"
#include "network/flit/injection.hpp"
#include "network/flit/link_traffic.hpp"
#include "network/flit/multicast.hpp"
#include "network/flit/pipeline.hpp"
#include "network/flit/route_computation.hpp"
#include "network/flit/switch_allocator.hpp"

namespace weft::network::flit {

template <class V>
class Stages final : public Pipeline {
 public:
  Stages(Fabric& fabric, Routes& routes, Sources& sources, LinkLayer* links, Worker& worker,
         const typename V::Route& route)
      : fabric_(fabric),
        sources_(sources),
        worker_(worker),
        at_(fabric, routes, sources),
        routes_(fabric, routes, sources, route, at_),
        ejection_(fabric, sources, worker, route, at_),
        multicast_(fabric, routes, sources, ejection_, links, worker, at_),
        arrivals_(fabric, sources, routes_, multicast_, at_),
        channels_(fabric.settings, routes_, at_),
        switch_(fabric, sources, routes_, ejection_, links, worker, at_),
        injection_(fabric, sources, routes_, routes, links, worker, at_) {
    if (links) link_traffic_.emplace(fabric, sources, *links, worker);
    const State& state = fabric.state;
    rows_.reserve(state.slots * state.flights.size());
    for (Cycle slot = 0; slot < state.slots; ++slot)
      for (std::uint16_t flight : state.flights) rows_.push_back(fabric.row(slot + flight, worker.index));
  }

  void run(Cycle begin, Cycle end) override;

 private:
  void find_due_tiles(Cycle begin, Cycle end);
  void run_tile(std::uint32_t t, Cycle now);

  Fabric& fabric_;
  Sources& sources_;
  Worker& worker_;
  Records<V::kVoq> at_;
  RouteComputation<V> routes_;
  Ejection<V> ejection_;
  Multicast<V> multicast_;
  Arrivals<V> arrivals_;
  ChannelAllocator<V> channels_;
  SwitchAllocator<V> switch_;
  Injection<V> injection_;
  std::optional<LinkTraffic> link_traffic_;
  std::vector<std::uint32_t> rows_;  // by slot and flight: our first inbox of the slot in which it ends
  std::vector<Inbox*> from_;         // of a tile in a cycle: those in which something is
  std::vector<std::uint8_t> due_;  // by tile of the share: it is on the list
};

template <class V>
void Stages<V>::run(Cycle begin, Cycle end) {
  for (Cycle now = begin; now < end; ++now) injection_.create_packets(now);
  if (link_traffic_) link_traffic_->take(begin);  // with a link layer a run is one cycle
  const auto run_window = [&](std::uint32_t t) {
    for (Cycle now = begin; now < end; ++now) run_tile(t, now);
  };
  find_due_tiles(begin, end);
  worker_.tiles.open();
  for (std::uint32_t t; worker_.tiles.take(t);) run_window(t);
  if constexpr (!V::kMulticast)  // rounds of a reduction belong to threads
    for (TilesLeft* other : worker_.others)
      for (std::uint32_t t; other->take(t);) run_window(t);
  if (link_traffic_) link_traffic_->give(begin);
  ejection_.hand_over();
  CycleCounters moved;
  switch_.add_to(moved);
  injection_.add_to(moved);
  if constexpr (V::kMulticast) multicast_.add_to(moved, worker_.copied);
  worker_.counters.flit_hops += moved.flit_hops;
  worker_.counters.flits_injected += moved.flits_injected;
  worker_.counters.flits_delivered += moved.flits_delivered;
  worker_.in_network += moved.flits_injected - moved.flits_delivered;
  sources_.packets.give_back(worker_.free);
}

/// Tiles at which something arrives or goes on in a window. What others send in it arrives after it, so these
/// are all that will have something to do.
template <class V>
void Stages<V>::find_due_tiles(Cycle begin, Cycle end) {
  const std::uint32_t first = worker_.share.tile_begin, count = worker_.share.tile_end - first;
  std::vector<std::uint32_t>& tiles = worker_.tiles.tiles;
  tiles.clear();
  due_.resize(count);
  for (Cycle now = begin; now < end; ++now)
    for (unsigned sender = 0; sender < fabric_.own_threads(); ++sender) {
      const Mark* const marks = &at_.awake[fabric_.inbox_index(now, first, fabric_.first_thread + sender)];
      for (std::uint32_t i = 0; i < count; ++i) {
        const void* const found = std::memchr(marks + i, static_cast<int>(Mark::kYes), count - i);
        if (!found) break;
        i = static_cast<std::uint32_t>(static_cast<const Mark*>(found) - marks);
        if (!std::exchange(due_[i], true)) tiles.push_back(first + i);
      }
    }
  for (std::uint32_t tile : tiles) due_[tile - first] = false;
}

/// One cycle of one tile.
template <class V>
void Stages<V>::run_tile(std::uint32_t t, Cycle now) {
  from_.clear();
  for (unsigned sender = 0; sender < fabric_.own_threads(); ++sender) {
    const std::size_t i = fabric_.inbox_index(now, t, fabric_.first_thread + sender);
    if (at_.awake[i] == Mark::kNo) continue;  // read only: its thread is about to write beside it
    at_.awake[i] = Mark::kNo;
    from_.push_back(&at_.inboxes[i]);
  }
  if (from_.empty()) return;
  at_.now = now;
  at_.rows = &rows_[(now & (fabric_.state.slots - 1)) * fabric_.state.flights.size()];
  at_.coin = (now ^ fabric_.settings.seed << 48) * kMixer;
  Tile& tile = fabric_.state.tiles[t];
  for (const Inbox* inbox : from_) arrivals_.take_credits(*inbox);
  for (Inbox* inbox : from_) {
    arrivals_.take_flits(tile, *inbox);
    inbox->heads.clear();
    inbox->bodies.clear();
    inbox->credits.clear();
    inbox->due.clear();
  }
  const auto any = [](const Bag<QueueNumber>* bags) {
    return !bags[Tile::kOnward].empty() || !bags[Tile::kOut].empty();
  };
  if (any(&tile.channel_requests_in(now, 0))) channels_.allocate(tile);
  if constexpr (V::kMulticast) multicast_.serve(t);
  if (any(&tile.switch_requests_in(now, 0))) switch_.allocate(tile);
  if (!tile.senders[now & 1].empty()) injection_.send(tile);
  const bool at_rest = tile.at_rest() && (!V::kMulticast || multicast_.at_rest(t));
  if (!at_rest) at_.awake[fabric_.inbox_index(now + 1, t, worker_.index)] = Mark::kYes;
}

}  // namespace weft::network::flit
