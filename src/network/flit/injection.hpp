// Injection: packets made by the traffic, queued at their sources and sent into the routers.
#pragma once

#include <algorithm>
#include <vector>

#include "network/flit/link_layer.hpp"
#include "network/flit/route_computation.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

template <class V>
class Injection {
 public:
  using At = Records<V::kVoq>;

  Injection(Fabric& fabric, Sources& sources, RouteComputation<V>& routes, const Routes& all_routes,
            const LinkLayer* links, Worker& worker, const At& at)
      : fabric_(fabric),
        sources_(sources),
        routes_(routes),
        all_routes_(all_routes),
        links_(links),
        worker_(worker),
        b_(at),
        channels_(fabric.settings.channels),
        tells_ahead_(tells_departures_ahead(fabric.settings, links != nullptr)),
        tells_at_tail_(fabric.settings.tell_departures && !tells_ahead_) {}

  /// Asks the sources that are due in a cycle for their packets, many at once.
  void create_packets(Cycle now);
  /// Sends at most one flit of each endpoint into its router.
  void send(Tile& tile);
  /// Adds what was sent since the last call.
  void add_to(CycleCounters& counters) { counters.flits_injected += std::exchange(flits_injected_, 0); }

 private:
  static constexpr std::size_t kBatch = 256;  // more would push the network's state out of the caches

  void create(const Creation& creation, Cycle now);
  void queue_packet(PacketId id, Cycle now);
  void lose(PacketId id, Cycle now);
  bool reaches_anybody(const NewPacket& made, EndpointId source, Cycle now);
  Sender* next_sender(const At& b, EndpointId endpoint);
  bool may_send(const At& b, Sender& sender, EndpointId endpoint);
  bool start_packet(const At& b, Sender& sender, EndpointId endpoint);
  bool header_queue_lets(const Sender& sender, PortNumber p);

  Fabric& fabric_;
  Sources& sources_;
  RouteComputation<V>& routes_;
  const Routes& all_routes_;
  const LinkLayer* const links_;
  Worker& worker_;
  const At& b_;
  const unsigned channels_;
  const bool tells_ahead_, tells_at_tail_;
  std::uint64_t flits_injected_ = 0;
  std::vector<Creation> creations_;  // of sources that are due in a cycle
};

template <class V>
void Injection<V>::create_packets(Cycle now) {
  auto make = [&] {
    if (creations_.empty()) return;
    worker_.traffic->create_all(now, creations_);
    for (const Creation& creation : creations_) create(creation, now);
    creations_.clear();
  };
  worker_.timers.fire(now, [&](EndpointId endpoint) {
    creations_.push_back({.source = endpoint});
    if (creations_.size() == kBatch) make();
  });
  make();
}

template <class V>
void Injection<V>::create(const Creation& creation, Cycle now) {
  const EndpointId source = creation.source;
  const NewPacket& made = creation.packet;
  const Cycle next = creation.next;
  if (creation.made) {
    if (V::kMulticast && made.group != kNoGroup && !reaches_anybody(made, source, now)) {
      if (next != kNever) worker_.timers.set(source, std::max(next, now + 1));
      return;
    }
    WEFT_CHECK(made.destination < sources_.endpoints && made.flits >= 1 && made.flits <= Entry::kMaxFlits,
               "traffic makes packets for endpoints there are");
    if (fabric_.settings.source_queue &&
        sources_.sender_of(source, made.message_class).queued >= fabric_.settings.source_queue) {
      ++worker_.counters.packets_refused;
      worker_.counters.flits_refused += made.flits;
      if (next != kNever) worker_.timers.set(source, std::max(next, now + 1));
      return;
    }
    PacketId id = worker_.take_packet(sources_.packets);
    PacketRecord& record = sources_.packets[id];
    record.hops = 0;
    record.remainder = made.remainder;
    record.damaged = record.departed = false;
    record.created = now;
    record.tag = made.tag;
    record.source = source;
    record.destination = made.destination;
    record.via = record.turned_at = topology::kNone;
    sources_.packets.behind(id) = kNoPacket;
    record.flits = made.flits;
    record.message_class = made.message_class;
    ++worker_.counters.packets_created;
    if (V::kMulticast && made.reduction != kNoReduction) {
      record.via = made.reduction;
      record.next_port = made.round;
      record.destination = all_routes_.reductions->entry(made.reduction, source);
      record.message_class = static_cast<std::uint8_t>(fabric_.settings.message_classes);
      record.destination == kNoHop ? lose(id, now) : queue_packet(id, now);
    } else if (V::kMulticast && made.group != kNoGroup) {
      record.next_port = topology::kNone;
      record.via = made.group;
      record.destination = all_routes_.trees->root(made.group, source).hop;
      record.message_class = static_cast<std::uint8_t>(fabric_.settings.message_classes);
      queue_packet(id, now);
    } else if (links_ && links_->cut_off(source, made.destination))
      lose(id, now);
    else
      queue_packet(id, now);
  }
  if (next != kNever) worker_.timers.set(source, std::max(next, now + 1));
}

