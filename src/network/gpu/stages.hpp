// The stages of a router's cycle, each for one port of one router. Between two stages all ports of the router
// must have finished the first; nothing else is exchanged in a cycle but what arrives in a later one.
//
// They are the flit engine's stages, and give its results to the bit: who comes first in rank does not depend
// on the order in which ports are visited.
#pragma once

#include "network/gpu/routes.hpp"

namespace weft::network::gpu {

// --- what a thread notes

template <class Net>
WEFT_DEVICE void wake_in(const Net& n, Moment& t, u32 cycles) {
  if (cycles < 64)
    t.soon |= u64{1} << cycles;
  else
    n.wake(t.now + cycles);
}

/// What an input waits for: where that is one word it is with the thread until the cycle's end.
template <class Net>
WEFT_DEVICE Requests& requests_of(const Net& n, Place at, u32 index, u32 word) {
  return n.words == 1 ? at.wants[index] : n.requests[n.requests_at(at.router, index, word)];
}

// --- arrivals: input and output side of the port

template <class Net>
WEFT_DEVICE void take_credit(const Net& n, Place at, u8 credit) {
  OutChannel& channel = at.channel(n, at.index, credit & Network::kChannel);
  Port& port = at.own_port();
  if (n.shares && channel.used > port.room) ++port.spare;
  --channel.used;
  if (!n.on_grid) --port.owed;
  at.own().changed = 1;
}

/// The queue of an input for a packet that arrives; where there is one for each output, its route says which.
template <class Net>
WEFT_DEVICE u32 queue_for(const Net& n, const Moment& t, Place at, u32 channel, Entry entry) {
  if (!n.queue_per_output) return channel;
  Queue scratch;
  find_route(n, t, at, channel, scratch, entry);
  const u16 out = scratch.out == kUndecided ? u16{0} : scratch.out;  // nowhere to go: it waits anywhere
  n.receiving[n.channel_at(at.router, at.index, channel)] = out;
  return channel * n.outputs + out;
}

template <class Net>
WEFT_DEVICE void take_flit(const Net& n, const Moment& t, Place at, u64 slot, u8 flit) {
  const u32 channel = flit & Network::kChannel;
  const bool head = flit & Network::kHead;
  const Entry entry{head ? n.head_in[slot] : 0};
  u32 local = channel;
  if (head)
    local = queue_for(n, t, at, channel, entry);
  else if (n.queue_per_output)
    local = channel * n.outputs + n.receiving[n.channel_at(at.router, at.index, channel)];
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  Requests& wants = requests_of(n, at, at.index, local / 32);
  const u32 bit = 1u << (local & 31);
  ++queue.flits;
  if (!head) {
    if (queue.flags & Queue::kActive) wants.the_switch |= bit;
    return;
  }
  if (queue.left == 0) {
    queue.entry = entry.bits;
    queue.left = static_cast<u16>(entry.flits());
    find_route(n, t, at, channel, queue, entry);
    (n.route_cycles ? wants.channel_in_1 : wants.channel) |= bit;
  } else {
    n.behind[queue.last] = entry.bits;
  }
  queue.last = entry.id();
}

/// What sources make in a window of cycles is queued at its beginning: whether a queue is full is decided
/// there, as in the flit engine.
template <class Net>
WEFT_DEVICE void create_packets(const Net& n, Moment& t, u32 endpoint) {
  u32 next = n.next_made[endpoint];
  const u32 end = n.made_end[endpoint], before = next;
  for (; next < end && static_cast<std::int32_t>(n.made[next].cycle - static_cast<u32>(t.window_end)) < 0;
       ++next) {
    const Made& made = n.made[next];
    const Entry entry{made.entry};
    const u32 id = entry.id();
    Sender& sender = n.sender[endpoint];
    if (n.source_queue && sender.queued >= n.source_queue) {
      ++t.counts[kPacketsRefused];
      t.counts[kFlitsRefused] += entry.flits();
      n.outcomes[take_place(n.control->outcomes)] = {id, 0, 0, 0, Outcome::kRefused};
      continue;
    }
    n.packet[id] = entry.bits;
    n.behind[id] = kNobody;
    n.created[id] = made.cycle;
    n.source[id] = endpoint;
    n.remainder[id] = made.remainder;
    if (n.counts_hops) n.hops[id] = 0;
    if (!n.on_grid && n.tables.vias) n.via[id] = n.turned_at[id] = kNobody;
    ++t.counts[kPacketsCreated];
    if (sender.first == kNobody)
      sender.first = id;
    else
      n.behind[sender.last] = id;
    sender.last = id;
    ++sender.queued;
  }
  if (next != before) n.next_made[endpoint] = next;
}

/// What was to be requested in this cycle is requested now.
WEFT_DEVICE void move_on(Requests& wants) {
  wants.channel |= wants.channel_in_1;
  wants.channel_in_1 = wants.channel_in_2;
  wants.channel_in_2 = 0;
  wants.before = wants.the_switch;
  wants.the_switch |= wants.the_switch_in_1;
  wants.the_switch_in_1 = 0;
}

template <class Net>
WEFT_DEVICE bool waits(const Net& n, Place at) {
  bool any = false;
  for (u32 word = 0; word < n.words; ++word) any |= requests_of(n, at, at.index, word).any();
  return any;
}

/// Takes up what the port was waiting for when the last cycle ended,
template <class Net>
WEFT_DEVICE void begin_requests(const Net& n, Place at, u32 p) {
  if (n.words == 1) {
    Requests& wants = at.wants[at.index];
    wants = {};
    if (n.waiting[p]) {
      wants = n.requests[p];
      wants.stored = 1;
      move_on(wants);
    }
  } else {
    for (u32 word = 0; word < n.words; ++word) {
      Requests& wants = n.requests[n.requests_at(at.router, at.index, word)];
      if (wants.any() | wants.before) move_on(wants);
    }
  }
}
/// and lays down what it waits for at the end of this one.
template <class Net>
WEFT_DEVICE void end_requests(const Net& n, Moment& t, Place at, u32 p) {
  const bool any = waits(n, at);
  if (any) wake_in(n, t, 1);
  if (n.words != 1) return;
  const Requests& wants = at.wants[at.index];
  if (any) n.requests[p] = wants;
  if (any != static_cast<bool>(wants.stored)) n.waiting[p] = any;
}

/// What a port finds at the beginning of a cycle.
struct Found {
  Arrival arrival;
  bool endpoint_sends;
  WEFT_DEVICE bool anything() const { return arrival.flit | arrival.credit | endpoint_sends; }
};
template <class Net>
WEFT_DEVICE Found look(const Net& n, Moment& t, Place at) {
  const u32 p = n.port_at(at.router, at.index), endpoint = n.port_endpoint[p];
  Found found{n.arrival[n.slot(t.now, p)], false};
  begin_requests(n, at, p);
  if (endpoint == kNobody) return found;
  if (t.window_begins) create_packets(n, t, endpoint);
  found.endpoint_sends = n.sender[endpoint].current != kNobody || n.sender[endpoint].first != kNobody;
  return found;
}

/// Takes the port's records up for the cycle,
template <class Net>
WEFT_DEVICE void take_up(const Net& n, Place at) {
  at.own_port() = n.port[n.port_at(at.router, at.index)];
  for (u32 c = 0; c < n.channels; ++c)
    at.channel(n, at.index, c) = n.out[n.channel_at(at.router, at.index, c)];
}
/// and lays them down at its end.
template <class Net>
WEFT_DEVICE void lay_down(const Net& n, Place at) {
  if (!at.own().changed) return;
  at.own().changed = 0;
  n.port[n.port_at(at.router, at.index)] = at.own_port();
  for (u32 c = 0; c < n.channels; ++c)
    n.out[n.channel_at(at.router, at.index, c)] = at.channel(n, at.index, c);
}

/// Whether anything is to be done in this cycle at any port of the router.
template <class Net>
WEFT_DEVICE bool is_busy(const Net& n, Place at, const Found& found) {
  return found.anything() || waits(n, at);
}

template <class Net>
WEFT_DEVICE void arrive(const Net& n, const Moment& t, Place at, const Found& found) {
  take_up(n, at);
  if (!(found.arrival.flit | found.arrival.credit)) return;
  const u64 slot = n.slot(t.now, n.port_at(at.router, at.index));
  n.arrival[slot] = {0, 0};
  if (found.arrival.credit) take_credit(n, at, found.arrival.credit);
  if (found.arrival.flit) take_flit(n, t, at, slot, found.arrival.flit);
}

// --- virtual-channel allocation

template <class Net>
WEFT_DEVICE void request_channel(const Net& n, const Moment& t, Place at, u32 local) {
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  const Entry entry{queue.entry};
  if (n.queue_per_output) {
    if (queue.out == kUndecided) return;
    // It requests the switch at once and takes a channel when it wins it: one that waits for its input would
    // keep a channel from others.
    queue.offered = queue.channels;
    queue.flags = Queue::kActive;
    return;
  }
  u32 out = queue.out, open = 0;
  if (out == kUndecided)
    out = choose_output(n, t, at, local, entry, open);
  else
    open = open_channels(n, at, out, queue.channels, entry.flits());
  if (!open) return;
  queue.offered = open;
  queue.chain = exchange(at.exchange[out].requester, at.index << kChainPort | local);
}

/// Input side: heads request a channel of their output.
template <class Net>
WEFT_DEVICE void request_channels(const Net& n, const Moment& t, Place at) {
  for (u32 word = 0; word < n.words; ++word)
    for (u32 left = requests_of(n, at, at.index, word).channel; left; left &= left - 1)
      request_channel(n, t, at, word * 32 + lowest_bit(left));
}

WEFT_DEVICE u32 port_of(u32 q) { return q >> kChainPort; }
WEFT_DEVICE u32 local_of(u32 q) { return q & ((1u << kChainPort) - 1); }

/// A queue of a router by its number in a chain.
template <class Net>
WEFT_DEVICE Queue& queue_of(const Net& n, u32 router, u32 q) {
  return n.queue[n.queue_at(router, port_of(q), local_of(q))];
}

/// Takes one of the channels offered, in turn.
template <class Net>
WEFT_DEVICE void give_channel(const Net& n, Place at, u32 q, Queue& queue, u32 offered) {
  const u32 channel = pick_after(offered, queue.out_channel + 1u);
  queue.out = static_cast<u16>(at.index);
  queue.out_channel = static_cast<u8>(channel);
  queue.flags = Queue::kActive;
  queue.offered = 0;
  Port& port = at.own_port();
  OutChannel& taken = at.channel(n, at.index, channel);
  at.own().changed = 1;
  taken.last_queue = n.turn_number(at.router, port_of(q), local_of(q));
  port.free_channels ^= 1u << channel;
  if (n.cut_through && !(port.flags & Port::kEndpoint)) take_room(n, taken, port, Entry{queue.entry}.flits());
}

/// Of those who may take a channel, all but the first in rank lose it.
template <class Net>
WEFT_DEVICE void contest_channel(const Net& n, Place at, u32 first, u32 channel) {
  const u32 last = at.channel(n, at.index, channel).last_queue;
  u32 best = kNobody;
  Rank best_rank;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    const Queue& queue = queue_of(n, at.router, q);
    if (!(queue.offered >> channel & 1)) continue;
    const u32 input = port_of(q), number = n.turn_number(at.router, input, local_of(q));
    const Rank rank = rank_of(n, at.ports[input], queue, static_cast<u16>(number - last - 1));
    if (rank.before(best_rank)) best = q, best_rank = rank;
  }
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain)
    if (q != best) queue_of(n, at.router, q).offered &= ~(1u << channel);
}

