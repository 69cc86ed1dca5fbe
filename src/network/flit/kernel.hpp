// One thread's tiles, cycle by cycle and stage by stage: what arrives, who gets a channel, who gets the
// switch, what leaves. A stage goes over all routers of a tile before the next begins, so its loops are long
// and plain. What leaves a tile arrives some cycles later: for so long a tile can run on alone, with its
// state in a near cache, before the next has its turn.
//
// Nothing may depend on the order of a list: those who ask for the same output are chained to it first, and
// chosen among afterwards by rank. Ranks differ, so the choice is the same in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>

#include "base/hot.hpp"
#include "base/random.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

/// Routing by the general relation: one call for each packet and hop.
struct RelationRoute {};

/// The first set bit at or after `start`, going round; the mask must not be empty.
inline unsigned pick_after(std::uint32_t mask, unsigned start) {
  return (static_cast<unsigned>(std::countr_zero(std::rotr(mask, static_cast<int>(start)))) + start) & 31;
}

template <class Route, bool CutThrough, bool Voq>
class Kernel {
 public:
  Kernel(Engine& engine, Engine::Worker& worker, const Route& route, Traffic& traffic, Observer& observer);
  /// Runs the tiles of this thread from `begin` to before `end`, one tile after the other.
  void run(Cycle begin, Cycle end);

 private:
  static constexpr bool kOnGrid = std::is_same_v<Route, GridRoute>;
  static constexpr std::uint8_t kMatchedInput = 1, kMatchedOutput = 2;
  static constexpr std::uint64_t kMixer = 0x9e3779b97f4a7c15u;
  static constexpr std::uint32_t kAhead = Bag<QueueNumber>::kSlack;  // items whose records are fetched ahead

  /// Where everything is. Each stage copies it to a variable of its own: what nobody else can reach stays in
  /// registers, whatever the stage stores.
  struct Base {
    Queue* queues;
    Port* ports;
    PortRest* rests;
    std::uint64_t* sent;
    OutChannel* outs;
    Inbox* inboxes;
    Mark* awake;
    const std::uint32_t* rows;  // by flight: first inbox of the slot in which it ends
    const GridPort* grid_ports;
    const GridEndpoint* grid_endpoints;
    const std::uint32_t* class_channels;
    const std::uint8_t* channel_class;
    Guard* guard;
    std::uint32_t channel_bits, output_bits, queue_bits;
    std::uint32_t channel_mask;
    Cycle now;
    std::uint64_t coin;  // what chance depends on beside place and packet

    WEFT_HOT PortNumber port_of(QueueNumber q) const { return q >> (Voq ? queue_bits : channel_bits); }
    WEFT_HOT unsigned channel_of(QueueNumber q) const { return (Voq ? q >> output_bits : q) & channel_mask; }
    /// The queue, or the first of the queues, of an input's channel.
    WEFT_HOT QueueNumber first_queue(ChannelNumber channel) const {
      return Voq ? channel << output_bits : channel;
    }
    WEFT_HOT OutChannel& out_channel(PortNumber port, unsigned channel) const {
      return outs[(port << channel_bits) + channel];
    }
    /// Where to put what arrives after a flight in the tile of `inbox`.
    WEFT_HOT Inbox& inbox_at(std::uint32_t inbox, unsigned flight) const {
      std::uint32_t at = rows[flight] + inbox;
      awake[at] = Mark::kYes;
      return inboxes[at];
    }
  };

  void run_tile(std::uint32_t t, Cycle now);

  // Endpoints (kernel_endpoints.hpp)
  void create_packets(Cycle now);
  void hand_over_deliveries() {
    observer_.delivered_all(w_.deliveries);
    w_.deliveries.clear();
  }
  void create(const Creation& creation, Cycle now);
  void queue_packet(PacketId id, Cycle now);
  void lose(PacketId id, Cycle now);
  void send_from_endpoints(Tile& tile);
  bool start_packet(const Base& b, Sender& sender, EndpointId endpoint);
  bool header_queue_lets(const Sender& sender, PortNumber p);
  void choose_via(PacketRecord& record);
  void deliver(Entry entry);
  std::uint32_t hops_of(const PacketRecord& record) const;
  void count_hop(Entry entry, PortNumber out);