/// Of a packet for many: tells of the members that are cut off, and whether there are others.
template <class V>
[[gnu::noinline]] bool Injection<V>::reaches_anybody(const NewPacket& made, EndpointId source, Cycle now) {
  const Trees::Root& root = all_routes_.trees->root(made.group, source);
  for (EndpointId member : root.cut_off) {
    ++worker_.counters.packets_lost;
    worker_.observer->lost({source, member, made.flits, made.message_class, 0, now, 0, now, made.tag});
  }
  return root.hop != kNoHop;
}

/// Puts a packet at the end of its source's queue, and the source among those that send.
template <class V>
void Injection<V>::queue_packet(PacketId id, Cycle now) {
  EndpointId source = sources_.packets[id].source;
  Sender& sender = sources_.senders[source];  // it says who is listed, whatever the class
  if (!sender.listed) {
    sender.listed = true;
    std::uint32_t tile = fabric_.endpoint_tile[source];
    fabric_.state.tiles[tile].senders[(now + 1) & 1].push(source);
    fabric_.state.awake[fabric_.inbox_index(now + 1, tile, worker_.index)] = Mark::kYes;
  }
  sources_.append(id);
}

template <class V>
void Injection<V>::send(Tile& tile) {
  const At b = b_;
  Bag<EndpointId>& senders = tile.senders[b.now & 1];
  Bag<EndpointId>& next = tile.senders[(b.now + 1) & 1];
  next.reserve(senders.size());
  EndpointId* end = next.end();
  for (EndpointId endpoint : senders) {
    *end = endpoint;
    Sender* const chosen = V::kWeighted ? next_sender(b, endpoint) : &sources_.senders[endpoint];
    if (V::kWeighted ? chosen == nullptr : !may_send(b, *chosen, endpoint)) {
      ++end;
      continue;
    }
    Sender& sender = *chosen;
    PortNumber p = fabric_.endpoint_port[endpoint];
    Port& port = b.ports[p];
    if constexpr (!V::kCutThrough) take_room(b.out_channel(p, sender.channel), port, 1);
    PacketRecord& record = sources_.packets[sender.current];
    Inbox& inbox = b.inbox_at(port.inbox, fabric_.endpoint_flight);
    ChannelNumber to = port.peer + sender.channel;
    if (sender.left == record.flits) {
      record.injected = b.now;
      inbox.heads.push(
          {to, Entry(sender.current, record.destination, record.flits, record.message_class).bits()});
    } else {
      inbox.bodies.push(to);
    }
    ++flits_injected_;
    if (--sender.left == 0) {
      if (tells_at_tail_ && !record.departed) {
        record.departed = true;
        worker_.observer->departed(record.tag, b.now);
      }
      sender.current = kNoPacket;
    }
    bool more = sender.current != kNoPacket || sender.first != kNoPacket;
    if constexpr (V::kWeighted) more = more || sources_.busy(endpoint);
    sources_.senders[endpoint].listed = more;
    end += more;
  }
  next.set_end(end);
  senders.clear();
}