/// Output side: each free channel grants one of those that request it; each requester accepts one of its
/// grants.
template <class Net>
WEFT_DEVICE void grant_channels(const Net& n, const Moment& t, Place at) {
  const u32 first = at.own().requester;
  if (!n.on_grid && n.pace) update_pace(n, t, n.port_at(at.router, at.index));
  if (n.iterations > 1) at.own().input_matched = at.own().output_matched = 0;
  if (first == kNobody) return;
  at.own().requester = kNobody;
  u32 any = 0, contested = 0;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    contested |= any & queue_of(n, at.router, q).offered;
    any |= queue_of(n, at.router, q).offered;
  }
  for (u32 left = contested; left; left &= left - 1) contest_channel(n, at, first, lowest_bit(left));
  if (!(n.cut_through && n.shares) || (at.own_port().flags & Port::kEndpoint)) {
    for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain)
      if (u32 mine = queue_of(n, at.router, q).offered)
        give_channel(n, at, q, queue_of(n, at.router, q), mine);
    return;
  }
  // Each found room by itself; what the channels share may not be enough for all of them.
  const bool alone = queue_of(n, at.router, first).chain == kNobody;
  for (u32 left = any; left; left &= left - 1) {
    const u32 channel = lowest_bit(left);
    for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
      Queue& queue = queue_of(n, at.router, q);
      if (!queue.offered || pick_after(queue.offered, queue.out_channel + 1u) != channel) continue;
      if (alone || has_room(at.channel(n, at.index, channel), at.own_port(), Entry{queue.entry}.flits()))
        give_channel(n, at, q, queue, 1u << channel);
      break;
    }
  }
}

