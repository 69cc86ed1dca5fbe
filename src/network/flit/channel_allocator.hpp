// Virtual-channel allocation: heads request a channel of their output, and each free channel grants one of
// them.
#pragma once

#include "network/flit/route_computation.hpp"

namespace weft::network::flit {

template <class V>
class ChannelAllocator {
 public:
  using At = Records<V::kVoq>;

  ChannelAllocator(const Settings& settings, RouteComputation<V>& routes, const At& at)
      : routes_(routes),
        b_(at),
        allocate_cycles_(settings.allocate_cycles),
        shares_(settings.shared_flits > 0 || settings.router.inner_stages > 0) {}

  /// Serves the requests of this cycle: who gets a channel requests the switch next, who gets none requests
  /// one again.
  void allocate(Tile& tile);

  // Where an input has a queue for each output, a packet takes its channel when it wins the switch.
  static std::uint32_t channels_with_room(const At& b, const Queue& queue);
  static void take_channel(const At& b, Queue& queue);

 private:
  void allocate(Bag<QueueNumber>& requests, Bag<QueueNumber>& again, Bag<QueueNumber>& ready);
  void request_without_channels(Tile& tile);
  QueueNumber* grant_channels(QueueNumber* ready, Bag<QueueNumber>& again, PortNumber out);
  QueueNumber* grant_two(QueueNumber* ready, Bag<QueueNumber>& again, PortNumber out, QueueNumber first,
                         QueueNumber second);
  static void give_channel(const At& b, QueueNumber q, Queue& queue, PortNumber out, std::uint32_t offered);

  RouteComputation<V>& routes_;
  const At& b_;
  const unsigned allocate_cycles_;
  const bool shares_;
  Bag<PortNumber> outputs_;  // that somebody requests in this cycle
};

template <class V>
void ChannelAllocator<V>::allocate(Tile& tile) {
  if (V::kVoq) return request_without_channels(tile);
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound)
    allocate(tile.channel_requests_in(b_.now, bound), tile.channel_requests_in(b_.now + 1, bound),
             tile.switch_requests_in(b_.now + allocate_cycles_, bound));
}

/// Of one list: who gets a channel is ready for the switch, who gets none requests one again.
template <class V>
WEFT_HOT void ChannelAllocator<V>::allocate(Bag<QueueNumber>& requests, Bag<QueueNumber>& again,
                                            Bag<QueueNumber>& ready) {
  const At b = b_;
  const std::uint32_t count = requests.size();
  if (count == 0) return;
  again.reserve(count);
  outputs_.clear();
  outputs_.reserve(count);
  QueueNumber* again_end = again.end();
  PortNumber* const outputs = outputs_.end();
  PortNumber* touched = outputs;
  const QueueNumber* list = requests.begin();
  for (std::uint32_t i = 0; i < count; ++i) {
    QueueNumber q = list[i];
    Queue& queue = b.queues[q];
    PortNumber out = queue.out;
    std::uint32_t open = 0;
    if (!V::kOnGrid && out == kUndecided)
      out = routes_.choose_output(q, queue, open);
    else
      open = open_channels<V>(b, out, queue.channels, V::kCutThrough ? Entry(queue.entry).flits() : 1);
    if (!open) {
      *again_end++ = q;
      continue;
    }
    Port& port = b.ports[out];
    queue.offered = open;
    queue.chain = port.requester;
    *touched = out;
    touched += port.requester == kEnd;
    port.requester = q;
  }
  again.set_end(again_end);
  requests.clear();
  ready.reserve(count);
  QueueNumber* ready_end = ready.end();
  for (const PortNumber* at = outputs; at != touched; ++at) {
    PortNumber out = *at;
    Port& port = b.ports[out];
    QueueNumber q = port.requester;
    Queue& queue = b.queues[q];
    if (queue.chain != kEnd) {
      ready_end = grant_channels(ready_end, again, out);
    } else {
      port.requester = kEnd;
      *ready_end++ = q;
      give_channel(b, q, queue, out, queue.offered);
    }
  }
  ready.set_end(ready_end);
}

/// With a queue for each output, packets request the switch at once and take a channel when they win it: one
/// that waits for its input would keep a channel from others.
template <class V>
[[gnu::noinline]] void ChannelAllocator<V>::request_without_channels(Tile& tile) {
  Bag<QueueNumber>& requests = tile.channel_requests_in(b_.now, Tile::kOnward);
  for (QueueNumber q : requests) {
    Queue& queue = b_.queues[q];
    queue.offered = queue.channels;
    if (queue.out == kUndecided) {
      PortNumber out = routes_.choose_output(q, queue, queue.offered);
      if (queue.offered == 0) {
        tile.channel_requests_in(b_.now + 1, Tile::kOnward).push(q);
        continue;
      }
      queue.out = out;
    }
    queue.word |= Queue::kActive | Queue::kReady;
    tile.switch_requests_in(b_.now + allocate_cycles_, Tile::kOnward).push(q);
  }
  requests.clear();
}

/// Of the channels offered to a packet that has none, those it could start on now.
template <class V>
std::uint32_t ChannelAllocator<V>::channels_with_room(const At& b, const Queue& queue) {
  const unsigned flits = V::kCutThrough ? Entry(queue.entry).flits() : 1;
  const Port& port = b.ports[queue.out];
  std::uint32_t open = queue.offered & port.free_channels;
  if (port.flags & Port::kEndpoint) return open;
  for (std::uint32_t left = open; left; left &= left - 1) {
    unsigned c = static_cast<unsigned>(std::countr_zero(left));
    if (!has_room(b.out_channel(queue.out, c), port, flits)) open &= ~(1u << c);
  }
  return open;
}

