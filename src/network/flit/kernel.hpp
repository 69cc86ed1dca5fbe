// One cycle of one thread's tiles, stage by stage: what arrives, who gets a channel, who gets the switch, what
// leaves. A stage goes over all routers of a tile before the next begins, so its loops are long and plain.
//
// Nothing may depend on the order of a list: those who ask for the same output are chained to it first, and
// chosen among afterwards by rank. Ranks differ, so the choice is the same in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>

#include "base/random.hpp"
#include "network/flit/grid_route.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

/// Routing by the general relation: one call for each packet and hop.
struct RelationRoute {};

/// The first set bit at or after `start`, going round; the mask must not be empty.
inline unsigned pick_after(std::uint32_t mask, unsigned start) {
  auto later = static_cast<std::uint32_t>(mask & ~std::uint64_t{0} << start);
  return static_cast<unsigned>(std::countr_zero(later ? later : mask));
}

#define WEFT_HOT [[gnu::always_inline]] inline

template <class Route, bool CutThrough>
class Kernel {
 public:
  Kernel(Engine& engine, Engine::Worker& worker, const Route& route, Traffic& traffic, Observer& observer);
  void cycle(Cycle now);

 private:
  static constexpr bool kOnGrid = std::is_same_v<Route, GridRoute>;
  static constexpr std::uint8_t kMatchedInput = 1, kMatchedOutput = 2;
  static constexpr std::uint32_t kAhead = 8;  // items of a list whose records are fetched ahead

  // Endpoints (kernel_endpoints.hpp)
  void create(EndpointId source);
  void queue_packet(PacketId id);
  void lose(PacketId id);
  void send_from_endpoints(Tile& tile);
  bool start_packet(Sender& sender, EndpointId endpoint);
  void choose_via(PacketRecord& record);
  void deliver(Entry entry);
  std::uint32_t hops_of(const PacketRecord& record) const;

  // Ways (kernel_ways.hpp)
  void find_way(QueueNumber q, Queue& queue, Entry entry);
  void find_way_by_relation(QueueNumber q, Queue& queue, Entry entry);
  void find_way_in_tiles(QueueNumber q, Queue& queue, Entry entry);
  PortNumber choose_row(QueueNumber q, Entry entry, std::uint32_t& open);
  routing::Hop hop_of(PortNumber in, unsigned channel, Entry entry);
  std::uint32_t channels_of(unsigned message_class) const;
  PortNumber choose_way(QueueNumber q, Queue& queue, std::uint32_t& open);
  PortNumber least_loaded(PortNumber in, Entry entry, bool must_be_open, std::uint32_t& channels);
  unsigned load_of(PortNumber port) const;
  unsigned least_load(PortNumber first_port, const routing::Hop& hop);
  unsigned coin(std::uint32_t router, EndpointId destination) const;

  // Arrivals
  void take_credits(const Inbox& inbox);
  void take_heads(Tile& tile, const Inbox& inbox);
  void take_bodies(Tile& tile, const Inbox& inbox);
  QueueNumber queue_for(ChannelNumber to, Entry entry);
  void start_head(Tile& tile, QueueNumber q, Queue& queue, unsigned delay);

  // Channels
  void allocate_channels(Tile& tile);
  void grant_channels(Tile& tile, PortNumber out);
  void give_channel(Tile& tile, QueueNumber q, Queue& queue, PortNumber out, std::uint32_t offered);
  std::uint32_t open_channels(PortNumber out, std::uint32_t wanted, unsigned flits) const;

  // The switch
  void allocate_switch(Tile& tile);
  bool may_send(const Queue& queue, const Port& out) const;
  bool bid_again(const Bag<QueueNumber>& ready);
  void match(Tile& tile, bool first_round);
  QueueNumber choose_input(const Port& out) const;
  PortNumber choose_output(const Port& in) const;
  void send(Tile& tile, PortNumber in, PortNumber out, QueueNumber q);

