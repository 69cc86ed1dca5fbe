// The kernel's switch: outputs choose among those who want them, inputs among the outputs that chose them
// (iSLIP), and flits move. Who comes first in rank does not depend on the order in which they come.
#pragma once

#include "network/flit/kernel.hpp"

namespace weft::network::flit {

/// May the first flit of this queue be sent now?
template <class Route, bool CutThrough, bool Voq>
WEFT_HOT bool Kernel<Route, CutThrough, Voq>::may_send(const Base& b, const Queue& queue, const Port& out) {
  if (Voq && queue.offered) [[unlikely]]
    if (channels_with_room(b, queue) == 0) return false;
  if (out.flags & (Port::kNarrow | Port::kEndpoint)) [[unlikely]] {
    if (out.flags & Port::kGuarded) {
      if (!b.guard->ready(queue.out, b.now)) return false;
    } else if ((out.flags & Port::kNarrow) &&
               static_cast<std::int32_t>(b.rests[queue.out].next_send -
                                         static_cast<std::uint32_t>(b.now << 8)) > 0) {
      return false;
    }
    if (out.flags & Port::kEndpoint) {
      if (queue.left() == 1) __builtin_prefetch(&e_.packets_[Entry(queue.entry).id()]);  // for deliver()
      return true;
    }
  }
  return CutThrough || (Voq && queue.offered) || has_room(b.outs[queue.channels], out, 1);
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::allocate_switch(Tile& tile) {
  const Base b = b_;
  Bag<QueueNumber>* ready = &tile.ready_in(b.now, 0);
  const std::uint32_t count = ready[Tile::kOnward].size() + ready[Tile::kOut].size();
  bids_again_ = &tile.ready_in(b.now + 1, 0);
  std::uint32_t first_loser[Tile::kBounds];
  w_.outputs.clear();
  w_.outputs.reserve(count);
  PortNumber* outputs = w_.outputs.end();
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) {
    bids_again_[bound].reserve(count);
    first_loser[bound] = bids_again_[bound].size();
    const QueueNumber* const end = ready[bound].end();
    for (const QueueNumber* at = ready[bound].begin(); at != end; ++at) bid(b, *at, outputs);
    ready[bound].clear();
  }
  w_.outputs.set_end(outputs);
  if (s_.iterations == 1) {
    match<true>(tile, true);
  } else {
    match<false>(tile, true);
    for (unsigned round = 1; round < s_.iterations; ++round) {
      if (!bid_without_partner(first_loser)) break;
      match<false>(tile, false);
    }
    for (PortNumber port : w_.matched_ports) w_.matched[port] = 0;
    w_.matched_ports.clear();
  }
}

/// Of those who want an output the first in rank stands for it; the others bid again in the next cycle.
template <class Route, bool CutThrough, bool Voq>
WEFT_HOT void Kernel<Route, CutThrough, Voq>::bid(const Base& b, QueueNumber q, PortNumber*& outputs) {
  const Queue& queue = b.queues[q];
  Port& out = b.ports[queue.out];
  if (!may_send(b, queue, out)) [[unlikely]] {
    bid_again(q, out);
  } else if (out.asker == kEnd) [[likely]] {
    out.asker = q;
    *outputs++ = queue.out;
  } else {
    contest_output(out, q);
  }
}

/// The bids of those still without a partner, for another round. Returns whether there are any.
template <class Route, bool CutThrough, bool Voq>
bool Kernel<Route, CutThrough, Voq>::bid_without_partner(const std::uint32_t (&first_loser)[Tile::kBounds]) {
  w_.outputs.clear();
  w_.inputs.clear();
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) {
    Bag<QueueNumber>& bag = bids_again_[bound];
    for (std::uint32_t i = first_loser[bound]; i < bag.size(); ++i) w_.inputs.push(bag[i]);
    bag.set_end(bag.begin() + first_loser[bound]);
  }
  w_.outputs.reserve(w_.inputs.size());
  PortNumber* outputs = w_.outputs.end();
  for (QueueNumber q : w_.inputs) {
    const bool alone =
        !(w_.matched[b_.port_of(q)] & kMatchedInput) && !(w_.matched[b_.queues[q].out] & kMatchedOutput);
    if (alone)
      bid(b_, q, outputs);
    else
      bid_again(q, b_.ports[b_.queues[q].out]);
  }
  w_.outputs.set_end(outputs);
  return !w_.outputs.empty();
}