// --- switch allocation

/// Of the channels a packet may still take, those it could start on now.
template <class Net>
WEFT_DEVICE u32 channels_with_room(const Net& n, Place at, const Queue& queue, const Port& out) {
  u32 open = queue.offered & out.free_channels;
  if (out.flags & Port::kEndpoint) return open;
  const unsigned flits = n.cut_through ? Entry{queue.entry}.flits() : 1;
  for (u32 left = open; left; left &= left - 1) {
    const u32 c = lowest_bit(left);
    if (!has_room(at.channel(n, queue.out, c), out, flits)) open &= ~(1u << c);
  }
  return open;
}

/// May the first flit of this queue be sent now?
template <class Net>
WEFT_DEVICE bool may_send(const Net& n, const Moment& t, Place at, const Queue& queue, const Port& out) {
  const bool needs_channel = n.queue_per_output && queue.offered;
  if (needs_channel && channels_with_room(n, at, queue, out) == 0) return false;
  if ((out.flags & Port::kNarrow) &&
      static_cast<std::int32_t>(out.next_send - static_cast<u32>(t.now << 8)) > 0)
    return false;
  if (needs_channel || n.cut_through || (out.flags & Port::kEndpoint)) return true;
  return has_room(at.channel(n, queue.out, queue.out_channel), out, 1);
}

