// The kernel's endpoints: packets made, sent and delivered.
#pragma once

#include "network/flit/kernel.hpp"
#include "routing/vias.hpp"

namespace weft::network::flit {

/// Asks the sources that are due in a cycle for their packets, many at once.
template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::create_packets(Cycle now) {
  auto make = [&] {
    if (w_.creations.empty()) return;
    traffic_.create_all(now, w_.creations);
    for (const Creation& creation : w_.creations) create(creation, now);
    w_.creations.clear();
  };
  w_.timers.fire(now, [&](EndpointId endpoint) {
    w_.creations.push_back({.source = endpoint});
    if (w_.creations.size() == Engine::Worker::kBatch) make();
  });
  make();
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::create(const Creation& creation, Cycle now) {
  const EndpointId source = creation.source;
  const NewPacket& made = creation.packet;
  const Cycle next = creation.next;
  if (creation.made) {
    WEFT_CHECK(made.destination < e_.senders_.size() && made.flits >= 1 && made.flits <= Entry::kMaxFlits,
               "traffic makes packets for endpoints there are");
    if (s_.source_queue && e_.senders_[source].queued >= s_.source_queue) {
      ++w_.counters.packets_refused;
      w_.counters.flits_refused += made.flits;
      if (next != kNever) w_.timers.set(source, std::max(next, now + 1));
      return;
    }
    PacketId id = w_.take_packet(e_);
    PacketRecord& record = e_.packets_[id];
    record.hops = 0;
    record.remainder = made.remainder;
    record.damaged = record.departed = false;
    record.created = now;
    record.tag = made.tag;
    record.source = source;
    record.destination = made.destination;
    record.via = record.turned_at = topology::kNone;
    e_.packets_.behind(id) = kNoPacket;
    record.flits = made.flits;
    record.message_class = made.message_class;
    ++w_.counters.packets_created;
    if (b_.guard && b_.guard->cut_off(source, made.destination))
      lose(id, now);
    else
      queue_packet(id, now);
  }
  if (next != kNever) w_.timers.set(source, std::max(next, now + 1));
}

/// Puts a packet at the end of its source's queue.
template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::queue_packet(PacketId id, Cycle now) {
  EndpointId source = e_.packets_[id].source;
  Sender& sender = e_.senders_[source];
  if (!sender.listed) {
    sender.listed = true;
    std::uint32_t tile = e_.endpoint_tile_[source];
    e_.state_.tiles[tile].senders[(now + 1) & 1].push(source);
    e_.state_.awake[e_.inbox_index(now + 1, tile) + w_.index] = Mark::kYes;
  }
  if (sender.first == kNoPacket)
    sender.first = id;
  else
    e_.packets_.behind(sender.last) = id;
  sender.last = id;
  ++sender.queued;
}

/// Sends at most one flit of each endpoint into its router.
template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::send_from_endpoints(Tile& tile) {
  const Base b = b_;
  Bag<EndpointId>& senders = tile.senders[b.now & 1];
  Bag<EndpointId>& next = tile.senders[(b.now + 1) & 1];
  next.reserve(senders.size());
  EndpointId* end = next.end();
  for (EndpointId endpoint : senders) {
    Sender& sender = e_.senders_[endpoint];
    *end = endpoint;
    if (sender.current == kNoPacket && !start_packet(b, sender, endpoint)) {
      ++end;
      continue;
    }
    PortNumber p = e_.endpoint_port_[endpoint];
    Port& port = b.ports[p];
    if constexpr (!CutThrough) {
      OutChannel& channel = b.out_channel(p, sender.channel);
      if (!has_room(channel, port, 1) || !header_queue_lets(sender, p)) {
        ++end;
        continue;
      }
      take_room(channel, port, 1);
    }
    PacketRecord& record = e_.packets_[sender.current];
    Inbox& inbox = b.inbox_at(port.inbox, e_.endpoint_flight_);
    ChannelNumber to = port.peer + sender.channel;
    if (sender.left == record.flits) {
      record.injected = b.now;
      inbox.heads.push(
          {to, Entry(sender.current, record.destination, record.flits, record.message_class).bits()});
    } else {
      inbox.bodies.push(to);
    }
    ++counters_.flits_injected;
    if (--sender.left == 0) {
      if (s_.tell_departures && !record.departed) {
        record.departed = true;
        observer_.departed(record.tag, b.now);
      }
      sender.current = kNoPacket;
    }
    sender.listed = sender.current != kNoPacket || sender.first != kNoPacket;
    end += sender.listed;
  }
  next.set_end(end);
  senders.clear();
}

/// Takes the next packet of the queue if a channel has room for it.
template <class Route, bool CutThrough, bool Voq>
bool Kernel<Route, CutThrough, Voq>::start_packet(const Base& b, Sender& sender, EndpointId endpoint) {
  if (e_.holding_) return false;
  PacketId id = sender.first;
  PacketRecord& record = e_.packets_[id];
  if (record.created >= b.now) return false;  // made in this cycle or ahead of it: sent in the next
  PortNumber p = e_.endpoint_port_[endpoint];
  Port& port = b.ports[p];
  unsigned wanted = CutThrough ? record.flits : 1;
  unsigned base = record.message_class * channels_;
  unsigned turn = sender.next_channel;
  for (unsigned i = 0; i < channels_; ++i) {
    unsigned channel = base + turn;
    turn = turn + 1 == channels_ ? 0 : turn + 1;
    OutChannel& out = b.out_channel(p, channel);
    if (!has_room(out, port, wanted)) continue;
    if (e_.header_queues_.there_are() &&
        !e_.header_queues_.start((p << b.channel_bits) + channel, out.used, record.flits, wanted - 1))
      continue;
    if (CutThrough) take_room(out, port, wanted);
    sender.channel = static_cast<std::uint8_t>(channel);
    sender.next_channel = static_cast<std::uint8_t>(turn);
    sender.current = id;
    sender.left = record.flits;
    sender.first = static_cast<PacketId>(e_.packets_.behind(id));
    --sender.queued;
    if (vias_ && !chooses_) choose_via(record);
    return true;
  }
  return false;
}

/// Where headers have a queue of their own, payload has the other: is there room for a flit of it?
template <class Route, bool CutThrough, bool Voq>
WEFT_HOT bool Kernel<Route, CutThrough, Voq>::header_queue_lets(const Sender& sender, PortNumber p) {
  HeaderQueues& queues = e_.header_queues_;
  if (!queues.there_are() || sender.left == e_.packets_[sender.current].flits) [[likely]]
    return true;  // a header had its room when its packet started
  const ChannelNumber channel = (p << b_.channel_bits) + sender.channel;
  return queues.goes_on(channel, b_.outs[channel].used, sender.left);
}

/// Valiant always goes by way of a random place; UGAL only where the way there is the less crowded for its
/// length, as its router sees it when the packet is the first of its queue and each time it asks again. On a
/// broken machine both draw among the places that serve the pair.
template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::choose_via(PacketRecord& record) {
  const routing::Routing& routing = *e_.routing_;
  const std::uint32_t router = e_.endpoint_router_[record.source];
  const std::uint32_t goal = e_.endpoint_router_[record.destination];
  record.via = topology::kNone;
  if (router == goal) return;
  std::uint32_t via = routing::draw_via(routing, router, goal, s_.seed, record.source, record.created);
  if (via == topology::kNone || routing.via_reached(router, via)) return;
  record.via = via;
  if (!routing.may_go_direct()) return;
  if (routing.vias() && !routing.vias()->direct(router, goal)) return;
  PortNumber first = port_info_[e_.endpoint_port_[record.source]].first;
  routing::Hop hop{.router = router};
  hop.target = record.destination;
  Crowd direct = least_crowd(first, hop, record);
  hop.via_leg = true;
  hop.target = via;
  Crowd around = least_crowd(first, hop, record);
  // A way by a third place is about twice as long, so its queue must be less than half as long, and by more
  // than packets make that meet by chance. One that takes no packet any more keeps nobody from the other.
  bool straight =
      direct.full == around.full ? direct.queue <= 2 * around.queue + direct.by_chance : around.full;
  if (straight) record.via = topology::kNone;
}

template <class Route, bool CutThrough, bool Voq>
void Kernel<Route, CutThrough, Voq>::deliver(Entry entry) {
  const PacketRecord& record = e_.packets_[entry.id()];
  ++w_.counters.packets_delivered;
  const std::uint32_t hops = hops_of(record);
  // What whole cycles have left of all times on the way. Below zero where hops take less than a cycle, but
  // what has just left the last router is not there yet.
  std::int64_t rest =
      std::int64_t{record.remainder} + s_.router_remainder + std::int64_t{hops - 1} * e_.hop_remainder_;
  rest =
      std::max<std::int64_t>(rest, -std::int64_t{s_.traverse_cycles + s_.endpoint_cycles - 1} * kCycleParts);
  w_.deliveries.push_back(
      {record.source, record.destination, record.flits, record.message_class,
       static_cast<std::uint16_t>(hops), record.created, record.injected,
       b_.now + s_.traverse_cycles + s_.endpoint_cycles + static_cast<Cycle>(rest >> kCyclePartBits),
       record.tag, static_cast<Remainder>(rest & (kCycleParts - 1)), record.damaged});
  if (w_.deliveries.size() == Engine::Worker::kBatch) hand_over_deliveries();
  w_.free.push_back(entry.id());
}

// Dimension order is minimal, so its hops need no counting on the way.
template <class Route, bool CutThrough, bool Voq>
std::uint32_t Kernel<Route, CutThrough, Voq>::hops_of(const PacketRecord& record) const {
  if constexpr (kOnGrid)
    return 1 + route_.distance(b_.grid_endpoints[record.source].place,
                               b_.grid_endpoints[record.destination].place);
  else
    return 1u + record.hops;
}

}  // namespace weft::network::flit