  // Links that can fail (kernel_links.hpp)
  void take_from_links();
  void give_to_links();

  /// Who goes first: the lowest. Ports that yield come last, then turns decide, or age and then turns.
  struct Rank {
    std::uint64_t major, turn;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };
  static constexpr Rank kLastRank{~std::uint64_t{0}, ~std::uint64_t{0}};
  Rank rank_of(QueueNumber q, std::uint64_t turn) const {
    std::uint64_t major = ports_[port_of(q)].yields();
    if (oldest_first_) major = major << 56 | e_.packets_[Entry(queues_[q].entry).id()].created;
    return {major, turn};
  }

  // Buffers: each channel has its own share, and what goes beyond it comes from what the port's channels
  // share.
  WEFT_HOT static bool has_room(const OutChannel& channel, const Port& port, unsigned flits) {
    if (channel.used + flits <= port.room) return true;
    if (port.shared == 0) return false;
    unsigned own = channel.used < port.room ? port.room - channel.used : 0;
    return own + port.shared - port.shared_used >= flits;
  }
  WEFT_HOT static void take_room(OutChannel& channel, Port& port, unsigned flits) {
    unsigned before = channel.used;
    channel.used = static_cast<std::uint16_t>(before + flits);
    if (channel.used > port.room) [[unlikely]]
      port.shared_used =
          static_cast<std::uint16_t>(port.shared_used + channel.used - std::max<unsigned>(before, port.room));
  }

  WEFT_HOT PortNumber port_of(QueueNumber q) const { return q >> queue_bits_; }
  WEFT_HOT unsigned channel_of(QueueNumber q) const { return q >> output_bits_ & channel_mask_; }
  WEFT_HOT Inbox& inbox_at(std::uint32_t base, unsigned flight) {
    std::uint32_t slot = (static_cast<std::uint32_t>(now_) + flight) & slot_mask_;
    sent_to_[slot] = 1;
    return inboxes_[base + slot * threads_];
  }

  Engine& e_;
  Engine::Worker& w_;
  const Route& route_;
  Traffic& traffic_;
  Observer& observer_;
  const Settings& s_;
  const unsigned channel_bits_, output_bits_, queue_bits_, ring_bits_;
  const std::uint32_t channel_mask_, ring_mask_, slot_mask_, threads_;
  const unsigned channels_, all_channels_, route_cycles_, allocate_cycles_;
  const bool oldest_first_, shares_, vias_;
  Queue* const queues_;
  std::uint64_t* const rings_;
  Port* const ports_;
  OutChannel* const outs_;
  Inbox* const inboxes_;
  std::uint8_t* const sent_to_;
  const std::uint32_t* const class_channels_;
  const std::uint8_t* const channel_class_;
  const PortInfo* const port_info_;
  const GridRoute::Place* const endpoint_place_;
  Cycle now_ = 0;
  Counters counters_;  // of this cycle
  routing::Candidates candidates_;
};

