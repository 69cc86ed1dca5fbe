// Route computation: which output the packet at the head of a queue goes to, and which virtual channels it
// may take there.
#pragma once

#include <algorithm>

#include "network/flit/records.hpp"
#include "routing/vias.hpp"

namespace weft::network::flit {

template <class V>
class RouteComputation {
 public:
  using At = Records<V::kVoq>;

  RouteComputation(const Fabric& fabric, Routes& routes, Sources& sources, const typename V::Route& route,
                   const At& at)
      : fabric_(fabric),
        routes_(routes),
        routing_(*routes.relation),
        sources_(sources),
        route_(route),
        b_(at),
        channels_(fabric.settings.channels),
        all_channels_(fabric.settings.all_channels()),
        inner_(fabric.settings.router.inner_stages > 0),
        vias_(routing_.via_count() > 0),
        chooses_(vias_ && routing_.may_go_direct()),
        port_info_(routes.port_info.data()) {}

  /// For a packet that has become the first of its queue. Where it has several outputs to choose from, it
  /// chooses anew in every cycle it waits (kUndecided).
  Tile::Bound find_route(const At& b, QueueNumber q, Queue& queue, Entry entry);
  /// Of several outputs, the least loaded that has a channel free now, or kUndecided where all are taken.
  /// Called only while nobody changes what it looks at: in the first half of an allocation.
  PortNumber choose_output(QueueNumber q, Queue& queue, std::uint32_t& open);
  /// For a packet that starts at its source. Where sources choose, they do so when it requests a channel.
  void start(PacketRecord& record) {
    if (V::kMulticast && record.message_class == fabric_.settings.message_classes) return;
    if (vias_ && !chooses_) choose_via(record);
  }
  PortNumber first_port(PortNumber of) const { return port_info_[of].first; }

 private:
  void find_route_by_relation(QueueNumber q, Queue& queue, Entry entry);
  void find_route_inside(QueueNumber q, Queue& queue, Entry entry);
  void remember_candidates(Queue& queue);
  bool recall_candidates(PortNumber in, const Queue& queue, Entry entry);
  PortNumber choose_inner(QueueNumber q, Entry entry, std::uint32_t& open);
  PortNumber least_loaded(PortNumber in, Entry entry, bool must_be_open, std::uint32_t& channels);
  routing::Hop hop_of(PortNumber in, unsigned channel, Entry entry);
  std::uint32_t channels_of(unsigned message_class) const;
  unsigned load_of(PortNumber port) const;
  unsigned queue_behind(PortNumber port);
  struct Congestion {
    unsigned queue;      // flits standing
    unsigned by_chance;  // flits that stand there now and then without anything being wrong
    bool full;           // no room for the packet on any channel it may take
  };
  Congestion least_congestion(PortNumber first_port, const routing::Hop& hop, const PacketRecord& record);
  void choose_via(PacketRecord& record);

