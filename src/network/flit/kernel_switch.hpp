// The kernel's switch: outputs choose among those who want them, inputs among the outputs that chose them
// (iSLIP), and flits move.
#pragma once

#include "network/flit/kernel.hpp"

namespace weft::network::flit {

/// May the first flit of this queue be sent now?
template <class Route, bool CutThrough>
WEFT_HOT bool Kernel<Route, CutThrough>::may_send(const Base& b, const Queue& queue, const Port& out) {
  if (b.output_bits && queue.offered) [[unlikely]]
    if (channels_with_room(b, queue) == 0) return false;
  if (out.flags & (Port::kNarrow | Port::kEndpoint)) [[unlikely]] {
    if ((out.flags & Port::kNarrow) &&
        static_cast<std::int32_t>(out.next_send - static_cast<std::uint32_t>(b.now << 8)) > 0)
      return false;
    if (out.flags & Port::kEndpoint) return true;
  }
  return CutThrough || (b.output_bits && queue.offered) ||
         has_room(b.out_channel(queue.out, queue.out_channel), out, 1);
}

template <class Route, bool CutThrough>
void Kernel<Route, CutThrough>::allocate_switch(Tile& tile) {
  const Base b = b_;
  Bag<QueueNumber>& ready = tile.ready[b.now & 1];
  const std::uint32_t count = ready.size();
  const QueueNumber* list = ready.begin();
  w_.outputs.clear();
  w_.outputs.reserve(count);
  PortNumber* touched = w_.outputs.end();
  for (std::uint32_t i = 0; i < count; ++i) {
    __builtin_prefetch(&b.queues[list[i + kAhead]], 1);
    QueueNumber q = list[i];
    Queue& queue = b.queues[q];
    Port& out = b.ports[queue.out];
    if (!may_send(b, queue, out)) continue;
    queue.chain = out.wants;
    *touched = queue.out;
    touched += out.wants == kEnd;
    out.wants = q;
  }
  w_.outputs.set_end(touched);
  if (s_.iterations == 1) {
    match<true>(tile, true);
  } else {
    match<false>(tile, true);
    for (unsigned round = 1; round < s_.iterations && bid_again(ready); ++round) match<false>(tile, false);
    for (PortNumber port : w_.matched_ports) w_.matched[port] = 0;
    w_.matched_ports.clear();
  }
  // Those with more to send bid again.
  Bag<QueueNumber>& next = tile.ready[(b.now + 1) & 1];
  next.reserve(count);
  QueueNumber* end = next.end();
  for (std::uint32_t i = 0; i < count; ++i) {
    Queue& queue = b.queues[list[i]];
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
  for (QueueNumber q : ready) {
    Queue& queue = b_.queues[q];
    if (!queue.active || queue.flits == 0 || (w_.matched[b_.port_of(q)] & kMatchedInput)) continue;
    Port& out = b_.ports[queue.out];
    if ((w_.matched[queue.out] & kMatchedOutput) || !may_send(b_, queue, out)) continue;
    queue.chain = out.wants;
    if (out.wants == kEnd) w_.outputs.push(queue.out);
    out.wants = q;
  }
  return !w_.outputs.empty();
}

template <class Route, bool CutThrough>
template <bool OneRound>
void Kernel<Route, CutThrough>::match(Tile& tile, bool first_round) {
  const Base b = b_;
  const bool moves_turns = moves_turns_;
  w_.inputs.clear();
  w_.inputs.reserve(w_.outputs.size());
  PortNumber* const inputs = w_.inputs.end();
  PortNumber* touched = inputs;
  for (const PortNumber *at = w_.outputs.begin(), *end = w_.outputs.end(); at != end; ++at) {
    Port& port = b.ports[*at];
    QueueNumber q = port.wants;
    if (b.queues[q].chain != kEnd) q = choose_input(port);
    port.wants = kEnd;
    port.winner = q;
    PortNumber in = b.port_of(q);
    if (moves_turns) port.last_input = in;  // iSLIP's turns move only when the input accepts
    Port& from = b.ports[in];
    port.next_grant = from.grants;
    *touched = in;
    touched += from.grants == kEnd;
    from.grants = *at;
  }
  for (const PortNumber* at = inputs; at != touched; ++at) {
    PortNumber in = *at;
    Port& from = b.ports[in];
    PortNumber out = from.grants;
    if (b.ports[out].next_grant != kEnd) out = choose_output(from);
    from.grants = kEnd;
    QueueNumber q = b.ports[out].winner;
    if (OneRound || first_round) {
      b.ports[out].last_input = in;
      from.last_output = out;
      from.last_channel = static_cast<std::uint8_t>(b.channel_of(q));
    }
    if (!OneRound) {
      w_.matched[in] |= kMatchedInput;
      w_.matched[out] |= kMatchedOutput;
      w_.matched_ports.push(in);
      w_.matched_ports.push(out);
    }
    send(b, tile, in, out, q);
  }
}

/// Of those who want an output: inputs in turn, then the channels of the input in turn.
template <class Route, bool CutThrough>
[[gnu::noinline]] QueueNumber Kernel<Route, CutThrough>::choose_input(const Port& out) const {
  QueueNumber best = kEnd;
  Rank best_rank = kLastRank;
  for (QueueNumber q = out.wants; q != kEnd; q = b_.queues[q].chain) {
    PortNumber in = b_.port_of(q);
    std::uint64_t turn = static_cast<std::uint32_t>(in - out.last_input - 1);
    std::uint32_t channel_turn = (b_.channel_of(q) - b_.ports[in].last_channel - 1u) & b_.channel_mask;
    Rank rank = rank_of(q, turn << 8 | channel_turn);
    if (rank < best_rank) best = q, best_rank = rank;
  }
  return best;
}

/// Of the outputs that chose an input: in turn, or the oldest packet first.
template <class Route, bool CutThrough>
[[gnu::noinline]] PortNumber Kernel<Route, CutThrough>::choose_output(const Port& in) const {
  PortNumber best = kEnd;
  Rank best_rank = kLastRank;
  for (PortNumber out = in.grants; out != kEnd; out = b_.ports[out].next_grant) {
    Rank rank = rank_of(b_.ports[out].winner, static_cast<std::uint32_t>(out - in.last_output - 1));
    if (rank < best_rank) best = out, best_rank = rank;
  }
  return best;
}

/// Moves one flit from the front of its queue through the switch.
template <class Route, bool CutThrough>
WEFT_HOT void Kernel<Route, CutThrough>::send(const Base& b, Tile& tile, PortNumber in, PortNumber out,
                                              QueueNumber q) {
  Queue& queue = b.queues[q];
  if (b.output_bits && queue.offered) [[unlikely]]
    take_channel(b, queue);
  Port& port = b.ports[out];
  const Port& from = b.ports[in];
  b.inbox_at(from.inbox, from.flight).credits.push(from.peer + b.channel_of(q));
  Entry entry(queue.entry);
  const bool head = queue.left == entry.flits();
  const bool tail = queue.left == 1;
  --queue.left;
  --queue.flits;
  ++port.sent;
  if (kOnGrid && !(port.flags & (Port::kNarrow | Port::kEndpoint))) [[likely]] {
    Inbox& inbox = b.inbox_at(port.inbox, port.flight);
    ChannelNumber to = port.peer + queue.out_channel;
    if (head)
      inbox.heads.push({to, entry.bits()});
    else
      inbox.bodies.push(to);
    ++counters_.flit_hops;
    if (!CutThrough) take_room(b.out_channel(out, queue.out_channel), port, 1);
  } else {
    send_specially(b, port, queue, head, tail);
  }
  if (tail) {
    port.free_channels ^= 1u << queue.out_channel;
    queue.active = 0;
    if (entry.id() != queue.last)
      next_packet(b, tile, q, queue);
    else
      queue.last = Queue::kEmpty;
  }
}

/// To an endpoint, over a narrow cable, inside a router, or with hops to count.
template <class Route, bool CutThrough>
[[gnu::noinline]] void Kernel<Route, CutThrough>::send_specially(const Base& b, Port& port,
                                                                 const Queue& queue, bool head, bool tail) {
  Entry entry(queue.entry);
  if (port.flags & Port::kNarrow) {
    auto cycle = static_cast<std::uint32_t>(b.now << 8);
    if (static_cast<std::int32_t>(port.next_send + 256 - cycle) <= 0) port.next_send = cycle;
    port.next_send += port.interval;
  }
  if (port.flags & Port::kEndpoint) {
    ++counters_.flits_delivered;
    if (tail) deliver(entry);
    return;
  }
  const bool inner = port.flags & Port::kInner;
  Inbox& inbox = b.inbox_at(port.inbox, port.flight);
  ChannelNumber to = port.peer + queue.out_channel;
  if (head) {
    inbox.heads.push({to, entry.bits()});
    if (!kOnGrid && !inner) ++e_.packets_[entry.id()].hops;
  } else {
    inbox.bodies.push(to);
  }
  counters_.flit_hops += !inner;
  if (!CutThrough) take_room(b.out_channel(queue.out, queue.out_channel), port, 1);
}

/// The packet behind one that has left looks for its way.
template <class Route, bool CutThrough>
[[gnu::noinline]] void Kernel<Route, CutThrough>::next_packet(const Base& b, Tile& tile, QueueNumber q,
                                                              Queue& queue) {
  PacketId id = e_.packets_[Entry(queue.entry).id()].next;
  const PacketRecord& record = e_.packets_[id];
  Entry entry(id, record.destination, record.flits, record.message_class);
  queue.entry = entry.bits();
  queue.left = static_cast<std::uint16_t>(entry.flits());
  find_way(b, q, queue, entry);
  tile.asks[(b.now + route_cycles_ + 1) & 3].push(q);
}

}  // namespace weft::network::flit