/// Do those who request the switch towards an endpoint for the first time sit out (sit_out())?
template <class Net>
WEFT_DEVICE bool some_sit_out(const Net& n, const Port& out) {
  return n.iterations > 1 && !n.on_grid && (out.flags & Port::kEndpoint);
}

template <class Net>
WEFT_DEVICE void request_output(const Net& n, const Moment& t, Place at, u32 local, u32 round, bool again) {
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  const Port& out = at.ports[queue.out];
  if (round > 0 && ((queue.flags & Queue::kSitsOut) || at.exchange[queue.out].output_matched)) return;
  if (queue.flags & Queue::kSitsOut) queue.flags = Queue::kActive;  // of an earlier cycle
  if (may_send(n, t, at, queue, out))
    queue.chain = exchange(at.exchange[queue.out].requester, at.index << kChainPort | local);
  else if (round == 0 && !again && some_sit_out(n, out))
    queue.flags |= Queue::kSitsOut;
}

/// Input side: who has a channel and a flit requests its output, in later rounds if neither has a partner.
template <class Net>
WEFT_DEVICE void request_switch(const Net& n, const Moment& t, Place at, u32 round) {
  if (round > 0 && at.own().input_matched) return;
  for (u32 word = 0; word < n.words; ++word) {
    Requests& wants = requests_of(n, at, at.index, word);
    u32 given = 0;
    for (u32 left = round == 0 ? wants.channel : 0; left; left &= left - 1)
      if (n.queue[n.queue_at(at.router, at.index, word * 32 + lowest_bit(left))].flags & Queue::kActive)
        given |= 1u << lowest_bit(left);
    if (given) {
      wants.channel &= ~given;
      (n.allocate_cycles ? wants.the_switch_in_1 : wants.the_switch) |= given;
    }
    for (u32 left = wants.the_switch; left; left &= left - 1)
      request_output(n, t, at, word * 32 + lowest_bit(left), round, wants.before >> lowest_bit(left) & 1);
  }
}