/// Does its packet, or the next of its queue, have room for a flit?
template <class V>
WEFT_HOT bool Injection<V>::may_send(const At& b, Sender& sender, EndpointId endpoint) {
  if (sender.current == kNoPacket && !start_packet(b, sender, endpoint)) return false;
  if constexpr (V::kCutThrough) return true;
  const PortNumber p = fabric_.endpoint_port[endpoint];
  return has_room(b.out_channel(p, sender.channel), b.ports[p], 1) && header_queue_lets(sender, p);
}

/// Of the classes that can send, the one that is most behind; null: none can. Packets that have room as a
/// whole are sent as a whole: that they depart has been told ahead.
template <class V>
[[gnu::noinline]] Sender* Injection<V>::next_sender(const At& b, EndpointId endpoint) {
  std::uint32_t left = (1u << sources_.classes) - 1;
  if (V::kCutThrough)
    for (unsigned c = 0; c < sources_.classes; ++c)
      if (Sender& sender = sources_.sender(endpoint, c); sender.current != kNoPacket) return &sender;
  while (left) {
    unsigned first = static_cast<unsigned>(std::countr_zero(left));
    for (std::uint32_t others = left & (left - 1); others; others &= others - 1)
      if (const auto c = static_cast<unsigned>(std::countr_zero(others));
          sources_.shares.start(endpoint, c) < sources_.shares.start(endpoint, first))
        first = c;
    left &= ~(1u << first);
    Sender& sender = sources_.sender(endpoint, first);
    const bool has_any = sender.current != kNoPacket || sender.first != kNoPacket;
    if (!has_any || !may_send(b, sender, endpoint)) continue;
    sources_.shares.charge(endpoint, first, V::kCutThrough ? sender.left : 1);
    return &sender;
  }
  return nullptr;
}

/// Takes the next packet of the queue if a channel has room for it.
template <class V>
bool Injection<V>::start_packet(const At& b, Sender& sender, EndpointId endpoint) {
  if (sources_.holding) return false;
  PacketId id = sender.first;
  PacketRecord& record = sources_.packets[id];
  if (record.created >= b.now) return false;  // made in this cycle or ahead of it: sent in the next
  PortNumber p = fabric_.endpoint_port[endpoint];
  Port& port = b.ports[p];
  unsigned wanted = V::kCutThrough ? record.flits : 1;
  unsigned base = record.message_class * channels_;
  unsigned turn = sender.next_channel;
  for (unsigned i = 0; i < channels_; ++i) {
    unsigned channel = base + turn;
    turn = turn + 1 == channels_ ? 0 : turn + 1;
    OutChannel& out = b.out_channel(p, channel);
    if (!has_room(out, port, wanted)) continue;
    if (sources_.header_queues.there_are() &&
        !sources_.header_queues.start((p << b.channel_bits) + channel, out.used, record.flits, wanted - 1))
      continue;
    if (V::kCutThrough) take_room(out, port, wanted);
    sender.channel = static_cast<std::uint8_t>(channel);
    sender.next_channel = static_cast<std::uint8_t>(turn);
    sender.current = id;
    sender.left = record.flits;
    sender.first = static_cast<PacketId>(sources_.packets.behind(id));
    --sender.queued;
    routes_.start(record);
    if (tells_ahead_) worker_.observer->departed(record.tag, b.now + record.flits - 1);
    return true;
  }
  return false;
}

/// Where headers have a queue of their own, payload has the other: is there room for a flit of it?
template <class V>
WEFT_HOT bool Injection<V>::header_queue_lets(const Sender& sender, PortNumber p) {
  HeaderQueues& queues = sources_.header_queues;
  if (!queues.there_are() || sender.left == sources_.packets[sender.current].flits) [[likely]]
    return true;  // a header had its room when its packet started
  const ChannelNumber channel = (p << b_.channel_bits) + sender.channel;
  return queues.goes_on(channel, b_.outs[channel].used, sender.left);
}

/// No route is left to its destination, and that is known.
template <class V>
[[gnu::noinline]] void Injection<V>::lose(PacketId id, Cycle now) {
  const PacketRecord& record = sources_.packets[id];
  ++worker_.counters.packets_lost;
  worker_.observer->lost({record.source, record.destination, record.flits, record.message_class, 0,
                          record.created, 0, now, record.tag});
  worker_.free.push_back(id);
}

}  // namespace weft::network::flit