template <class Route, bool CutThrough, bool Voq>
template <bool OneRound>
void Kernel<Route, CutThrough, Voq>::match(Tile& tile, bool first_round) {
  const Base b = b_;
  w_.inputs.clear();
  w_.inputs.reserve(w_.outputs.size());
  PortNumber* const inputs = w_.inputs.end();
  PortNumber* touched = inputs;
  if (moves_turns_)  // iSLIP's turns move only when the input accepts
    for (PortNumber out : w_.outputs)
      b.ports[out].last_input = static_cast<std::uint16_t>(b.port_of(b.ports[out].asker));
  for (const PortNumber *at = w_.outputs.begin(), *end = w_.outputs.end(); at != end; ++at) {
    Port& port = b.ports[*at];
    PortNumber in = b.port_of(port.asker);
    Port& from = b.ports[in];
    if (from.granted == kEnd) [[likely]] {
      from.granted = *at;
      *touched++ = in;
    } else {
      contest_input(from, *at);
    }
  }
  QueueNumber* again[] = {bids_again_[Tile::kOnward].end(), bids_again_[Tile::kOut].end()};
  for (const PortNumber* at = inputs; at != touched; ++at) {
    PortNumber in = *at;
    Port& from = b.ports[in];
    PortNumber out = from.granted;
    from.granted = kEnd;
    Port& port = b.ports[out];
    QueueNumber q = port.asker;
    port.asker = kEnd;
    if (OneRound || first_round) {
      port.last_input = static_cast<std::uint16_t>(in);
      from.last_output = static_cast<std::uint16_t>(out);
      from.last_channel = static_cast<std::uint8_t>(b.channel_of(q));
    }
    if (!OneRound) {
      w_.matched[in] |= kMatchedInput;
      w_.matched[out] |= kMatchedOutput;
      w_.matched_ports.push(in);
      w_.matched_ports.push(out);
    }
    if (send(b, tile, from, port, q)) continue;
    // No branches: whether another flit is here already is a guess.
    Queue& queue = b.queues[q];
    const std::uint32_t more = queue.flits > 0;
    queue.word = (queue.word & ~Queue::kReady) | more << Queue::kReadyShift;
    QueueNumber*& end = again[bound_of(port)];
    *end = q;
    end += more;
  }
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) bids_again_[bound].set_end(again[bound]);
}

/// Two want an output: inputs in turn, then the channels of the input in turn.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::contest_output(Port& out, QueueNumber q) {
  const QueueNumber other = out.asker;
  const auto turn = [&](QueueNumber of) {
    PortNumber in = b_.port_of(of);
    std::uint32_t channel_turn = (b_.channel_of(of) - b_.ports[in].last_channel - 1u) & b_.channel_mask;
    return std::uint64_t{Port::turn(in, out.last_input)} << 8 | channel_turn;
  };
  const std::uint64_t mine = turn(q), others = turn(other);
  const bool first = only_turns_ ? mine < others : rank_of(q, mine) < rank_of(other, others);
  out.asker = first ? q : other;
  bid_again(first ? other : q, out);
}

/// Two outputs chose an input: in turn, or the oldest packet first.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::contest_input(Port& in, PortNumber out) {
  const PortNumber other = in.granted;
  const std::uint32_t mine = Port::turn(out, in.last_output), others = Port::turn(other, in.last_output);
  const bool first = only_turns_
                         ? mine < others
                         : rank_of(b_.ports[out].asker, mine) < rank_of(b_.ports[other].asker, others);
  in.granted = first ? out : other;
  Port& loser = b_.ports[first ? other : out];
  bid_again(loser.asker, loser);
  loser.asker = kEnd;
}