/// A queue's rank for an output: inputs in turn, then the channels of an input.
template <class Net>
WEFT_DEVICE Rank switch_rank(const Net& n, Place at, const Port& port, u32 q) {
  const u32 input = port_of(q), channel = local_of(q) / n.outputs;
  const Port& from = at.ports[input];
  const u32 channel_turn = (channel - from.last_channel - 1u) & ((1u << n.channel_bits) - 1);
  const u64 turn = u64{static_cast<u16>(input - port.last_input - 1u)} << 8 | channel_turn;
  return rank_of(n, from, queue_of(n, at.router, q), turn);
}

/// Of those who request the switch towards an endpoint for the first time, all but the first in rank sit out
/// the other rounds of this cycle. The flit engine, which finds its routes by a relation, has them in another
/// list than those who request it again, and looks at the latter alone.
template <class Net>
WEFT_DEVICE void sit_out(const Net& n, Place at, const Port& port, u32 first) {
  u32 best = kNobody;
  Rank best_rank;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    const u32 local = local_of(q);
    if (requests_of(n, at, port_of(q), local / 32).before >> (local & 31) & 1) continue;
    const Rank rank = switch_rank(n, at, port, q);
    if (best != kNobody) queue_of(n, at.router, rank.before(best_rank) ? best : q).flags |= Queue::kSitsOut;
    if (rank.before(best_rank)) best = q, best_rank = rank;
  }
}

/// Output side: of those who request it, the first in rank.
template <class Net>
WEFT_DEVICE void grant_switch(const Net& n, Place at, u32 round) {
  Exchange& own = at.own();
  const u32 first = own.requester;
  if (first == kNobody) return;
  own.requester = kNobody;
  Port& port = at.own_port();
  u32 best = first;
  Rank best_rank;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    const Rank rank = switch_rank(n, at, port, q);
    if (rank.before(best_rank)) best = q, best_rank = rank;
  }
  if (round == 0 && some_sit_out(n, port)) sit_out(n, at, port, first);
  const u32 input = port_of(best);
  own.changed = 1;
  if (n.moves_turns) port.last_input = static_cast<u16>(input);  // iSLIP's move only when the input accepts
  own.grant = best;
  own.next_grant = exchange(at.exchange[input].granted, at.index);
}

// --- traversal

template <class Net>
WEFT_DEVICE void deliver(const Net& n, const Moment& t, Entry entry) {
  const u32 id = entry.id();
  const u32 hops = n.on_grid ? 1 + grid_distance(n.grid, n.endpoint_place[n.source[id]],
                                                 n.endpoint_place[entry.destination()])
                             : 1 + n.hops[id];
  std::int64_t rest =
      std::int64_t{n.remainder[id]} + n.router_remainder + std::int64_t{hops - 1} * n.hop_remainder;
  rest = most<std::int64_t>(
      rest, -std::int64_t{n.traverse_cycles + n.endpoint_cycles - 1} * (std::int64_t{1} << 20));
  const u64 delivered = t.now + n.traverse_cycles + n.endpoint_cycles + static_cast<u64>(rest >> 20);
  n.outcomes[take_place(n.control->outcomes)] = {id, n.injected[id], static_cast<u32>(delivered),
                                                 static_cast<std::int32_t>(rest & ((1 << 20) - 1)), hops};
}

