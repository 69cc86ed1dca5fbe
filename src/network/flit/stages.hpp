// One thread's tiles, cycle by cycle and stage by stage: what arrives, who gets a channel, who gets the
// switch, what leaves. A stage goes over all routers of a tile before the next begins, so its loops are long
// and plain. What leaves a tile arrives some cycles later: for so long a tile can run on alone, with its
// state in a near cache, before the next has its turn.
//
// Nothing may depend on the order of a list: those who request the same output are chained to it first, and
// chosen among afterwards by rank. Ranks differ, so the choice is the same in any order.
#pragma once

#include <algorithm>
#include <bit>
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
        senders_(fabric.own_threads()),
        seed_(fabric.settings.seed << 48),
        last_slot_(fabric.state.slots - 1),
        flights_(fabric.state.flights.size()),
        at_(fabric, routes, sources),
        routes_(fabric, routes, sources, route, at_),
        ejection_(fabric, sources, worker, route, at_),
        multicast_(fabric, routes, sources, ejection_, links, worker, at_),
        arrivals_(fabric, sources, routes_, multicast_, at_),
        channels_(fabric.settings, routes_, at_),
        switch_(fabric, sources, routes_, ejection_, links, worker, at_),
        injection_(fabric, sources, routes_, routes, links, worker, at_) {
    if (links) link_traffic_.emplace(fabric, sources, *links, worker);
    from_.resize(senders_);
    const State& state = fabric.state;
    rows_.reserve(state.slots * state.flights.size());
    for (Cycle slot = 0; slot < state.slots; ++slot)
      for (std::uint16_t flight : state.flights) rows_.push_back(fabric.row(slot + flight, worker.index));
  }

  void run(Cycle begin, Cycle end) override;

 private:
  void find_due_tiles(Cycle begin, Cycle end);
  void add_due_tiles(std::uint64_t marks, std::uint32_t first);
  unsigned gather(std::uint32_t t, Mark* const* mark);
  void run_tile(std::uint32_t t, Cycle now, unsigned from);

  using ManyMarks = std::uint64_t __attribute__((vector_size(32)));  // one bit of each byte is used

  Fabric& fabric_;
  Sources& sources_;
  Worker& worker_;
  const unsigned senders_;  // threads of this process
  const std::uint64_t seed_;
  const Cycle last_slot_;
  const std::size_t flights_;
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
  std::vector<Mark*> marks_;         // of the first tile, by cycle of the window and sending thread
};

template <class V>
void Stages<V>::run(Cycle begin, Cycle end) {
  for (Cycle now = begin; now < end; ++now)
    if (worker_.timers.may_fire(now)) injection_.create_packets(now);
  if (link_traffic_) link_traffic_->take(begin);  // with a link layer a run is one cycle
  const auto run_window = [&](std::uint32_t t) {
    Mark* const* mark = marks_.data();
    for (Cycle now = begin; now < end; ++now, mark += senders_)
      if (const unsigned from = gather(t, mark)) run_tile(t, now, from);
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
  worker_.tiles.tiles.clear();
  marks_.clear();
  for (Cycle now = begin; now < end; ++now)
    for (unsigned sender = 0; sender < senders_; ++sender)
      marks_.push_back(&at_.awake[fabric_.row(now, fabric_.first_thread + sender)]);
  std::uint32_t done = 0;
  const auto any_of = [&]<class Marks>(Marks any) {
    for (const Mark* row : marks_) {
      Marks one;
      std::memcpy(&one, row + first + done, sizeof one);
      any |= one;
    }
    return any;
  };
  for (; done + sizeof(ManyMarks) <= count; done += sizeof(ManyMarks)) {
    const ManyMarks any = any_of(ManyMarks{});
    for (unsigned word = 0; word < sizeof any / sizeof any[0]; ++word)
      add_due_tiles(any[word], first + done + word * 8);
  }
  for (; done + 8 <= count; done += 8) add_due_tiles(any_of(std::uint64_t{0}), first + done);
  for (; done < count; ++done) add_due_tiles(any_of(std::uint8_t{0}), first + done);
}

/// Of eight tiles from `first` on, those whose byte is set.
template <class V>
WEFT_HOT void Stages<V>::add_due_tiles(std::uint64_t marks, std::uint32_t first) {
  static_assert(std::endian::native == std::endian::little);
  for (; marks; marks &= marks - 1)  // a mark is one bit
    worker_.tiles.tiles.push_back(first + static_cast<std::uint32_t>(std::countr_zero(marks)) / 8);
}

/// Finds the inboxes in which a tile has something to do in a cycle, and returns how many there are. `mark`:
/// those of the first tile in this cycle, by sending thread.
template <class V>
WEFT_HOT unsigned Stages<V>::gather(std::uint32_t t, Mark* const* mark) {
  unsigned count = 0;
  for (unsigned sender = 0; sender < senders_; ++sender) {
    Mark* const at = mark[sender] + t;
    if (*at == Mark::kNo) continue;  // read only: its thread is about to write beside it
    *at = Mark::kNo;
    from_[count++] = &at_.inboxes[at - at_.awake];
  }
  return count;
}

/// One cycle of one tile that has something to do.
template <class V>
void Stages<V>::run_tile(std::uint32_t t, Cycle now, unsigned from) {
  at_.now = now;
  at_.rows = &rows_[(now & last_slot_) * flights_];
  at_.coin = (now ^ seed_) * kMixer;
  Tile& tile = fabric_.state.tiles[t];
  for (unsigned i = 0; i < from; ++i) arrivals_.take_credits(*from_[i]);
  for (unsigned i = 0; i < from; ++i) {
    Inbox* const inbox = from_[i];
    arrivals_.take_flits(tile, *inbox);
    inbox->heads.clear();
    inbox->bodies.clear();
    inbox->credits.clear();
    inbox->due.clear();
  }
  const auto any = [](const Bag<QueueNumber>* bags) {
    return (bags[Tile::kOnward].size() | bags[Tile::kOut].size()) != 0;
  };
  if (any(&tile.channel_requests_in(now, 0))) channels_.allocate(tile);
  if constexpr (V::kMulticast) multicast_.serve(t);
  if (any(&tile.switch_requests_in(now, 0))) switch_.allocate(tile);
  if (!tile.senders[now & 1].empty()) injection_.send(tile);
  const bool at_rest = tile.at_rest() && (!V::kMulticast || multicast_.at_rest(t));
  if (!at_rest) at_.awake[fabric_.inbox_index(now + 1, t, worker_.index)] = Mark::kYes;
}

}  // namespace weft::network::flit