  const Fabric& fabric_;
  Routes& routes_;
  const routing::Routing& routing_;
  Sources& sources_;
  const typename V::Route& route_;
  const At& b_;
  const unsigned channels_, all_channels_;
  const bool inner_, vias_, chooses_;
  const PortInfo* const port_info_;
  routing::Candidates candidates_;
};

template <class V>
WEFT_HOT Tile::Bound RouteComputation<V>::find_route(const At& b, QueueNumber q, Queue& queue, Entry entry) {
  if constexpr (!V::kOnGrid) {
    if (inner_)
      find_route_inside(q, queue, entry);
    else
      find_route_by_relation(q, queue, entry);
    return Tile::kOnward;
  } else {
    const GridPort& here = b.grid_ports[b.port_of(q)];
    const GridEndpoint& there = b.grid_endpoints[entry.destination()];
    unsigned shift = entry.message_class() * channels_;
    if (there.place == here.place) [[unlikely]] {
      queue.out = there.port;
      queue.word |= Queue::kLeaves;
      queue.channels = channels_of(entry.message_class());
      return Tile::kOut;
    }
    // Where either class is allowed the packet draws one, as a router without regard for load would: a fair
    // coin that depends on place, time and packet, not on the order of visits. Drawn always: a branch here
    // would be a guess.
    std::uint64_t mixed = (b.coin ^ (std::uint64_t{here.place} << 24 | entry.destination())) * kMixer;
    auto drawn = static_cast<std::uint32_t>((mixed ^ mixed >> 32) * kMixer >> 63);
    GridRoute::Output next = route_.next(here.place, there.place, there.parity, here.rows,
                                         b.channel_class[b.channel_of(q)], drawn);
    // Turns go over all channels of all outputs, so a new output starts at its first channel.
    PortNumber out = here.first + next.port;
    // What the allocations of the next cycles will look at.
    __builtin_prefetch(&b.ports[out], 1);
    __builtin_prefetch(&b.ports[b.port_of(q)], 1);
    __builtin_prefetch(&b.outs[out << b.channel_bits], 1);
    queue.word = (queue.word & ~Queue::kLeaves) |
                 (Queue::kFirstChannelNext << Queue::kChannelShift & -std::uint32_t{queue.out != out});
    queue.out = out;
    queue.channels = b.class_channels[next.channel_class] << shift;
    return Tile::kOnward;
  }
}

/// Where a packet stands, as its routing sees it. One that starts a leg counts as injected.
template <class V>
routing::Hop RouteComputation<V>::hop_of(PortNumber in, unsigned channel, Entry entry) {
  const PortInfo& info = port_info_[in];
  routing::Hop hop{.router = info.router};
  hop.target = entry.destination();
  bool starts_leg = b_.ports[in].flags & Port::kEndpoint;
  if (vias_) {
    PacketRecord& record = sources_.packets[entry.id()];
    if (record.via != topology::kNone && routing_.via_reached(info.router, record.via)) {
      record.via = topology::kNone;
      record.turned_at = info.router;
    }
    hop.via_leg = record.via != topology::kNone;
    hop.second_leg = record.turned_at != topology::kNone;
    if (hop.via_leg) hop.target = record.via;
    starts_leg |= record.turned_at == info.router;
  }
  if (!starts_leg) {
    hop.in_port = static_cast<std::uint16_t>(in - info.first);
    hop.in_class = b_.channel_class[channel];
  }
  return hop;
}

template <class V>
std::uint32_t RouteComputation<V>::channels_of(unsigned message_class) const {
  return static_cast<std::uint32_t>((std::uint64_t{1} << channels_) - 1) << message_class * channels_;
}

template <class V>
void RouteComputation<V>::find_route_by_relation(QueueNumber q, Queue& queue, Entry entry) {
  const PortNumber in = b_.port_of(q);
  const PortInfo& info = port_info_[in];
  routing::Hop hop = hop_of(in, b_.channel_of(q), entry);
  queue.set_out_channel(Queue::kFirstChannelNext);
  if (!hop.via_leg && fabric_.endpoint_router[entry.destination()] == info.router) {
    queue.out = fabric_.endpoint_port[entry.destination()];
    queue.channels = channels_of(entry.message_class());
    return;
  }
  queue.out = kUndecided;
  queue.channels = 0;
  if (chooses_ && (b_.ports[in].flags & Port::kEndpoint))
    return;  // direct or by a third place: chosen when it requests a channel
  routing_.candidates(hop, candidates_);
  if (candidates_.empty()) return;  // nowhere to go: it waits, and the watchdog says so
  std::uint32_t mask = 0;
  for (const routing::Candidate& c : candidates_) {
    if (c.port != candidates_[0].port)
      return remember_candidates(queue);  // several: it chooses when it requests one
    mask |= b_.class_channels[c.channel_class];
  }
  queue.out = info.first + candidates_[0].port;
  queue.channels = mask << entry.message_class() * channels_;
}

template <class V>
PortNumber RouteComputation<V>::choose_output(QueueNumber q, Queue& queue, std::uint32_t& open) {
  const PortNumber in = b_.port_of(q);
  Entry entry(queue.entry);
  if (chooses_ && (b_.ports[in].flags & Port::kEndpoint)) choose_via(sources_.packets[entry.id()]);
  if (inner_) return choose_inner(q, entry, open);
  open = 0;
  if (!recall_candidates(in, queue, entry)) return kUndecided;
  if (queue.channels == 0) {
    routing_.candidates(hop_of(in, b_.channel_of(q), entry), candidates_);
    remember_candidates(queue);
  }
  return least_loaded(in, entry, true, open);
}

/// A head requests a channel anew in every cycle it waits, mostly in vain, and its candidates stay the same.
/// Where they are few and of one class, a queue that has not decided keeps their ports in the word for its
/// channels, a byte each.
template <class V>
void RouteComputation<V>::remember_candidates(Queue& queue) {
  constexpr std::size_t kMost = 4;
  if (vias_ || routes_.class_channels.front() != channels_of(0) || candidates_.size() > kMost) return;
  std::uint32_t ports = 0;
  for (const routing::Candidate& c : candidates_) {
    if (c.port >= 0xff) return;
    ports = ports << 8 | (c.port + 1u);
  }
  queue.channels = ports;
}

/// Takes a queue's candidates out of its word, if they are there. False: none of them has a channel free.
template <class V>
bool RouteComputation<V>::recall_candidates(PortNumber in, const Queue& queue, Entry entry) {
  const std::uint32_t wanted = channels_of(entry.message_class());
  std::uint32_t free = queue.channels ? 0 : wanted;
  candidates_.clear();
  for (std::uint32_t ports = queue.channels; ports; ports >>= 8) {
    auto port = static_cast<topology::PortIndex>((ports & 0xff) - 1);
    free |= b_.ports[port_info_[in].first + port].free_channels & wanted;
    candidates_.add(port, 0);
  }
  return free != 0;
}

/// The best of the candidates there are; `must_be_open`: only of those with a channel free. Ways of equal
/// load take turns.
template <class V>
PortNumber RouteComputation<V>::least_loaded(PortNumber in, Entry entry, bool must_be_open,
                                             std::uint32_t& channels) {
  const unsigned shift = entry.message_class() * channels_;
  const std::uint64_t turn = b_.now + in + entry.destination();
  PortNumber best = kUndecided;
  std::uint64_t best_load = ~std::uint64_t{0};
  channels = 0;
  for (const routing::Candidate& c : candidates_) {
    PortNumber out = port_info_[in].first + c.port;
    std::uint32_t here = b_.class_channels[c.channel_class] << shift;
    if (must_be_open) here = open_channels<V>(b_, out, here, entry.flits());
    if (!here) continue;
    // Escape channels are for packets that find no other channel: they count as fully loaded.
    std::uint64_t load = load_of(out) + (routing_.is_escape(c.channel_class) ? 1u << 20 : 0);
    load = load << 32 | static_cast<std::uint32_t>((out + turn) * 0x9e3779b9u);
    if (load == best_load) {
      channels |= here;
    } else if (load < best_load) {
      best_load = load;
      best = out;
      channels = here;
    }
  }
  return best;
}

// --- routers with inner ports
// --------------------------------------------------------------------------------

/// Inside such a router the route follows from the output chosen at the input. A packet stays on the virtual
/// channel it came by up to the last inner port, and takes there one of those it may leave by: so it never
/// stands behind a packet that goes on by a channel its own could not wait for, and the proof of the routing
/// holds for the router's inside.
template <class V>
void RouteComputation<V>::find_route_inside(QueueNumber q, Queue& queue, Entry entry) {
  const PortNumber in = b_.port_of(q);
  if (in < routes_.port_info.size()) {
    queue.out = kUndecided;  // chosen when it requests a channel
    queue.channels = 0;
    return;
  }
  const InnerFabric& inner = fabric_.inner;
  const PacketRecord& record = sources_.packets[entry.id()];
  const std::uint32_t router = inner.router[in - routes_.port_info.size()];
  queue.set_out_channel(Queue::kFirstChannelNext);
  queue.out = inner.next(router, in, record.next_port);
  queue.channels =
      queue.out != record.next_port && inner.next(router, queue.out, record.next_port) == record.next_port
          ? record.next_channels
          : 1u << b_.channel_of(q);
}

/// At an input of such a router: the output first, and then the inner port on the route to it.
template <class V>
PortNumber RouteComputation<V>::choose_inner(QueueNumber q, Entry entry, std::uint32_t& open) {
  const PortNumber in = b_.port_of(q);
  const PortInfo& info = port_info_[in];
  PacketRecord& record = sources_.packets[entry.id()];
  routing::Hop hop = hop_of(in, b_.channel_of(q), entry);
  open = 0;
  if (!hop.via_leg && fabric_.endpoint_router[entry.destination()] == info.router) {
    record.next_port = fabric_.endpoint_port[entry.destination()];
    record.next_channels = channels_of(entry.message_class());
  } else {
    routing_.candidates(hop, candidates_);
    record.next_port = least_loaded(in, entry, false, record.next_channels);
    if (record.next_port == kUndecided) return kUndecided;
  }
  PortNumber inner = fabric_.inner.first(info.router, in - info.first, record.next_port - info.first);
  const bool last = fabric_.inner.next(info.router, inner, record.next_port) == record.next_port;
  open = open_channels<V>(b_, inner, last ? record.next_channels : 1u << b_.channel_of(q), entry.flits());
  return inner;
}

template <class V>
unsigned RouteComputation<V>::load_of(PortNumber port) const {
  unsigned sum = 0;
  for (unsigned c = 0; c < all_channels_; ++c) sum += b_.out_channel(port, c).used;
  return sum;
}

/// Flits that stand in queues at the far end of a port, as its router can tell: those it has no credit for
/// yet, less those and their credits that are under way at the pace of the last round trip. A long or busy
/// cable is not a crowded one.
template <class V>
unsigned RouteComputation<V>::queue_behind(PortNumber port) {
  Pace& pace = routes_.paces[port];
  if (b_.now >= pace.since + pace.round_trip) {
    std::uint64_t sent = fabric_.state.sent[port];
    pace.under_way = static_cast<std::uint32_t>((sent - pace.sent) * pace.round_trip /
                                                std::max<Cycle>(1, b_.now - pace.since));
    pace.since = b_.now;
    pace.sent = sent;
  }
  unsigned owed = load_of(port), queue = owed > pace.under_way ? owed - pace.under_way : 0;
  // A cable that was never idle has others waiting for it here, where no credit shows them.
  return queue + (pace.under_way >= pace.full ? pace.round_trip : 0);
}

/// The least congested of the outputs of a source's router.
template <class V>
typename RouteComputation<V>::Congestion RouteComputation<V>::least_congestion(PortNumber first_port,
                                                                               const routing::Hop& hop,
                                                                               const PacketRecord& record) {
  routing_.candidates(hop, candidates_);
  Congestion least{~0u, 0, true};
  for (const routing::Candidate& c : candidates_) {
    const PortNumber port = first_port + c.port;
    if (unsigned queue = queue_behind(port); queue < least.queue) {
      least.queue = queue;
      least.by_chance = routes_.paces[port].round_trip / 2;
    }
    for (std::uint32_t left = b_.class_channels[c.channel_class] << record.message_class * channels_; left;
         left &= left - 1)
      least.full &= !has_room(b_.out_channel(port, static_cast<unsigned>(std::countr_zero(left))),
                              b_.ports[port], V::kCutThrough ? record.flits : 1);
  }
  return least;
}

/// Valiant always goes by way of a random place; UGAL only where the route there is the less congested for
/// its length, as its router sees it when the packet is the first of its queue and each time it requests a
/// channel again. On a broken machine both draw among the places that serve the pair.
template <class V>
void RouteComputation<V>::choose_via(PacketRecord& record) {
  const routing::Routing& routing = routing_;
  const std::uint32_t router = fabric_.endpoint_router[record.source];
  const std::uint32_t goal = fabric_.endpoint_router[record.destination];
  record.via = topology::kNone;
  if (router == goal) return;
  std::uint32_t via =
      routing::draw_via(routing, router, goal, fabric_.settings.seed, record.source, record.created);
  if (via == topology::kNone || routing.via_reached(router, via)) return;
  record.via = via;
  if (!routing.may_go_direct()) return;
  if (routing.vias() && !routing.vias()->direct(router, goal)) return;
  PortNumber first = port_info_[fabric_.endpoint_port[record.source]].first;
  routing::Hop hop{.router = router};
  hop.target = record.destination;
  Congestion direct = least_congestion(first, hop, record);
  hop.via_leg = true;
  hop.target = via;
  Congestion around = least_congestion(first, hop, record);
  // A route by a third place is about twice as long, so its queue must be less than half as long, and by more
  // than packets make that meet by chance. One that takes no packet any more keeps nobody from the other.
  bool straight =
      direct.full == around.full ? direct.queue <= 2 * around.queue + direct.by_chance : around.full;
  if (straight) record.via = topology::kNone;
}

}  // namespace weft::network::flit
