// The stages of a router's cycle, each for one port of one router. Between two stages all ports of the router
// must have finished the first; nothing else is exchanged in a cycle but what arrives in a later one.
//
// They are the flit engine's stages, and give its results to the bit: who comes first in rank does not depend
// on the order in which ports are visited.
#pragma once

#include "network/gpu/routes.hpp"

namespace weft::network::gpu {

// --- arrivals: input and output side of the port

WEFT_DEVICE void take_credit(const Network& n, const Moment& t, Place at, u32 p) {
  u8& credit = n.credit_in[n.slot(t.now, p)];
  if (!credit) return;
  OutChannel& channel = n.out[n.channel_at(at.router, at.index, credit & Network::kChannel)];
  credit = 0;
  if (n.shares && channel.used > n.port[p].room) ++n.port[p].spare;
  --channel.used;
}

/// The queue of an input for a packet that arrives; where there is one for each output, its route says which.
WEFT_DEVICE u32 queue_for(const Network& n, const Moment& t, Place at, u32 channel, Entry entry) {
  if (!n.queue_per_output) return channel;
  Queue scratch;
  find_route(n, t, at, channel, scratch, entry);
  const u16 out = scratch.out == kUndecided ? u16{0} : scratch.out;  // nowhere to go: it waits anywhere
  n.receiving[n.channel_at(at.router, at.index, channel)] = out;
  return channel * n.outputs + out;
}

WEFT_DEVICE void take_flit(const Network& n, const Moment& t, Place at, u32 p) {
  const u64 slot = n.slot(t.now, p);
  const u8 flit = n.flit_in[slot];
  if (!flit) return;
  n.flit_in[slot] = 0;
  const u32 channel = flit & Network::kChannel;
  const bool head = flit & Network::kHead;
  const Entry entry{head ? n.head_in[slot] : 0};
  u32 local = channel;
  if (head)
    local = queue_for(n, t, at, channel, entry);
  else if (n.queue_per_output)
    local = channel * n.outputs + n.receiving[n.channel_at(at.router, at.index, channel)];
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  Requests& wants = n.requests[n.requests_at(at.router, at.index, local / 32)];
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
WEFT_DEVICE void create_packets(const Network& n, Moment& t, u32 endpoint) {
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
    if (n.tables.vias) n.via[id] = n.turned_at[id] = kNobody;
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
  wants.the_switch_in_1 = wants.matched = 0;
}

WEFT_DEVICE bool waits(const Network& n, Place at) {
  bool any = false;
  for (u32 word = 0; word < n.words; ++word)
    any |= n.requests[n.requests_at(at.router, at.index, word)].any();
  return any;
}

/// Returns whether anything is left to do in this cycle.
WEFT_DEVICE bool arrive(const Network& n, Moment& t, Place at) {
  const u32 p = n.port_at(at.router, at.index);
  for (u32 word = 0; word < n.words; ++word) {
    Requests& wants = n.requests[n.requests_at(at.router, at.index, word)];
    if (wants.any() | wants.before | wants.matched) move_on(wants);
  }
  take_credit(n, t, at, p);
  take_flit(n, t, at, p);
  const u32 endpoint = n.port_endpoint[p];
  if (endpoint == kNobody) return waits(n, at);
  if (t.window_begins) create_packets(n, t, endpoint);
  return waits(n, at) || n.sender[endpoint].current != kNobody || n.sender[endpoint].first != kNobody;
}

// --- virtual-channel allocation

WEFT_DEVICE void request_channel(const Network& n, const Moment& t, Place at, u32 local) {
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
    open = open_channels(n, at.router, out, queue.channels, entry.flits());
  if (!open) return;
  queue.offered = open;
  queue.chain = exchange(n.requester[n.port_at(at.router, out)], at.index * n.port_queues + local);
}

/// Input side: heads request a channel of their output.
WEFT_DEVICE void request_channels(const Network& n, const Moment& t, Place at) {
  for (u32 word = 0; word < n.words; ++word)
    for (u32 left = n.requests[n.requests_at(at.router, at.index, word)].channel; left; left &= left - 1)
      request_channel(n, t, at, word * 32 + lowest_bit(left));
}

/// A queue of a router by its number in a chain.
WEFT_DEVICE Queue& queue_of(const Network& n, u32 router, u32 q) { return n.queue[q * n.routers + router]; }

/// Takes one of the channels offered, in turn.
WEFT_DEVICE void give_channel(const Network& n, Place at, u32 q, Queue& queue, u32 offered) {
  const u32 channel = pick_after(offered, queue.out_channel + 1u);
  queue.out = static_cast<u16>(at.index);
  queue.out_channel = static_cast<u8>(channel);
  queue.flags = Queue::kActive;
  queue.offered = 0;
  Port& port = n.port[n.port_at(at.router, at.index)];
  OutChannel& taken = n.out[n.channel_at(at.router, at.index, channel)];
  taken.last_queue = n.turn_number(at.router, q / n.channels, q % n.channels);
  port.free_channels ^= 1u << channel;
  if (n.cut_through && !(port.flags & Port::kEndpoint)) take_room(taken, port, Entry{queue.entry}.flits());
}

/// Of those who may take a channel, all but the first in rank lose it.
WEFT_DEVICE void contest_channel(const Network& n, Place at, u32 first, u32 channel) {
  const u32 last = n.out[n.channel_at(at.router, at.index, channel)].last_queue;
  u32 best = kNobody;
  Rank best_rank;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    const Queue& queue = queue_of(n, at.router, q);
    if (!(queue.offered >> channel & 1)) continue;
    const u32 input = q / n.channels, number = n.turn_number(at.router, input, q % n.channels);
    const Rank rank =
        rank_of(n, n.port[n.port_at(at.router, input)], queue, static_cast<u16>(number - last - 1));
    if (rank.before(best_rank)) best = q, best_rank = rank;
  }
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain)
    if (q != best) queue_of(n, at.router, q).offered &= ~(1u << channel);
}

