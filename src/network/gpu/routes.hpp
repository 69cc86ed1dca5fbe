// Route computation: which output the packet at the head of a queue goes to, and which virtual channels it
// may take there. The flit engine's, with tables where that calls the routing.
#pragma once

#include "network/gpu/network.hpp"

namespace weft::network::gpu {

/// Channels of an output a new packet can have now.
template <class Net>
WEFT_DEVICE u32 open_channels(const Net& n, Place at, u32 out, u32 wanted, unsigned flits) {
  const Port& port = at.ports[out];
  u32 open = wanted & port.free_channels;
  if (!n.cut_through || (port.flags & Port::kEndpoint)) return open;
  for (u32 left = open; left; left &= left - 1) {
    unsigned c = lowest_bit(left);
    if (!has_room(at.channel(n, out, c), port, flits)) open &= ~(1u << c);
  }
  return open;
}

WEFT_DEVICE u32 parity_of(u32 place) { return (place ^ place >> 8 ^ place >> 16 ^ place >> 24) & 1; }

template <class Net>
WEFT_DEVICE void find_route_on_grid(const Net& n, const Moment& t, Place at, u32 channel, Queue& queue,
                                    Entry entry) {
  const Grid& grid = n.grid;
  const u32 here = n.place[at.router], there = n.endpoint_place[entry.destination()];
  if (here == there) {
    queue.out = n.endpoint_port[entry.destination()];
    queue.channels = n.channels_of(entry.message_class());
    return;
  }
  // Where either class is allowed the packet draws one; the flit engine's coin.
  u64 mixed = (t.coin ^ (u64{here} << 24 | entry.destination())) * kMixer;
  auto drawn = static_cast<u32>((mixed ^ mixed >> 32) * kMixer >> 63);
  const unsigned bit = lowest_bit(here ^ there), d = bit / 8;
  const u32 row = grid.first_row[d] + (here >> 8 * d & 0xff), to = there >> 8 * d & 0xff;
  const Grid::Step step = grid.table[row * grid.row_steps + to * 2 + parity_of(there)];
  const bool keeps = grid.keeps_class[d] && at.index - grid.first_port[d] < grid.ports[d];
  const u32 channel_class = keeps ? n.channel_class[channel] : (step.either & drawn) | step.only;
  // Turns go over all channels of all outputs, so a new output starts at its first channel.
  if (queue.out != step.port) queue.out_channel = kFirstChannelNext;
  queue.out = step.port;
  queue.channels = n.class_channels[channel_class] << entry.message_class() * n.class_channels_count;
}

/// Cables of the shortest route between two places of a grid.
WEFT_DEVICE u32 grid_distance(const Grid& grid, u32 a, u32 b) {
  u32 hops = 0;
  for (unsigned d = 0; d < 4; ++d) {
    u32 from = a >> 8 * d & 0xff, to = b >> 8 * d & 0xff, apart = from < to ? to - from : from - to;
    hops += least(apart, grid.around[d] - apart);
  }
  return hops;
}

/// The answer of a routing in its tables: how many candidates, and then they.
struct Answer {
  const u32* words;
  WEFT_DEVICE u32 count() const { return words[0]; }
  WEFT_DEVICE u32 port(u32 i) const { return words[1 + i] >> 8; }
  WEFT_DEVICE u32 channel_class(u32 i) const { return words[1 + i] & 0xff; }
};

/// Has a packet at this router reached that place?
template <class Net>
WEFT_DEVICE bool via_reached(const Net& n, u32 router, u32 via) {
  return n.tables.via_reached[u64{router} * n.tables.via_words + via / 32] >> (via & 31) & 1;
}
template <class Net>
WEFT_DEVICE Answer via_answer(const Net& n, u32 row, u32 via) {
  return {n.tables.candidates + n.tables.via_answer[u64{row} * n.tables.vias + via]};
}
template <class Net>
WEFT_DEVICE Answer answer_to(const Net& n, const u32* answers, u32 row, u32 destination) {
  return {n.tables.candidates + answers[u64{row} * n.tables.columns + n.tables.column[destination]]};
}

/// What its routing says of a packet where it stands; one that starts a leg counts as injected. `arrived`: it
/// is at the router of its destination and goes nowhere else before.
template <class Net>
WEFT_DEVICE Answer ask_routing(const Net& n, Place at, u32 channel, Entry entry, bool& arrived) {
  const Tables& tables = n.tables;
  bool starts_leg = at.own_port().flags & Port::kEndpoint;
  bool second_leg = false;
  u32 via = kNobody;
  if (tables.vias) {
    const u32 id = entry.id();
    via = n.via[id];
    if (via != kNobody && via_reached(n, at.router, via)) {
      n.via[id] = via = kNobody;
      n.turned_at[id] = at.router;
    }
    second_leg = n.turned_at[id] != kNobody;
    starts_leg |= n.turned_at[id] == at.router;
  }
  arrived = via == kNobody && n.endpoint_router[entry.destination()] == at.router;
  if (arrived) return {nullptr};
  u32 row = tables.first_row[at.router];
  if (tables.by_input && !starts_leg) row += 1 + at.index * tables.classes + n.channel_class[channel];
  if (via != kNobody) return via_answer(n, row, via);
  return answer_to(n, second_leg && tables.later_answer ? tables.later_answer : tables.answer, row,
                   entry.destination());
}

template <class Net>
WEFT_DEVICE void find_route_by_tables(const Net& n, Place at, u32 channel, Queue& queue, Entry entry) {
  bool arrived = false;
  const Answer answer = ask_routing(n, at, channel, entry, arrived);
  queue.out_channel = kFirstChannelNext;
  if (arrived) {
    queue.out = n.endpoint_port[entry.destination()];
    queue.channels = n.channels_of(entry.message_class());
    return;
  }
  queue.out = kUndecided;
  queue.channels = 0;
  if (n.tables.chooses && (at.own_port().flags & Port::kEndpoint))
    return;  // direct or by a third place: chosen when it requests a channel
  u32 mask = 0;
  for (u32 i = 0; i < answer.count(); ++i) {
    if (answer.port(i) != answer.port(0)) return;  // several: it chooses when it requests one
    mask |= n.class_channels[answer.channel_class(i)];
  }
  if (answer.count() == 0) return;  // nowhere to go: it waits
  queue.out = static_cast<u16>(answer.port(0));
  queue.channels = mask << entry.message_class() * n.class_channels_count;
}

/// For a packet that has become the first of its queue.
template <class Net>
WEFT_DEVICE void find_route(const Net& n, const Moment& t, Place at, u32 channel, Queue& queue, Entry entry) {
  if (n.on_grid)
    find_route_on_grid(n, t, at, channel, queue, entry);
  else
    find_route_by_tables(n, at, channel, queue, entry);
}

/// The least loaded of the candidates that have a channel free. Ways of equal load take turns.
template <class Net>
WEFT_DEVICE u32 least_loaded(const Net& n, const Moment& t, Place at, Answer answer, Entry entry,
                             u32& channels) {
  const u32 first = n.first_port[at.router], shift = entry.message_class() * n.class_channels_count;
  const u32 turn = static_cast<u32>(t.now) + first + at.index + entry.destination();
  u32 best = kUndecided;
  u64 best_load = ~u64{0};
  channels = 0;
  const u32 count = answer.count();
#ifdef __CUDACC__
#pragma unroll 4  // what several candidates need is loaded at a time
#endif
  for (u32 i = 0; i < count; ++i) {
    const u32 out = answer.port(i), channel_class = answer.channel_class(i);
    const u32 open = open_channels(n, at, out, n.class_channels[channel_class] << shift, entry.flits());
    // Escape channels are for packets that find no other channel: they count as fully loaded.
    u64 load = at.ports[out].owed;
    load += n.tables.escape_classes >> channel_class & 1 ? 1u << 20 : 0u;
    load = open ? load << 32 | (first + out + turn) * 0x9e3779b9u : ~u64{0};
    channels = load < best_load ? open : load == best_load ? channels | open : channels;
    best = load < best_load ? out : best;
    best_load = least(load, best_load);
  }
  return best;
}

// --- sources that choose between a direct route and one by way of a third place

struct Congestion {
  u32 queue = ~0u;    // flits standing
  u32 by_chance = 0;  // flits that stand there now and then without anything being wrong
  bool full = true;   // no room for the packet on any channel it may take
};

/// Flits that stand in queues at the far end of a port, as its router can tell. Who looks does not change
/// what others see in this cycle: the pace is brought up to date afterwards (update_pace).
template <class Net>
WEFT_DEVICE u32 pace_of(const Net& n, const Moment& t, u32 port, const Pace& pace) {
  if (t.now < pace.since + pace.round_trip) return pace.under_way;
  return static_cast<u32>((n.sent[port] - pace.sent) * pace.round_trip / most<u64>(1, t.now - pace.since));
}
template <class Net>
WEFT_DEVICE u32 queue_behind(const Net& n, const Moment& t, Place at, u32 out) {
  const u32 port = n.port_at(at.router, out);
  Pace& pace = n.pace[port];
  pace.asked = 1;
  const u32 under_way = pace_of(n, t, port, pace), owed = at.ports[out].owed;
  // A cable that was never idle has others waiting for it here, where no credit shows them.
  return (owed > under_way ? owed - under_way : 0) + (under_way >= pace.full ? pace.round_trip : 0);
}
template <class Net>
WEFT_DEVICE void update_pace(const Net& n, const Moment& t, u32 port) {
  Pace& pace = n.pace[port];
  if (!pace.asked) return;
  pace.asked = 0;
  if (t.now < pace.since + pace.round_trip) return;
  pace.under_way = pace_of(n, t, port, pace);
  pace.since = t.now;
  pace.sent = n.sent[port];
}

template <class Net>
WEFT_DEVICE Congestion least_congestion(const Net& n, const Moment& t, Place at, Answer answer, Entry entry) {
  Congestion found;
  for (u32 i = 0; i < answer.count(); ++i) {
    const u32 out = answer.port(i), port = n.port_at(at.router, out);
    const u32 queue = queue_behind(n, t, at, out);
    if (queue < found.queue) {
      found.queue = queue;
      found.by_chance = n.pace[port].round_trip / 2;
    }
    for (u32 left = n.class_channels[answer.channel_class(i)]
                    << entry.message_class() * n.class_channels_count;
         left; left &= left - 1)
      found.full &=
          !has_room(at.channel(n, out, lowest_bit(left)), at.ports[out], n.cut_through ? entry.flits() : 1);
  }
  return found;
}

/// Valiant always goes by way of a random place; UGAL only where the route there is the less congested for
/// its length, as its router sees it each time the packet requests a channel.
template <class Net>
WEFT_DEVICE void choose_via(const Net& n, const Moment& t, Place at, Entry entry) {
  const u32 id = entry.id(), source = n.source[id];
  const u32 router = at.router, goal = n.endpoint_router[entry.destination()];
  n.via[id] = kNobody;
  if (router == goal) return;
  const u32 via = random_below(n.seed, source, n.created[id], n.tables.vias);
  if (via_reached(n, router, via)) return;
  n.via[id] = via;
  if (!n.tables.chooses) return;
  const u32 row = n.tables.first_row[router];
  const Congestion direct =
      least_congestion(n, t, at, answer_to(n, n.tables.answer, row, entry.destination()), entry);
  const Congestion around = least_congestion(n, t, at, via_answer(n, row, via), entry);
  const bool straight =
      direct.full == around.full ? direct.queue <= 2 * around.queue + direct.by_chance : around.full;
  if (straight) n.via[id] = kNobody;
}

/// Of several outputs, the least loaded that has a channel free now, or kUndecided where all are taken.
template <class Net>
WEFT_DEVICE u32 choose_output(const Net& n, const Moment& t, Place at, u32 channel, Entry entry, u32& open) {
  open = 0;
  if (n.on_grid) return kUndecided;
  if (n.tables.chooses && (at.own_port().flags & Port::kEndpoint)) choose_via(n, t, at, entry);
  bool arrived = false;
  const Answer answer = ask_routing(n, at, channel, entry, arrived);
  return least_loaded(n, t, at, answer, entry, open);
}

}  // namespace weft::network::gpu