template <class Route, bool CutThrough>
Kernel<Route, CutThrough>::Kernel(Engine& engine, Engine::Worker& worker, const Route& route, Traffic& traffic,
                                  Observer& observer)
    : e_(engine),
      w_(worker),
      route_(route),
      traffic_(traffic),
      observer_(observer),
      s_(engine.settings_),
      channel_bits_(engine.state_.channel_bits),
      output_bits_(engine.state_.output_bits),
      queue_bits_(channel_bits_ + output_bits_),
      ring_bits_(engine.state_.ring_bits),
      channel_mask_((1u << channel_bits_) - 1),
      ring_mask_((1u << ring_bits_) - 1),
      slot_mask_(engine.state_.slots - 1),
      threads_(engine.settings_.threads),
      channels_(engine.settings_.channels),
      all_channels_(engine.settings_.all_channels()),
      route_cycles_(engine.settings_.route_cycles),
      allocate_cycles_(engine.settings_.allocate_cycles),
      oldest_first_(engine.settings_.allocator == Allocator::Age),
      shares_(engine.settings_.shared_flits > 0),
      vias_(engine.routing_->via_count() > 0),
      queues_(engine.state_.queues.data()),
      rings_(engine.state_.rings.data()),
      ports_(engine.state_.ports.data()),
      outs_(engine.state_.channels.data()),
      inboxes_(engine.state_.inboxes.data()),
      sent_to_(worker.sent_to.data()),
      class_channels_(engine.class_channels_.data()),
      channel_class_(engine.channel_class_.data()),
      port_info_(engine.port_info_.data()),
      endpoint_place_(engine.endpoint_place_.data()) {}

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::cycle(Cycle now) {
  now_ = now;
  counters_ = {};
  w_.timers.fire(now, [&](EndpointId endpoint) { create(endpoint); });
  const std::uint32_t slot = static_cast<std::uint32_t>(now) & slot_mask_;
  if (!w_.guarded.empty()) take_from_links();
  for (std::uint32_t t = w_.tile_begin; t < w_.tile_end; ++t) {
    Tile& tile = e_.state_.tiles[t];
    Inbox* inboxes = inboxes_ + (std::size_t{t} * (slot_mask_ + 1) + slot) * threads_;
    for (unsigned from = 0; from < threads_; ++from) take_credits(inboxes[from]);
    for (unsigned from = 0; from < threads_; ++from) {
      take_heads(tile, inboxes[from]);
      take_bodies(tile, inboxes[from]);
      inboxes[from].heads.clear();
      inboxes[from].bodies.clear();
      inboxes[from].credits.clear();
    }
    allocate_channels(tile);
    allocate_switch(tile);
    send_from_endpoints(tile);
  }
  sent_to_[slot] = 0;
  if (!w_.guarded.empty()) give_to_links();
  w_.counters.flit_hops += counters_.flit_hops;
  w_.counters.flits_injected += counters_.flits_injected;
  w_.counters.flits_delivered += counters_.flits_delivered;
  w_.in_network += counters_.flits_injected - counters_.flits_delivered;
}

// --- arrivals ------------------------------------------------------------------------------------------------

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::take_credits(const Inbox& inbox) {
  if (!shares_) {
    for (ChannelNumber channel : inbox.credits) --outs_[channel].used;
    return;
  }
  for (ChannelNumber channel : inbox.credits) {
    Port& port = ports_[channel >> channel_bits_];
    if (outs_[channel].used-- > port.room) --port.shared_used;
  }
}

template <class Route, bool CutThrough>
WEFT_HOT QueueNumber Kernel<Route, CutThrough>::queue_for(ChannelNumber to, Entry entry) {
  if (output_bits_ == 0) return to;
  // A queue for each output: the way is found on arrival, before the packet is queued.
  Queue scratch = {};
  scratch.entry = entry.bits();
  find_way(to << output_bits_, scratch, entry);
  std::uint32_t open = 0;
  PortNumber out = scratch.out;
  if (out == kUndecided) out = choose_way(to << output_bits_, scratch, open);
  PortNumber first = port_info_[to >> channel_bits_].first;
  QueueNumber q = to << output_bits_ | (out == kUndecided ? 0 : out - first);
  e_.state_.receiving[to] = q;
  return q;
}

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::take_heads(Tile& tile, const Inbox& inbox) {
  const std::uint32_t count = inbox.heads.size();
  const HeadFlit* heads = inbox.heads.begin();
  Bag<QueueNumber>& asks = tile.asks[(now_ + route_cycles_) & 3];
  asks.reserve(count);
  QueueNumber* end = asks.end();
  for (std::uint32_t i = 0; i < count; ++i) {
    __builtin_prefetch(&queues_[heads[std::min(i + kAhead, count - 1)].to << output_bits_], 1);
    Entry entry(heads[i].entry);
    QueueNumber q = queue_for(heads[i].to, entry);
    Queue& queue = queues_[q];
    ++queue.flits;
    if (queue.packets++ == 0) {
      queue.entry = entry.bits();
      queue.left = static_cast<std::uint16_t>(entry.flits());
      find_way(q, queue, entry);
      *end++ = q;
    } else {
      rings_[(std::size_t{q} << ring_bits_) + ((queue.behind + queue.packets - 2u) & ring_mask_)] =
          entry.bits();
    }
  }
  asks.set_end(end);
}

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::take_bodies(Tile& tile, const Inbox& inbox) {
  const std::uint32_t count = inbox.bodies.size();
  const ChannelNumber* bodies = inbox.bodies.begin();
  Bag<QueueNumber>& ready = tile.ready[now_ & 1];
  ready.reserve(count);
  QueueNumber* end = ready.end();
  for (std::uint32_t i = 0; i < count; ++i) {
    __builtin_prefetch(&queues_[bodies[std::min(i + kAhead, count - 1)]], 1);
    QueueNumber q = output_bits_ ? e_.state_.receiving[bodies[i]] : bodies[i];
    Queue& queue = queues_[q];
    ++queue.flits;
    *end = q;
    end += queue.active & ~queue.ready;
    queue.ready |= queue.active;
  }
  ready.set_end(end);
}