/// Output side: each free channel grants one of those that request it; each requester accepts one of its
/// grants.
WEFT_DEVICE void grant_channels(const Network& n, const Moment& t, Place at) {
  const u32 p = n.port_at(at.router, at.index), first = n.requester[p];
  if (n.pace) update_pace(n, t, p);
  if (first == kNobody) return;
  n.requester[p] = kNobody;
  u32 any = 0, contested = 0;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    contested |= any & queue_of(n, at.router, q).offered;
    any |= queue_of(n, at.router, q).offered;
  }
  for (u32 left = contested; left; left &= left - 1) contest_channel(n, at, first, lowest_bit(left));
  if (!(n.cut_through && n.shares) || (n.port[p].flags & Port::kEndpoint)) {
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
      if (alone ||
          has_room(n.out[n.channel_at(at.router, at.index, channel)], n.port[p], Entry{queue.entry}.flits()))
        give_channel(n, at, q, queue, 1u << channel);
      break;
    }
  }
}

// --- switch allocation

/// Of the channels a packet may still take, those it could start on now.
WEFT_DEVICE u32 channels_with_room(const Network& n, u32 router, const Queue& queue, const Port& out) {
  u32 open = queue.offered & out.free_channels;
  if (out.flags & Port::kEndpoint) return open;
  const unsigned flits = n.cut_through ? Entry{queue.entry}.flits() : 1;
  for (u32 left = open; left; left &= left - 1) {
    const u32 c = lowest_bit(left);
    if (!has_room(n.out[n.channel_at(router, queue.out, c)], out, flits)) open &= ~(1u << c);
  }
  return open;
}

/// May the first flit of this queue be sent now?
WEFT_DEVICE bool may_send(const Network& n, const Moment& t, u32 router, const Queue& queue,
                          const Port& out) {
  const bool needs_channel = n.queue_per_output && queue.offered;
  if (needs_channel && channels_with_room(n, router, queue, out) == 0) return false;
  if ((out.flags & Port::kNarrow) &&
      static_cast<std::int32_t>(out.next_send - static_cast<u32>(t.now << 8)) > 0)
    return false;
  if (needs_channel || n.cut_through || (out.flags & Port::kEndpoint)) return true;
  return has_room(n.out[n.channel_at(router, queue.out, queue.out_channel)], out, 1);
}

/// Do those who request the switch towards an endpoint for the first time sit out (sit_out())?
WEFT_DEVICE bool some_sit_out(const Network& n, const Port& out) {
  return n.iterations > 1 && !n.on_grid && (out.flags & Port::kEndpoint);
}

WEFT_DEVICE void request_output(const Network& n, const Moment& t, Place at, u32 local, u32 round,
                                bool again) {
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  const u32 out = n.port_at(at.router, queue.out);
  if (round > 0 && ((queue.flags & Queue::kSitsOut) || n.output_matched[out] == static_cast<u32>(t.now) + 1))
    return;
  if (queue.flags & Queue::kSitsOut) queue.flags = Queue::kActive;  // of an earlier cycle
  if (may_send(n, t, at.router, queue, n.port[out]))
    queue.chain = exchange(n.requester[out], at.index * n.port_queues + local);
  else if (round == 0 && !again && some_sit_out(n, n.port[out]))
    queue.flags |= Queue::kSitsOut;
}