template <class V>
void ChannelAllocator<V>::take_channel(const At& b, Queue& queue) {
  unsigned channel = pick_after(channels_with_room(b, queue), queue.out_channel() + 1);
  queue.set_out_channel(channel);
  queue.channels = (queue.out << b.channel_bits) + channel;
  queue.offered = 0;
  Port& port = b.ports[queue.out];
  port.free_channels ^= 1u << channel;
  if (V::kCutThrough && !(port.flags & Port::kEndpoint))
    take_room(b.out_channel(queue.out, channel), port, Entry(queue.entry).flits());
}

/// Each free channel grants one of those that request it; each requester accepts one of its grants. Writes
/// those who got one to `ready` and returns its end.
template <class V>
[[gnu::noinline]] QueueNumber* ChannelAllocator<V>::grant_channels(QueueNumber* ready,
                                                                   Bag<QueueNumber>& again, PortNumber out) {
  const At b = b_;
  const QueueNumber first = b.ports[out].requester;
  b.ports[out].requester = kEnd;
  if (QueueNumber second = b.queues[first].chain; b.queues[second].chain == kEnd && !shares_)
    return grant_two(ready, again, out, first, second);
  std::uint32_t any = 0, contested = 0;
  for (QueueNumber q = first; q != kEnd; q = b.queues[q].chain) {
    contested |= any & b.queues[q].offered;
    any |= b.queues[q].offered;
  }
  for (std::uint32_t left = contested; left; left &= left - 1) {
    unsigned c = static_cast<unsigned>(std::countr_zero(left));
    const unsigned last = b.out_channel(out, c).last_queue;
    QueueNumber best = kEnd;
    Rank best_rank = kLastRank;
    for (QueueNumber q = first; q != kEnd; q = b.queues[q].chain) {
      if (!(b.queues[q].offered >> c & 1)) continue;
      Rank rank = b.rank_of(q, static_cast<std::uint16_t>(q - last - 1));
      if (rank < best_rank) best = q, best_rank = rank;
    }
    for (QueueNumber q = first; q != kEnd; q = b.queues[q].chain)
      b.queues[q].offered &= ~(std::uint32_t{q != best} << c);
  }
  const bool sharing = V::kCutThrough && shares_ && !(b.ports[out].flags & Port::kEndpoint);
  QueueNumber accepted[32];  // by channel, where channels share a buffer
  std::uint32_t taken = 0;
  for (QueueNumber q = first, next; q != kEnd; q = next) {
    Queue& queue = b.queues[q];
    next = queue.chain;
    const std::uint32_t mine = queue.offered;
    if (!mine) {
      again.push(q);
    } else if (sharing) {
      unsigned c = pick_after(mine, queue.out_channel() + 1);
      accepted[c] = q;
      taken |= 1u << c;
    } else {
      *ready++ = q;
      give_channel(b, q, queue, out, mine);
    }
  }
  // Each found room by itself; what the channels share may not be enough for all of them.
  for (std::uint32_t left = taken; left; left &= left - 1) {
    unsigned c = static_cast<unsigned>(std::countr_zero(left));
    QueueNumber q = accepted[c];
    Queue& queue = b.queues[q];
    if (has_room(b.out_channel(out, c), b.ports[out], Entry(queue.entry).flits())) {
      *ready++ = q;
      give_channel(b, q, queue, out, 1u << c);
    } else {
      again.push(q);
    }
  }
  return ready;
}

/// The same for two, as most often: each channel that both may take goes to the first in rank.
template <class V>
WEFT_HOT QueueNumber* ChannelAllocator<V>::grant_two(QueueNumber* ready, Bag<QueueNumber>& again,
                                                     PortNumber out, QueueNumber first, QueueNumber second) {
  const At b = b_;
  Queue &one = b.queues[first], &other = b.queues[second];
  const std::uint32_t both = one.offered & other.offered;
  std::uint32_t won = 0;  // by the first
  for (std::uint32_t left = both; left; left &= left - 1) {
    unsigned c = static_cast<unsigned>(std::countr_zero(left));
    const unsigned last = b.out_channel(out, c).last_queue;
    const bool wins = b.rank_of(first, static_cast<std::uint16_t>(first - last - 1)) <
                      b.rank_of(second, static_cast<std::uint16_t>(second - last - 1));
    won |= std::uint32_t{wins} << c;
  }
  const auto take = [&](QueueNumber q, Queue& queue, std::uint32_t mine) {
    if (mine) {
      *ready++ = q;
      give_channel(b, q, queue, out, mine);
    } else {
      again.push(q);
    }
  };
  take(first, one, one.offered & ~(both & ~won));
  take(second, other, other.offered & ~won);
  return ready;
}

/// Takes one of the channels offered, in turn.
template <class V>
WEFT_HOT void ChannelAllocator<V>::give_channel(const At& b, QueueNumber q, Queue& queue, PortNumber out,
                                                std::uint32_t offered) {
  unsigned channel = pick_after(offered, queue.out_channel() + 1);
  queue.out = out;
  queue.set_out_channel(channel);
  queue.word |= Queue::kActive | Queue::kReady;
  queue.channels = (out << b.channel_bits) + channel;
  OutChannel& taken = b.outs[queue.channels];
  taken.last_queue = static_cast<std::uint16_t>(q);
  Port& port = b.ports[out];
  port.free_channels ^= 1u << channel;
  if (V::kCutThrough && !(port.flags & Port::kEndpoint)) take_room(taken, port, Entry(queue.entry).flits());
}

}  // namespace weft::network::flit