/// The packet now first in its queue looks for its way; it asks for a channel `delay` cycles from now.
template <class Route, bool CutThrough>
WEFT_HOT void Kernel<Route, CutThrough>::start_head(Tile& tile, QueueNumber q, Queue& queue, unsigned delay) {
  Entry entry(queue.entry);
  queue.left = static_cast<std::uint16_t>(entry.flits());
  find_way(q, queue, entry);
  tile.asks[(now_ + delay) & 3].push(q);
}

// --- channels ------------------------------------------------------------------------------------------------

/// Channels of an output a new packet can have now.
template <class Route, bool CutThrough>
WEFT_HOT std::uint32_t Kernel<Route, CutThrough>::open_channels(PortNumber out, std::uint32_t wanted,
                                                                unsigned flits) const {
  const Port& port = ports_[out];
  std::uint32_t open = wanted & port.free_channels;
  if constexpr (CutThrough) {
    if (port.flags & Port::kEndpoint) return open;
    for (std::uint32_t left = open; left; left &= left - 1) {
      unsigned c = static_cast<unsigned>(std::countr_zero(left));
      if (!has_room(outs_[(out << channel_bits_) + c], port, flits)) open &= ~(1u << c);
    }
  }
  return open;
}

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::allocate_channels(Tile& tile) {
  Bag<QueueNumber>& asks = tile.asks[now_ & 3];
  const std::uint32_t count = asks.size();
  if (count == 0) return;
  Bag<QueueNumber>& again = tile.asks[(now_ + 1) & 3];
  again.reserve(count);
  w_.outputs.clear();
  w_.outputs.reserve(count);
  QueueNumber* again_end = again.end();
  PortNumber* touched = w_.outputs.end();
  const QueueNumber* list = asks.begin();
  for (std::uint32_t i = 0; i < count; ++i) {
    __builtin_prefetch(&queues_[list[std::min(i + kAhead, count - 1)]], 1);
    QueueNumber q = list[i];
    Queue& queue = queues_[q];
    PortNumber out = queue.out;
    std::uint32_t open = 0;
    if (!kOnGrid && out == kUndecided)
      out = choose_way(q, queue, open);
    else
      open = open_channels(out, queue.channels, CutThrough ? Entry(queue.entry).flits() : 1);
    if (!open) {
      *again_end++ = q;
      continue;
    }
    Port& port = ports_[out];
    queue.offered = open;
    queue.chain = port.asks;
    *touched = out;
    touched += port.asks == kEnd;
    port.asks = q;
  }
  again.set_end(again_end);
  w_.outputs.set_end(touched);
  asks.clear();
  Bag<QueueNumber>& ready = tile.ready[(now_ + allocate_cycles_) & 1];
  ready.reserve(count);
  for (PortNumber out : w_.outputs) {
    QueueNumber q = ports_[out].asks;
    Queue& queue = queues_[q];
    if (queue.chain != kEnd) {
      grant_channels(tile, out);
    } else {
      ports_[out].asks = kEnd;
      give_channel(tile, q, queue, out, queue.offered);
    }
  }
}