/// Input side: who has a channel and a flit requests its output, in later rounds if neither has a partner.
WEFT_DEVICE void request_switch(const Network& n, const Moment& t, Place at, u32 round) {
  if (round > 0 && n.requests[n.requests_at(at.router, at.index, 0)].matched) return;
  for (u32 word = 0; word < n.words; ++word) {
    Requests& wants = n.requests[n.requests_at(at.router, at.index, word)];
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
WEFT_DEVICE Rank switch_rank(const Network& n, u32 router, const Port& port, u32 q) {
  const u32 input = q / n.port_queues, channel = q % n.port_queues / n.outputs;
  const Port& from = n.port[n.port_at(router, input)];
  const u32 channel_turn = (channel - from.last_channel - 1u) & ((1u << n.channel_bits) - 1);
  const u64 turn = u64{static_cast<u16>(input - port.last_input - 1u)} << 8 | channel_turn;
  return rank_of(n, from, queue_of(n, router, q), turn);
}

/// Of those who request the switch towards an endpoint for the first time, all but the first in rank sit out
/// the other rounds of this cycle. The flit engine, which finds its routes by a relation, has them in another
/// list than those who request it again, and looks at the latter alone.
WEFT_DEVICE void sit_out(const Network& n, Place at, const Port& port, u32 first) {
  u32 best = kNobody;
  Rank best_rank;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    const u32 local = q % n.port_queues;
    if (n.requests[n.requests_at(at.router, q / n.port_queues, local / 32)].before >> (local & 31) & 1)
      continue;
    const Rank rank = switch_rank(n, at.router, port, q);
    if (best != kNobody) queue_of(n, at.router, rank.before(best_rank) ? best : q).flags |= Queue::kSitsOut;
    if (rank.before(best_rank)) best = q, best_rank = rank;
  }
}

/// Output side: of those who request it, the first in rank.
WEFT_DEVICE void grant_switch(const Network& n, Place at, u32 round) {
  const u32 p = n.port_at(at.router, at.index), first = n.requester[p];
  if (first == kNobody) return;
  n.requester[p] = kNobody;
  Port& port = n.port[p];
  u32 best = first;
  Rank best_rank;
  for (u32 q = first; q != kNobody; q = queue_of(n, at.router, q).chain) {
    const Rank rank = switch_rank(n, at.router, port, q);
    if (rank.before(best_rank)) best = q, best_rank = rank;
  }
  if (round == 0 && some_sit_out(n, port)) sit_out(n, at, port, first);
  const u32 input = best / n.port_queues;
  if (n.moves_turns) port.last_input = static_cast<u16>(input);  // iSLIP's move only when the input accepts
  n.grant[p] = best;
  n.next_grant[p] = exchange(n.granted[n.port_at(at.router, input)], at.index);
}

// --- traversal

WEFT_DEVICE void deliver(const Network& n, const Moment& t, Entry entry) {
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
WEFT_DEVICE void put_on_cable(const Network& n, const Moment& t, const Port& port, u32 out,
                              const Queue& queue, Entry entry, bool head) {
  const u64 arrival = t.now + port.flight, slot = n.slot(arrival, port.peer);
  if (head) {
    n.head_in[slot] = entry.bits;
    if (n.counts_hops) ++n.hops[entry.id()];
    if (n.port_remainder) n.remainder[entry.id()] += n.port_remainder[out];
  }
  n.flit_in[slot] = static_cast<u8>(Network::kFlit | (head ? Network::kHead : 0) | queue.out_channel);
  n.wake(arrival);
}

/// A packet that has won the switch takes one of the channels it may, in turn.
WEFT_DEVICE void take_channel(const Network& n, u32 router, Queue& queue, Port& port) {
  const u32 channel = pick_after(channels_with_room(n, router, queue, port), queue.out_channel + 1u);
  queue.out_channel = static_cast<u8>(channel);
  queue.offered = 0;
  port.free_channels ^= 1u << channel;
  if (n.cut_through && !(port.flags & Port::kEndpoint))
    take_room(n.out[n.channel_at(router, queue.out, channel)], port, Entry{queue.entry}.flits());
}

/// Moves one flit from the front of its queue through the switch.
WEFT_DEVICE void send(const Network& n, Moment& t, Place at, u32 local) {
  const u32 p = n.port_at(at.router, at.index), channel = local / n.outputs;
  const Port& from = n.port[p];
  Queue& queue = n.queue[n.queue_at(at.router, at.index, local)];
  Requests& wants = n.requests[n.requests_at(at.router, at.index, local / 32)];
  const u32 out = n.port_at(at.router, queue.out);
  Port& port = n.port[out];
  if (n.queue_per_output && queue.offered) take_channel(n, at.router, queue, port);
  n.credit_in[n.slot(t.now + from.flight, from.peer)] = static_cast<u8>(Network::kCredit | channel);
  n.wake(t.now + from.flight);
  const Entry entry{queue.entry};
  const bool head = queue.left == entry.flits(), tail = queue.left == 1;
  --queue.left;
  --queue.flits;
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
    if (!n.cut_through) take_room(n.out[n.channel_at(at.router, queue.out, queue.out_channel)], port, 1);
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
WEFT_DEVICE void accept_grant(const Network& n, Moment& t, Place at, u32 round) {
  const u32 p = n.port_at(at.router, at.index), first = n.granted[p];
  if (first == kNobody) return;
  n.granted[p] = kNobody;
  Port& from = n.port[p];
  u32 best = first;
  Rank best_rank;
  for (u32 out = first; out != kNobody; out = n.next_grant[n.port_at(at.router, out)]) {
    const Queue& queue = queue_of(n, at.router, n.grant[n.port_at(at.router, out)]);
    const Rank rank = rank_of(n, from, queue, static_cast<u16>(out - from.last_output - 1u));
    if (rank.before(best_rank)) best = out, best_rank = rank;
  }
  const u32 out = n.port_at(at.router, best), local = n.grant[out] % n.port_queues;
  if (round == 0) {
    n.port[out].last_input = static_cast<u16>(at.index);
    from.last_output = static_cast<u16>(best);
    from.last_channel = static_cast<u8>(local / n.outputs);
  }
  if (n.iterations > 1) {
    n.requests[n.requests_at(at.router, at.index, 0)].matched = 1;
    n.output_matched[out] = static_cast<u32>(t.now) + 1;
  }
  n.note_move(t.window_end);
  send(n, t, at, local);
}

// --- injection

/// Takes the next packet of the queue if a channel has room for it.
WEFT_DEVICE bool start_packet(const Network& n, const Moment& t, Place at, Port& port, Sender& sender) {
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
    OutChannel& out = n.out[n.channel_at(at.router, at.index, channel)];
    if (!has_room(out, port, wanted)) continue;
    if (n.cut_through) take_room(out, port, wanted);
    sender.channel = static_cast<u8>(channel);
    sender.next_channel = static_cast<u8>(turn);
    sender.current = id;
    sender.left = static_cast<u16>(entry.flits());
    sender.first = static_cast<u32>(n.behind[id]);
    --sender.queued;
    if (n.tables.vias && !n.tables.chooses) choose_via(n, t, entry);
    return true;
  }
  return false;
}

/// Sends at most one flit of an endpoint into its router.
WEFT_DEVICE void inject(const Network& n, Moment& t, Place at, u32 endpoint) {
  Sender& sender = n.sender[endpoint];
  if (sender.current == kNobody && sender.first == kNobody) return;
  const u32 p = n.port_at(at.router, at.index);
  Port& port = n.port[p];
  bool sends = sender.current != kNobody || start_packet(n, t, at, port, sender);
  if (sends && !n.cut_through) {
    OutChannel& channel = n.out[n.channel_at(at.router, at.index, sender.channel)];
    sends = has_room(channel, port, 1);
    if (sends) take_room(channel, port, 1);
  }
  if (sends) {
    const Entry entry{n.packet[sender.current]};
    const bool head = sender.left == entry.flits();
    const u64 arrival = t.now + n.endpoint_cycles, slot = n.slot(arrival, p);
    if (head) {
      n.injected[sender.current] = static_cast<u32>(t.now);
      n.head_in[slot] = entry.bits;
    }
    n.flit_in[slot] = static_cast<u8>(Network::kFlit | (head ? Network::kHead : 0) | sender.channel);
    n.wake(arrival);
    ++t.counts[kInjected];
    n.note_move(t.window_end);
    if (--sender.left == 0) sender.current = kNobody;
  }
  if (sender.current != kNobody || sender.first != kNobody) n.wake(t.now + 1);
}

/// The end of a port's cycle.
WEFT_DEVICE void finish(const Network& n, Moment& t, Place at) {
  const u32 p = n.port_at(at.router, at.index);
  if (waits(n, at)) n.wake(t.now + 1);
  if (n.port_endpoint[p] != kNobody) inject(n, t, at, n.port_endpoint[p]);
}

}  // namespace weft::network::gpu