/// Moves one flit from the front of its queue through the switch. Returns whether it was its packet's last.
template <class Route, bool CutThrough, bool Voq>
WEFT_HOT bool Kernel<Route, CutThrough, Voq>::send(const Base& b, Tile& tile, const Port& from, Port& port,
                                                   QueueNumber q) {
  Queue& queue = b.queues[q];
  if (Voq && queue.offered) [[unlikely]]
    take_channel(b, queue);
  b.inbox_at(from.inbox, from.flight).credits.push(from.peer + b.channel_of(q));
  Entry entry(queue.entry);
  const bool head = queue.left() == entry.flits();
  const bool tail = queue.left() == 1;
  --queue.rest;  // of `left`, which is not 0
  --queue.flits;
  ++b.sent[queue.out];
  if (kOnGrid && !(port.flags & (Port::kNarrow | Port::kEndpoint))) [[likely]] {
    Inbox& inbox = b.inbox_at(port.inbox, port.flight);
    ChannelNumber to = port.peer + queue.out_channel();
    if (head)
      inbox.heads.push({to, entry.bits()});
    else
      inbox.bodies.push(to);
    ++counters_.flit_hops;
    if (!CutThrough) take_room(b.outs[queue.channels], port, 1);
  } else {
    send_specially(b, port, queue, head, tail);
  }
  if (tail) {
    port.free_channels ^= 1u << queue.out_channel();
    queue.word &= ~(Queue::kActive | Queue::kReady);
    if (queue.flits)  // of packets behind it
      next_packet(b, tile, q, queue);
  }
  return tail;
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::count_hop(Entry entry, PortNumber out) {
  PacketRecord& record = e_.packets_[entry.id()];
  ++record.hops;
  if (!e_.port_remainder_.empty()) record.remainder += e_.port_remainder_[out];
}

/// To an endpoint, over a narrow cable or one that can fail, inside a router, or with hops to count.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::send_specially(const Base& b, Port& port,
                                                                      const Queue& queue, bool head,
                                                                      bool tail) {
  Entry entry(queue.entry);
  if (port.flags & Port::kGuarded) {
    EndNumber end = b.guard->end_at(queue.out);
    b.guard->offer(end, queue.out_channel(), entry, entry.flits() - queue.left() - 1);
    w_.links->wake(end);
    if (head && !kOnGrid) count_hop(entry, queue.out);
    ++counters_.flit_hops;
    if (!CutThrough) take_room(b.outs[queue.channels], port, 1);
    return;
  }
  if (port.flags & Port::kNarrow) {
    auto cycle = static_cast<std::uint32_t>(b.now << 8);
    PortRest& rest = b.rests[queue.out];
    if (static_cast<std::int32_t>(rest.next_send + 256 - cycle) <= 0) rest.next_send = cycle;
    rest.next_send += rest.interval;
  }
  if (port.flags & Port::kEndpoint) {
    ++counters_.flits_delivered;
    if (tail) deliver(entry);
    return;
  }
  const bool inner = port.flags & Port::kInner;
  Inbox& inbox = b.inbox_at(port.inbox, port.flight);
  ChannelNumber to = port.peer + queue.out_channel();
  if (head) {
    inbox.heads.push({to, entry.bits()});
    if (!kOnGrid && !inner) count_hop(entry, queue.out);
  } else {
    inbox.bodies.push(to);
  }
  counters_.flit_hops += !inner;
  if (!CutThrough) take_room(b.outs[queue.channels], port, 1);
}

/// The packet behind one that has left looks for its way.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::next_packet(const Base& b, Tile& tile, QueueNumber q,
                                                                   Queue& queue) {
  Entry entry(e_.packets_.behind(Entry(queue.entry).id()));
  queue.entry = entry.bits();
  queue.set_left(entry.flits());
  Tile::Bound bound = find_way(b, q, queue, entry);
  tile.asks_in(b.now + route_cycles_ + 1, bound).push(q);
}

}  // namespace weft::network::flit