  // Ways (kernel_ways.hpp)
  Tile::Bound find_way(const Base& b, QueueNumber q, Queue& queue, Entry entry);
  void find_way_by_relation(QueueNumber q, Queue& queue, Entry entry);
  void find_way_inside(QueueNumber q, Queue& queue, Entry entry);
  void remember_ways(Queue& queue);
  bool recall_ways(PortNumber in, const Queue& queue, Entry entry);
  PortNumber choose_way(QueueNumber q, Queue& queue, std::uint32_t& open);
  PortNumber choose_inner(QueueNumber q, Entry entry, std::uint32_t& open);
  PortNumber least_loaded(PortNumber in, Entry entry, bool must_be_open, std::uint32_t& channels);
  routing::Hop hop_of(PortNumber in, unsigned channel, Entry entry);
  std::uint32_t channels_of(unsigned message_class) const;
  unsigned load_of(PortNumber port) const;
  unsigned queue_behind(PortNumber port);
  struct Crowd {
    unsigned queue;      // flits standing
    unsigned by_chance;  // flits that stand there now and then without anything being wrong
    bool full;           // no room for the packet on any channel it may take
  };
  Crowd least_crowd(PortNumber first_port, const routing::Hop& hop, const PacketRecord& record);

  // Arrivals
  void take_credits(const Inbox& inbox);
  void take_heads(Tile& tile, const Inbox& inbox);
  void take_bodies(Tile& tile, const Inbox& inbox);
  QueueNumber queue_for(const Base& b, ChannelNumber to, Entry entry);

  // Channels (kernel_channels.hpp)
  void allocate_channels(Tile& tile);
  void allocate_channels(Bag<QueueNumber>& asks, Bag<QueueNumber>& again, Bag<QueueNumber>& ready);
  void bid_without_channels(Tile& tile);
  static std::uint32_t channels_with_room(const Base& b, const Queue& queue);
  void take_channel(const Base& b, Queue& queue);
  QueueNumber* grant_channels(QueueNumber* ready, Bag<QueueNumber>& again, PortNumber out);
  QueueNumber* grant_two(QueueNumber* ready, Bag<QueueNumber>& again, PortNumber out, QueueNumber first,
                         QueueNumber second);
  void give_channel(const Base& b, QueueNumber q, Queue& queue, PortNumber out, std::uint32_t offered);
  static std::uint32_t open_channels(const Base& b, PortNumber out, std::uint32_t wanted, unsigned flits);

  // The switch (kernel_switch.hpp)
  void allocate_switch(Tile& tile);
  bool may_send(const Base& b, const Queue& queue, const Port& out);
  void bid(const Base& b, QueueNumber q, PortNumber*& outputs);
  bool bid_without_partner(const std::uint32_t (&first_loser)[Tile::kBounds]);
  WEFT_HOT static unsigned bound_of(const Port& out) { return out.flags & Port::kEndpoint; }
  WEFT_HOT void bid_again(QueueNumber q, const Port& out) { bids_again_[bound_of(out)].push(q); }
  template <bool OneRound>
  void match(Tile& tile, bool first_round);
  void contest_output(Port& out, QueueNumber q);
  void contest_input(Port& in, PortNumber out);
  bool send(const Base& b, Tile& tile, const Port& from, Port& port, QueueNumber q);
  void send_specially(const Base& b, Port& port, const Queue& queue, bool head, bool tail);
  void next_packet(const Base& b, Tile& tile, QueueNumber q, Queue& queue);

  // Links that can fail (kernel_links.hpp)
  void take_from_links(Cycle now);
  void give_to_links(Cycle now);
  /// Where their inboxes are, counted as if it were a tile.
  std::uint32_t links_tile() const { return static_cast<std::uint32_t>(e_.state_.tiles.size()) + w_.index; }

  /// Who goes first: the lowest. Ports that yield come last, then turns decide, or age and then turns.
  struct Rank {
    std::uint64_t major, turn;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };
  static constexpr Rank kLastRank{~std::uint64_t{0}, ~std::uint64_t{0}};
  WEFT_HOT Rank rank_of(QueueNumber q, std::uint64_t turn) const {
    std::uint64_t major = b_.ports[b_.port_of(q)].yields();
    if (oldest_first_) [[unlikely]]
      major = major << 56 | e_.packets_[Entry(b_.queues[q].entry).id()].created;
    return {major, turn};
  }

  // Buffers: each channel has its own share, and what goes beyond it comes from what the port's channels
  // share.
  WEFT_HOT static bool has_room(const OutChannel& channel, const Port& port, unsigned flits) {
    if (channel.used + flits <= port.room) [[likely]]
      return true;
    unsigned own = channel.used < port.room ? port.room - channel.used : 0;
    return own + port.spare >= flits;
  }
  WEFT_HOT static void take_room(OutChannel& channel, Port& port, unsigned flits) {
    unsigned before = channel.used;
    channel.used = static_cast<std::uint16_t>(before + flits);
    if (channel.used > port.room) [[unlikely]]
      port.spare =
          static_cast<std::uint16_t>(port.spare - (channel.used - std::max<unsigned>(before, port.room)));
  }