/// Each free channel grants one of those that ask for it; each asker accepts one of its grants.
template <class Route, bool CutThrough>
[[gnu::noinline]] void Kernel<Route, CutThrough>::grant_channels(Tile& tile, PortNumber out) {
  QueueNumber first = ports_[out].asks;
  ports_[out].asks = kEnd;
  std::uint32_t any = 0;
  for (QueueNumber q = first; q != kEnd; q = queues_[q].chain) any |= queues_[q].offered;
  std::uint32_t granted[32];  // by channel: who got it
  for (std::uint32_t left = any; left; left &= left - 1) {
    unsigned c = static_cast<unsigned>(std::countr_zero(left));
    QueueNumber last = outs_[(out << channel_bits_) + c].last_asker, best = kEnd;
    Rank best_rank = kLastRank;
    for (QueueNumber q = first; q != kEnd; q = queues_[q].chain) {
      if (!(queues_[q].offered >> c & 1)) continue;
      Rank rank = rank_of(q, static_cast<std::uint32_t>(q - last - 1));
      if (rank < best_rank) best = q, best_rank = rank;
    }
    granted[c] = best;
  }
  for (QueueNumber q = first, next; q != kEnd; q = next) {
    Queue& queue = queues_[q];
    next = queue.chain;
    std::uint32_t mine = 0;
    for (std::uint32_t left = any; left; left &= left - 1) {
      unsigned c = static_cast<unsigned>(std::countr_zero(left));
      mine |= std::uint32_t{granted[c] == q} << c;
    }
    if (mine)
      give_channel(tile, q, queue, out, mine);
    else
      tile.asks[(now_ + 1) & 3].push(q);
  }
}

/// Takes one of the channels offered, in turn.
template <class Route, bool CutThrough>
WEFT_HOT void Kernel<Route, CutThrough>::give_channel(Tile& tile, QueueNumber q, Queue& queue, PortNumber out,
                                                      std::uint32_t offered) {
  unsigned channel = pick_after(offered, queue.accept);
  queue.out = out;
  queue.out_channel = static_cast<std::uint8_t>(channel) & 0x3f;
  queue.accept = static_cast<std::uint8_t>(channel + 1);
  queue.active = 1;
  queue.ready = 1;
  OutChannel& taken = outs_[(out << channel_bits_) + channel];
  taken.last_asker = q;
  Port& port = ports_[out];
  port.free_channels ^= 1u << channel;
  if (CutThrough && !(port.flags & Port::kEndpoint)) take_room(taken, port, Entry(queue.entry).flits());
  tile.ready[(now_ + allocate_cycles_) & 1].push(q);
}

// --- the switch ----------------------------------------------------------------------------------------------

/// May the first flit of this queue be sent now?
template <class Route, bool CutThrough>
WEFT_HOT bool Kernel<Route, CutThrough>::may_send(const Queue& queue, const Port& out) const {
  if (out.flags & Port::kNarrow) {
    if (out.flags & Port::kGuarded) {
      if (!e_.guard_->ready(queue.out, now_)) return false;
    } else if (static_cast<std::int32_t>(out.next_send - static_cast<std::uint32_t>(now_ << 8)) > 0) {
      return false;
    }
  }
  if (CutThrough || (out.flags & Port::kEndpoint)) return true;
  return has_room(outs_[(queue.out << channel_bits_) + queue.out_channel], out, 1);
}

