// What arrives at a tile in a cycle: credits, heads, the flits behind them, and those who waited for it.
#pragma once

#include "network/flit/multicast.hpp"
#include "network/flit/route_computation.hpp"

namespace weft::network::flit {

template <class V>
class Arrivals {
 public:
  using At = Records<V::kVoq>;

  Arrivals(Fabric& fabric, Sources& sources, RouteComputation<V>& routes, Multicast<V>& multicast,
           const At& at)
      : fabric_(fabric),
        sources_(sources),
        routes_(routes),
        multicast_(multicast),
        b_(at),
        route_cycles_(fabric.settings.route_cycles),
        shares_(fabric.settings.shared_flits > 0 || fabric.settings.router.inner_stages > 0) {}

  void take_credits(const Inbox& inbox);
  void take_flits(Tile& tile, const Inbox& inbox) {
    if (!inbox.heads.empty()) take_heads(tile, inbox);
    if (!inbox.bodies.empty()) take_bodies(tile, inbox);
    if (!inbox.due.empty()) take_due(tile, inbox);
  }

 private:
  static constexpr std::uint32_t kAhead = Bag<QueueNumber>::kSlack;  // items whose records are fetched ahead

  void take_heads(Tile& tile, const Inbox& inbox);
  void take_bodies(Tile& tile, const Inbox& inbox);
  void take_body(Tile& tile, ChannelNumber to);
  void take_due(Tile& tile, const Inbox& inbox);
  QueueNumber queue_for(const At& b, ChannelNumber to, Entry entry);

  Fabric& fabric_;
  Sources& sources_;
  RouteComputation<V>& routes_;
  Multicast<V>& multicast_;
  const At& b_;
  const unsigned route_cycles_;
  const bool shares_;
};

template <class V>
void Arrivals<V>::take_credits(const Inbox& inbox) {
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

/// The queue for a packet that arrives. Where there is one for each output, the route is found on arrival.
template <class V>
WEFT_HOT QueueNumber Arrivals<V>::queue_for(const At& b, ChannelNumber to, Entry entry) {
  if constexpr (!V::kVoq) return to;
  Queue scratch = {};
  scratch.entry = entry.bits();
  routes_.find_route(b, b.first_queue(to), scratch, entry);
  std::uint32_t open = 0;
  PortNumber out = scratch.out;
  if (out == kUndecided) out = routes_.choose_output(b.first_queue(to), scratch, open);
  PortNumber first = routes_.first_port(to >> b.channel_bits);
  QueueNumber q = b.first_queue(to) | (out == kUndecided ? 0 : out - first);
  fabric_.state.receiving[to] = q;
  return q;
}

template <class V>
void Arrivals<V>::take_heads(Tile& tile, const Inbox& inbox) {
  const At b = b_;
  Bag<QueueNumber>* requests = &tile.channel_requests_in(b.now + route_cycles_, 0);
  requests[Tile::kOnward].reserve(inbox.heads.size());
  requests[Tile::kOut].reserve(inbox.heads.size());
  QueueNumber *onward = requests[Tile::kOnward].end(), *out = requests[Tile::kOut].end();
  for (const HeadFlit& head : inbox.heads) {
    __builtin_prefetch(&b.queues[b.first_queue((&head)[kAhead].to)], 1);
    Entry entry(head.entry);
    QueueNumber q = queue_for(b, head.to, entry);
    Queue& queue = b.queues[q];
    ++queue.flits;
    if (queue.empty()) [[likely]] {
      queue.entry = entry.bits();
      queue.set_left(entry.flits());
      if (V::kMulticast && multicast_.is_copied(entry))
        multicast_.begin(static_cast<std::uint32_t>(&tile - fabric_.state.tiles.data()), q, entry);
      else if (routes_.find_route(b, q, queue, entry) == Tile::kOut)
        *out++ = q;
      else
        *onward++ = q;
    } else {
      sources_.packets.behind(queue.last()) = entry.bits();
    }
    queue.set_last(entry.id());
  }
  requests[Tile::kOnward].set_end(onward);
  requests[Tile::kOut].set_end(out);
}

template <class V>
void Arrivals<V>::take_bodies(Tile& tile, const Inbox& inbox) {
  if (inbox.bodies.size() == 1) return take_body(tile, inbox.bodies[0]);
  const At b = b_;
  Bag<QueueNumber>* ready = &tile.switch_requests_in(b.now, 0);
  ready[Tile::kOnward].reserve(inbox.bodies.size());
  ready[Tile::kOut].reserve(inbox.bodies.size());
  QueueNumber* ends[] = {ready[Tile::kOnward].end(), ready[Tile::kOut].end()};
  for (const ChannelNumber& to : inbox.bodies) {
    __builtin_prefetch(&b.queues[b.first_queue((&to)[kAhead])], 1);
    QueueNumber q = V::kVoq ? fabric_.state.receiving[to] : to;
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

/// The same of the only one, as most often where little is under way.
template <class V>
void Arrivals<V>::take_body(Tile& tile, ChannelNumber to) {
  const QueueNumber q = V::kVoq ? fabric_.state.receiving[to] : to;
  Queue& queue = b_.queues[q];
  ++queue.flits;
  if ((queue.word & (Queue::kActive | Queue::kReady)) != Queue::kActive) return;
  queue.word |= Queue::kReady;
  tile.switch_requests_in(b_.now, queue.leaves()).push(q);
}

/// Queues whose port has sent what it was busy with: they request the switch again.
template <class V>
void Arrivals<V>::take_due(Tile& tile, const Inbox& inbox) {
  for (QueueNumber q : inbox.due) {
    const unsigned bound = b_.ports[b_.queues[q].out].flags & Port::kEndpoint;
    tile.switch_requests_in(b_.now, bound).push(q);
  }
}

}  // namespace weft::network::flit