/// What leaves a router by a port arrives at the other end.
template <class Net>
WEFT_DEVICE void put_on_cable(const Net& n, Moment& t, const Port& port, u32 out, const Queue& queue,
                              Entry entry, bool head) {
  const u64 slot = n.slot(t.now + port.flight, port.peer);
  if (head) {
    n.head_in[slot] = entry.bits;
    if (n.counts_hops) ++n.hops[entry.id()];
    if (n.port_remainder) n.remainder[entry.id()] += n.port_remainder[out];
  }
  n.arrival[slot].flit = static_cast<u8>(Network::kFlit | (head ? Network::kHead : 0) | queue.out_channel);
  wake_in(n, t, port.flight);
}

/// A packet that has won the switch takes one of the channels it may, in turn.
template <class Net>
WEFT_DEVICE void take_channel(const Net& n, Place at, Queue& queue, Port& port) {
  const u32 channel = pick_after(channels_with_room(n, at, queue, port), queue.out_channel + 1u);
  queue.out_channel = static_cast<u8>(channel);
  queue.offered = 0;
  port.free_channels ^= 1u << channel;
  if (n.cut_through && !(port.flags & Port::kEndpoint))
    take_room(n, at.channel(n, queue.out, channel), port, Entry{queue.entry}.flits());
}

/// Moves one flit from the front of its queue through the switch.
template <class Net>
WEFT_DEVICE void send(const Net& n, Moment& t, Place at, u32 local) {
  const u32 channel = local / n.outputs;
  const Port& from = at.own_port();
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  Requests& wants = requests_of(n, at, at.index, local / 32);
  const u32 out = n.port_at(at.router, queue.out);
  Port& port = at.ports[queue.out];
  if (n.queue_per_output && queue.offered) take_channel(n, at, queue, port);
  n.arrival[n.slot(t.now + from.flight, from.peer)].credit = static_cast<u8>(Network::kCredit | channel);
  wake_in(n, t, from.flight);
  const Entry entry{queue.entry};
  const bool head = queue.left == entry.flits(), tail = queue.left == 1;
  --queue.left;
  --queue.flits;
  if (n.on_grid)
    add_one(n.sent[out]);  // nobody in the network reads it
  else
    ++n.sent[out];
  if (port.flags & Port::kNarrow) {
    const auto cycle = static_cast<u32>(t.now << 8);
    if (static_cast<std::int32_t>(port.next_send + 256 - cycle) <= 0) port.next_send = cycle;
    port.next_send += port.interval;
  }
  if (port.flags & Port::kEndpoint) {
    ++t.counts[kDelivered];
    if (tail) deliver(n, t, entry);
  } else {
    ++t.counts[kFlitHops];
    put_on_cable(n, t, port, out, queue, entry, head);
    if (!n.cut_through) take_room(n, at.channel(n, queue.out, queue.out_channel), port, 1);
  }
  const u32 bit = 1u << (local & 31);
  if (!tail) {
    if (queue.flits == 0) wants.the_switch &= ~bit;
    return;
  }
  port.free_channels ^= 1u << queue.out_channel;
  queue.flags = 0;
  wants.the_switch &= ~bit;
  if (queue.flits == 0) return;
  const Entry next{n.behind[entry.id()]};  // looks for its route
  queue.entry = next.bits;
  queue.left = static_cast<u16>(next.flits());
  find_route(n, t, at, channel, queue, next);
  (n.route_cycles ? wants.channel_in_2 : wants.channel_in_1) |= bit;
}