/// Outputs choose among those who want them, inputs among the outputs that chose them (iSLIP).
template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::allocate_switch(Tile& tile) {
  Bag<QueueNumber>& ready = tile.ready[now_ & 1];
  const std::uint32_t count = ready.size();
  if (count == 0) return;
  const QueueNumber* list = ready.begin();
  w_.outputs.clear();
  w_.outputs.reserve(count);
  PortNumber* touched = w_.outputs.end();
  for (std::uint32_t i = 0; i < count; ++i) {
    __builtin_prefetch(&queues_[list[std::min(i + kAhead, count - 1)]], 1);
    QueueNumber q = list[i];
    Queue& queue = queues_[q];
    Port& out = ports_[queue.out];
    if (!may_send(queue, out)) continue;
    queue.chain = out.wants;
    *touched = queue.out;
    touched += out.wants == kEnd;
    out.wants = q;
  }
  w_.outputs.set_end(touched);
  match(tile, true);
  if (s_.iterations > 1) {
    for (unsigned round = 1; round < s_.iterations && bid_again(ready); ++round) match(tile, false);
    for (PortNumber port : w_.matched_ports) w_.matched[port] = 0;
    w_.matched_ports.clear();
  }
  // Those with more to send bid again.
  Bag<QueueNumber>& next = tile.ready[(now_ + 1) & 1];
  next.reserve(count);
  QueueNumber* end = next.end();
  for (std::uint32_t i = 0; i < count; ++i) {
    Queue& queue = queues_[list[i]];
    bool more = queue.active & (queue.flits > 0);
    *end = list[i];
    end += more;
    queue.ready = more;
  }
  next.set_end(end);
  ready.clear();
}

/// The bids of those still without a partner, for another round.
template <class Route, bool CutThrough>
bool Kernel<Route, CutThrough>::bid_again(const Bag<QueueNumber>& ready) {
  w_.outputs.clear();
  w_.outputs.reserve(ready.size());
  for (QueueNumber q : ready) {
    Queue& queue = queues_[q];
    if (!queue.active || queue.flits == 0 || (w_.matched[port_of(q)] & kMatchedInput)) continue;
    Port& out = ports_[queue.out];
    if ((w_.matched[queue.out] & kMatchedOutput) || !may_send(queue, out)) continue;
    queue.chain = out.wants;
    if (out.wants == kEnd) w_.outputs.push(queue.out);
    out.wants = q;
  }
  return !w_.outputs.empty();
}

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::match(Tile& tile, bool first_round) {
  w_.inputs.clear();
  w_.inputs.reserve(w_.outputs.size());
  PortNumber* touched = w_.inputs.end();
  for (PortNumber out : w_.outputs) {
    Port& port = ports_[out];
    QueueNumber q = port.wants;
    if (queues_[q].chain != kEnd) q = choose_input(port);
    port.wants = kEnd;
    port.winner = q;
    PortNumber in = port_of(q);
    Port& from = ports_[in];
    port.next_grant = from.grants;
    *touched = in;
    touched += from.grants == kEnd;
    from.grants = out;
  }
  w_.inputs.set_end(touched);
  for (PortNumber in : w_.inputs) {
    Port& from = ports_[in];
    PortNumber out = from.grants;
    if (ports_[out].next_grant != kEnd) out = choose_output(from);
    from.grants = kEnd;
    QueueNumber q = ports_[out].winner;
    if (first_round) {
      ports_[out].last_input = in;
      from.last_output = out;
      from.last_channel = static_cast<std::uint8_t>(channel_of(q));
    }
    if (s_.iterations > 1) {
      w_.matched[in] |= kMatchedInput;
      w_.matched[out] |= kMatchedOutput;
      w_.matched_ports.push(in);
      w_.matched_ports.push(out);
    }
    send(tile, in, out, q);
  }
}