  Engine& e_;
  Engine::Worker& w_;
  const Route& route_;
  Traffic& traffic_;
  Observer& observer_;
  const Settings& s_;
  const unsigned channels_, all_channels_, route_cycles_, allocate_cycles_;
  const bool oldest_first_, only_turns_, inner_, shares_, moves_turns_, vias_, chooses_;
  const PortInfo* const port_info_;
  Base b_;
  std::vector<std::uint32_t> rows_;
  Counters counters_;                       // of this run
  Bag<QueueNumber>* bids_again_ = nullptr;  // by bound: queues that bid for the switch in the next cycle
  routing::Candidates candidates_;
};

template <class Route, bool CutThrough, bool Voq>
Kernel<Route, CutThrough, Voq>::Kernel(Engine& engine, Engine::Worker& worker, const Route& route,
                                       Traffic& traffic, Observer& observer)
    : e_(engine),
      w_(worker),
      route_(route),
      traffic_(traffic),
      observer_(observer),
      s_(engine.settings_),
      channels_(engine.settings_.channels),
      all_channels_(engine.settings_.all_channels()),
      route_cycles_(engine.settings_.route_cycles),
      allocate_cycles_(engine.settings_.allocate_cycles),
      oldest_first_(engine.settings_.allocator == Allocator::Age),
      only_turns_(!oldest_first_ && engine.settings_.local_yield.empty()),
      inner_(engine.settings_.router.inner_stages > 0),
      shares_(engine.settings_.shared_flits > 0 || inner_),
      moves_turns_(engine.settings_.allocator == Allocator::RoundRobin),
      vias_(engine.routing_->via_count() > 0),
      chooses_(vias_ && engine.routing_->may_go_direct()),
      port_info_(engine.port_info_.data()) {
  State& state = engine.state_;
  b_.queues = state.queues.data();
  b_.ports = state.ports.data();
  b_.rests = state.rests.data();
  b_.sent = state.sent.data();
  b_.outs = state.channels.data();
  b_.inboxes = state.inboxes.data();
  b_.awake = state.awake.data();
  b_.grid_ports = engine.grid_ports_.data();
  b_.grid_endpoints = engine.grid_endpoints_.data();
  b_.class_channels = engine.class_channels_.data();
  b_.channel_class = engine.channel_class_.data();
  b_.guard = engine.guard_;
  b_.channel_bits = state.channel_bits;
  b_.output_bits = state.output_bits;
  b_.queue_bits = state.channel_bits + state.output_bits;
  b_.channel_mask = (1u << state.channel_bits) - 1;
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::run(Cycle begin, Cycle end) {
  counters_ = {};
  for (Cycle now = begin; now < end; ++now) create_packets(now);
  State& state = e_.state_;
  const std::size_t flights = state.flights.size();
  const std::uint32_t slot_mask = state.slots - 1, slot_inboxes = state.slot_inboxes;
  rows_.resize((end - begin) * flights);
  for (Cycle now = begin; now < end; ++now)
    for (std::size_t i = 0; i < flights; ++i)
      rows_[(now - begin) * flights + i] =
          (static_cast<std::uint32_t>(now + state.flights[i]) & slot_mask) * slot_inboxes;
  if (b_.guard) take_from_links(begin);  // with a guard a run is one cycle
  for (std::uint32_t t = w_.tile_begin; t < w_.tile_end; ++t)
    for (Cycle now = begin; now < end; ++now) {
      b_.rows = &rows_[(now - begin) * flights];
      run_tile(t, now);
    }
  if (b_.guard) give_to_links(begin);
  if (!w_.deliveries.empty()) hand_over_deliveries();
  w_.counters.flit_hops += counters_.flit_hops;
  w_.counters.flits_injected += counters_.flits_injected;
  w_.counters.flits_delivered += counters_.flits_delivered;
  w_.in_network += counters_.flits_injected - counters_.flits_delivered;
}

/// One cycle of one tile.
template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::run_tile(std::uint32_t t, Cycle now) {
  State& state = e_.state_;
  const unsigned threads = s_.threads;
  const std::size_t here = e_.inbox_index(now, t);
  bool awake = false;
  for (std::size_t i = here; i < here + threads; ++i) {
    awake |= b_.awake[i] == Mark::kYes;
    b_.awake[i] = Mark::kNo;
  }
  if (!awake) return;
  b_.now = now;
  b_.coin = (now ^ s_.seed << 48) * kMixer;
  Tile& tile = state.tiles[t];
  for (std::size_t i = here; i < here + threads; ++i) take_credits(b_.inboxes[i]);
  for (std::size_t i = here; i < here + threads; ++i) {
    Inbox& inbox = b_.inboxes[i];
    if (!inbox.heads.empty()) take_heads(tile, inbox);
    if (!inbox.bodies.empty()) take_bodies(tile, inbox);
    inbox.heads.clear();
    inbox.bodies.clear();
    inbox.credits.clear();
  }
  const auto any = [](const Bag<QueueNumber>* bags) {
    return !bags[Tile::kOnward].empty() || !bags[Tile::kOut].empty();
  };
  if (any(&tile.asks_in(now, 0))) allocate_channels(tile);
  if (any(&tile.ready_in(now, 0))) allocate_switch(tile);
  if (!tile.senders[now & 1].empty()) send_from_endpoints(tile);
  if (!tile.at_rest()) b_.awake[e_.inbox_index(now + 1, t) + w_.index] = Mark::kYes;
}

// --- arrivals
// ------------------------------------------------------------------------------------------------

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::take_credits(const Inbox& inbox) {
  OutChannel* const outs = b_.outs;
  if (!shares_) {
    for (ChannelNumber channel : inbox.credits) --outs[channel].used;
    return;
  }
  for (ChannelNumber channel : inbox.credits) {
    Port& port = b_.ports[channel >> b_.channel_bits];
    if (outs[channel].used-- > port.room) ++port.spare;
  }
}

/// The queue for a packet that arrives. Where there is one for each output, the way is found on arrival.
template <class Route, bool CutThrough, bool Voq>
WEFT_HOT QueueNumber Kernel<Route, CutThrough, Voq>::queue_for(const Base& b, ChannelNumber to, Entry entry) {
  if constexpr (!Voq) return to;
  Queue scratch = {};
  scratch.entry = entry.bits();
  find_way(b, b.first_queue(to), scratch, entry);
  std::uint32_t open = 0;
  PortNumber out = scratch.out;
  if (out == kUndecided) out = choose_way(b.first_queue(to), scratch, open);
  PortNumber first = port_info_[to >> b.channel_bits].first;
  QueueNumber q = b.first_queue(to) | (out == kUndecided ? 0 : out - first);
  e_.state_.receiving[to] = q;
  return q;
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::take_heads(Tile& tile, const Inbox& inbox) {
  const Base b = b_;
  Bag<QueueNumber>* asks = &tile.asks_in(b.now + route_cycles_, 0);
  asks[Tile::kOnward].reserve(inbox.heads.size());
  asks[Tile::kOut].reserve(inbox.heads.size());
  QueueNumber *onward = asks[Tile::kOnward].end(), *out = asks[Tile::kOut].end();
  for (const HeadFlit& head : inbox.heads) {
    __builtin_prefetch(&b.queues[b.first_queue((&head)[kAhead].to)], 1);
    Entry entry(head.entry);
    QueueNumber q = queue_for(b, head.to, entry);
    Queue& queue = b.queues[q];
    ++queue.flits;
    if (queue.empty()) [[likely]] {
      queue.entry = entry.bits();
      queue.set_left(entry.flits());
      if (find_way(b, q, queue, entry) == Tile::kOut)
        *out++ = q;
      else
        *onward++ = q;
    } else {
      e_.packets_.behind(queue.last()) = entry.bits();
    }
    queue.set_last(entry.id());
  }
  asks[Tile::kOnward].set_end(onward);
  asks[Tile::kOut].set_end(out);
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::take_bodies(Tile& tile, const Inbox& inbox) {
  const Base b = b_;
  Bag<QueueNumber>* ready = &tile.ready_in(b.now, 0);
  ready[Tile::kOnward].reserve(inbox.bodies.size());
  ready[Tile::kOut].reserve(inbox.bodies.size());
  QueueNumber* ends[] = {ready[Tile::kOnward].end(), ready[Tile::kOut].end()};
  for (const ChannelNumber& to : inbox.bodies) {
    __builtin_prefetch(&b.queues[b.first_queue((&to)[kAhead])], 1);
    QueueNumber q = Voq ? e_.state_.receiving[to] : to;
    Queue& queue = b.queues[q];
    ++queue.flits;
    // No branches: each would be a guess.
    QueueNumber*& end = ends[queue.leaves()];
    *end = q;
    end += (queue.word & (Queue::kActive | Queue::kReady)) == Queue::kActive;
    queue.word |= (queue.word & Queue::kActive) * (Queue::kReady / Queue::kActive);
  }
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) ready[bound].set_end(ends[bound]);
}

}  // namespace weft::network::flit