/// Input side: of the outputs that chose it, one in turn, or the oldest packet first.
template <class Net>
WEFT_DEVICE void accept_grant(const Net& n, Moment& t, Place at, u32 round) {
  const u32 first = at.own().granted;
  if (first == kNobody) return;
  at.own().granted = kNobody;
  Port& from = at.own_port();
  u32 best = first;
  Rank best_rank;
  for (u32 out = first; out != kNobody; out = at.exchange[out].next_grant) {
    const Queue& queue = queue_of(n, at.router, at.exchange[out].grant);
    const Rank rank = rank_of(n, from, queue, static_cast<u16>(out - from.last_output - 1u));
    if (rank.before(best_rank)) best = out, best_rank = rank;
  }
  const u32 local = local_of(at.exchange[best].grant);
  if (round == 0) {
    at.ports[best].last_input = static_cast<u16>(at.index);
    from.last_output = static_cast<u16>(best);
    from.last_channel = static_cast<u8>(local / n.outputs);
  }
  if (n.iterations > 1) at.own().input_matched = at.exchange[best].output_matched = 1;
  at.own().changed = at.exchange[best].changed = 1;
  t.moved = true;
  send(n, t, at, local);
}

// --- injection

/// Takes the next packet of the queue if a channel has room for it.
template <class Net>
WEFT_DEVICE bool start_packet(const Net& n, const Moment& t, Place at, Port& port, Sender& sender) {
  const u32 id = sender.first;
  if (static_cast<std::int32_t>(n.created[id] - static_cast<u32>(t.now)) >= 0)
    return false;  // made in this cycle or ahead of it: sent in the next
  const Entry entry{n.packet[id]};
  const unsigned wanted = n.cut_through ? entry.flits() : 1;
  const u32 base = entry.message_class() * n.class_channels_count;
  u32 turn = sender.next_channel;
  for (u32 i = 0; i < n.class_channels_count; ++i) {
    const u32 channel = base + turn;
    turn = turn + 1 == n.class_channels_count ? 0 : turn + 1;
    OutChannel& out = at.channel(n, at.index, channel);
    if (!has_room(out, port, wanted)) continue;
    if (n.cut_through) take_room(n, out, port, wanted);
    sender.channel = static_cast<u8>(channel);
    sender.next_channel = static_cast<u8>(turn);
    sender.current = id;
    sender.left = static_cast<u16>(entry.flits());
    sender.first = static_cast<u32>(n.behind[id]);
    --sender.queued;
    if (!n.on_grid && n.tables.vias && !n.tables.chooses) choose_via(n, t, at, entry);
    return true;
  }
  return false;
}

/// Sends at most one flit of an endpoint into its router.
template <class Net>
WEFT_DEVICE void inject(const Net& n, Moment& t, Place at, u32 endpoint) {
  Sender& sender = n.sender[endpoint];
  if (sender.current == kNobody && sender.first == kNobody) return;
  const u32 p = n.port_at(at.router, at.index);
  Port& port = at.own_port();
  bool sends = sender.current != kNobody || start_packet(n, t, at, port, sender);
  if (sends && !n.cut_through) {
    OutChannel& channel = at.channel(n, at.index, sender.channel);
    sends = has_room(channel, port, 1);
    if (sends) take_room(n, channel, port, 1);
  }
  if (sends) {
    at.own().changed = 1;
    const Entry entry{n.packet[sender.current]};
    const bool head = sender.left == entry.flits();
    const u64 slot = n.slot(t.now + n.endpoint_cycles, p);
    if (head) {
      n.injected[sender.current] = static_cast<u32>(t.now);
      n.head_in[slot] = entry.bits;
    }
    n.arrival[slot].flit = static_cast<u8>(Network::kFlit | (head ? Network::kHead : 0) | sender.channel);
    wake_in(n, t, n.endpoint_cycles);
    ++t.counts[kInjected];
    t.moved = true;
    if (--sender.left == 0) sender.current = kNobody;
  }
  if (sender.current != kNobody || sender.first != kNobody) wake_in(n, t, 1);
}

/// The end of a port's cycle.
template <class Net>
WEFT_DEVICE void finish(const Net& n, Moment& t, Place at) {
  const u32 p = n.port_at(at.router, at.index);
  end_requests(n, t, at, p);
  if (n.port_endpoint[p] != kNobody) inject(n, t, at, n.port_endpoint[p]);
  lay_down(n, at);
}

}  // namespace weft::network::gpu