/// Of those who want an output: inputs in turn, then the channels of the input in turn.
template <class Route, bool CutThrough>
QueueNumber Kernel<Route, CutThrough>::choose_input(const Port& out) const {
  QueueNumber best = kEnd;
  Rank best_rank = kLastRank;
  for (QueueNumber q = out.wants; q != kEnd; q = queues_[q].chain) {
    PortNumber in = port_of(q);
    std::uint64_t turn = static_cast<std::uint32_t>(in - out.last_input - 1);
    std::uint32_t channel_turn = (channel_of(q) - ports_[in].last_channel - 1u) & channel_mask_;
    Rank rank = rank_of(q, turn << 8 | channel_turn);
    if (rank < best_rank) best = q, best_rank = rank;
  }
  return best;
}

/// Of the outputs that chose an input: in turn, or the oldest packet first.
template <class Route, bool CutThrough>
PortNumber Kernel<Route, CutThrough>::choose_output(const Port& in) const {
  PortNumber best = kEnd;
  Rank best_rank = kLastRank;
  for (PortNumber out = in.grants; out != kEnd; out = ports_[out].next_grant) {
    Rank rank = rank_of(ports_[out].winner, static_cast<std::uint32_t>(out - in.last_output - 1));
    if (rank < best_rank) best = out, best_rank = rank;
  }
  return best;
}

/// Moves one flit from the front of its queue through the switch.
template <class Route, bool CutThrough>
WEFT_HOT void Kernel<Route, CutThrough>::send(Tile& tile, PortNumber in, PortNumber out, QueueNumber q) {
  Queue& queue = queues_[q];
  Port& port = ports_[out];
  const Port& from = ports_[in];
  Entry entry(queue.entry);
  const bool head = queue.left == entry.flits();
  const bool tail = --queue.left == 0;
  --queue.flits;
  ++port.sent;
  if (port.flags & Port::kNarrow) {
    auto cycle = static_cast<std::uint32_t>(now_ << 8);
    if (static_cast<std::int32_t>(port.next_send + 256 - cycle) <= 0) port.next_send = cycle;
    port.next_send += port.interval;
  }
  if (port.flags & Port::kEndpoint) {
    ++counters_.flits_delivered;
    if (tail) deliver(entry);
  } else if (port.flags & Port::kGuarded) {
    e_.guard_->offer(out, queue.out_channel, entry, entry.flits() - queue.left - 1);
    if (head && !kOnGrid) ++e_.packets_[entry.id()].hops;
    ++counters_.flit_hops;
    if (!CutThrough) take_room(outs_[(out << channel_bits_) + queue.out_channel], port, 1);
  } else {
    Inbox& inbox = inbox_at(port.inbox, port.flight);
    ChannelNumber to = port.peer + queue.out_channel;
    if (head) {
      inbox.heads.push({to, entry.bits()});
      if (!kOnGrid && !(port.flags & Port::kInner)) ++e_.packets_[entry.id()].hops;
    } else {
      inbox.bodies.push(to);
    }
    counters_.flit_hops += !(port.flags & Port::kInner);
    if (!CutThrough) take_room(outs_[(out << channel_bits_) + queue.out_channel], port, 1);
  }
  if ((from.flags & (Port::kGuarded | Port::kEndpoint)) == Port::kGuarded) [[unlikely]]
    e_.guard_->credit(in, channel_of(q));
  else
    inbox_at(from.inbox, from.flight).credits.push(from.peer + channel_of(q));
  if (!tail) return;
  port.free_channels ^= 1u << queue.out_channel;
  queue.active = 0;
  if (--queue.packets > 0) {
    queue.entry = rings_[(std::size_t{q} << ring_bits_) + queue.behind];
    queue.behind = static_cast<std::uint8_t>((queue.behind + 1) & ring_mask_);
    start_head(tile, q, queue, route_cycles_ + 1);
  }
}

}  // namespace weft::network::flit

#include "network/flit/kernel_endpoints.hpp"
#include "network/flit/kernel_links.hpp"
#include "network/flit/kernel_ways.hpp"

#undef WEFT_HOT
