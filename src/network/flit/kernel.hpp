// One visit of one router: what arrives, who gets a channel, who gets the switch, what leaves.
#pragma once

#include <algorithm>
#include <bit>

#include "base/random.hpp"
#include "network/flit/grid_route.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

inline constexpr std::uint16_t kUndecided = 0xffff;  // output port of a head that chooses anew in every cycle

/// The first set bit at or after `start`, going round; the mask must not be empty.
template <int W>
inline unsigned pick_after(const std::uint64_t* mask, unsigned start) {
  if constexpr (W == 1) {
    std::uint64_t later = mask[0] & (~std::uint64_t{0} << start);
    return static_cast<unsigned>(std::countr_zero(later ? later : mask[0]));
  } else {
    unsigned w = start / 64;
    std::uint64_t word = mask[w] & (~std::uint64_t{0} << (start % 64));
    for (unsigned i = 0; i <= W; ++i) {
      if (word) return w * 64 + static_cast<unsigned>(std::countr_zero(word));
      w = w + 1 == W ? 0 : w + 1;
      word = mask[w];
    }
    return 0;
  }
}

inline unsigned pick_after(std::uint32_t mask, unsigned start) {
  std::uint32_t later = start >= 32 ? 0 : mask & (~std::uint32_t{0} << start);
  return static_cast<unsigned>(std::countr_zero(later ? later : mask));
}

/// Routing by the general relation: one call for each packet and hop.
struct RelationRoute {};

#define WEFT_HOT [[gnu::always_inline]] inline

template <int W, class Route>
class Kernel {
 public:
  Kernel(Engine& engine, Engine::Worker& worker, const Route& route, Traffic& traffic, Observer& observer)
      : e_(engine),
        w_(worker),
        route_(route),
        traffic_(traffic),
        observer_(observer),
        s_(engine.settings_),
        stride_(engine.layout_.stride()),
        stride_bits_(static_cast<unsigned>(std::countr_zero(stride_))),
        ring_mask_(engine.layout_.ring() - 1),
        ring_bits_(static_cast<unsigned>(std::countr_zero(engine.layout_.ring()))),
        channels_(engine.settings_.channels),
        all_channels_(engine.settings_.all_channels()),
        route_cycles_(engine.settings_.route_cycles),
        endpoint_cycles_(engine.settings_.endpoint_cycles),
        early_(engine.settings_.allocate_cycles != 0),
        oldest_first_(engine.settings_.allocator == Allocator::Age),
        first_router_(worker.router_begin),
        router_count_(worker.router_end - worker.router_begin),
        slot_mask_(engine.links_.mask),
        words_(worker.words),
        prefetch_lines_(std::min<unsigned>(24, engine.layout_.hot_lines())),
        buffer_flits_(engine.settings_.buffer_flits),
        shared_flits_(engine.settings_.shared_flits),
        cut_through_(engine.settings_.switching == Switching::CutThrough),
        ports_(engine.links_.ports),
        arena_(engine.block(0)),
        flit_(engine.links_.flit.data()),
        credit_(engine.links_.credit.data()),
        entry_(engine.links_.entry.data()),
        awake_(worker.awake[worker.index].data()),
        endpoint_router_(engine.endpoint_router_.data()),
        class_channels_(engine.class_channels_.data()),
        channel_class_(engine.channel_class_.data()) {}

  void cycle(Cycle now) {
    now_ = now;
    slot_ = static_cast<std::uint32_t>(now) & slot_mask_;
    w_.timers.fire(now, [&](EndpointId endpoint) { create(endpoint); });
    gather_visits();
    const std::size_t count = w_.visits.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (i + 1 < count) prefetch(w_.visits[i + 1]);
      visit(w_.visits[i]);
    }
    w_.counters.visits += count;
  }

 private:
  using View = flit::View<W>;
  using Masks = flit::Masks<W>;

  void gather_visits() {
    w_.visits.clear();
    for (std::uint32_t word = 0; word < w_.words; ++word) {
      std::uint64_t bits = 0;
      for (auto& awake : w_.awake) {
        std::uint64_t& from = awake[std::size_t{slot_} * w_.words + word];
        bits |= from;
        from = 0;
      }
      for (; bits; bits &= bits - 1)
        w_.visits.push_back(w_.router_begin + word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }

  void prefetch(std::uint32_t router) const {
    // Everything but the rings, of which a visit touches few.
    const std::uint8_t* block = arena_ + e_.layout_.block(router);
    for (unsigned line = 0; line < prefetch_lines_; ++line) __builtin_prefetch(block + 64 * line, 1);
    std::size_t at = slot_ * ports_ + e_.graph_.port_begin(router);
    __builtin_prefetch(flit_ + at);
    __builtin_prefetch(credit_ + at);
    __builtin_prefetch(entry_ + at);
  }

  /// Makes a router of this thread look at its block in a later cycle.
  WEFT_HOT void wake(std::uint32_t router, std::uint32_t slot) {
    std::uint32_t local = router - first_router_;
    awake_[slot * words_ + (local >> 6)] |= std::uint64_t{1} << (local & 63);
  }

  WEFT_HOT void wake_peer(const Port& port, std::uint32_t slot) {
    if (port.wake_word != topology::kNone) [[likely]]
      awake_[slot * words_ + port.wake_word] |= port.wake_bit;
    else
      wake_elsewhere(port.peer_router, slot);
  }

  [[gnu::noinline]] void wake_elsewhere(std::uint32_t router, std::uint32_t slot) {
    Engine::Worker& owner = owner_of(router);
    std::uint32_t local = router - owner.router_begin;
    owner.awake[w_.index][std::size_t{slot} * owner.words + local / 64] |= std::uint64_t{1} << (local % 64);
  }

  Engine::Worker& owner_of(std::uint32_t router) {
    for (auto& worker : e_.workers_)
      if (router < worker->router_end) return *worker;
    return *e_.workers_.back();
  }

  std::uint32_t slot_after(unsigned cycles) const { return (slot_ + cycles) & slot_mask_; }

  // --- endpoints
  // ---------------------------------------------------------------------------------------------------

  void create(EndpointId source) {
    NewPacket made;
    Cycle next = kNever;
    if (traffic_.create(source, now_, made, next)) {
      WEFT_CHECK(made.destination < e_.senders_.size() && made.flits >= 1 && made.flits <= Entry::kMaxFlits,
                 "traffic makes packets for endpoints there are");
      PacketId id = w_.take_packet(e_);
      Sender& sender = e_.senders_[source];
      e_.packets_[id] = {now_,      0,          source, made.destination,  topology::kNone,
                         kNoPacket, made.flits, 0,      made.message_class};
      (sender.first == kNoPacket ? sender.first : e_.packets_[sender.last].next) = id;
      sender.last = id;
      ++w_.counters.packets_created;
      std::uint32_t router = e_.endpoint_router_[source];
      if (sender.current == kNoPacket && sender.first == id) ++e_.view<W>(router).header->senders;
      wake(router, slot_after(1));
    }
    if (next != kNever) w_.timers.set(source, std::max(next, now_ + 1));
  }

  // Buffers: each channel has its own share, and what goes beyond it comes from the port's shared pool.
  bool has_room(std::uint16_t used, std::uint16_t shared_used, unsigned flits) const {
    if (used + flits <= buffer_flits_) return true;
    if (shared_flits_ == 0) return false;
    unsigned own = used < buffer_flits_ ? buffer_flits_ - used : 0;
    return own + shared_flits_ - shared_used >= flits;
  }

  void take_room(std::uint16_t& used, std::uint16_t& shared_used, unsigned flits) const {
    unsigned before = used;
    used = static_cast<std::uint16_t>(used + flits);
    if (used > buffer_flits_)
      shared_used = static_cast<std::uint16_t>(shared_used + used - std::max(before, buffer_flits_));
  }

  void give_room(std::uint16_t& used, std::uint16_t& shared_used) const {
    if (used > buffer_flits_) --shared_used;
    --used;
  }

  bool cut_through() const { return cut_through_; }

  /// Sends at most one flit of each endpoint into its router.
  void send_from_endpoints(View& v) {
    for (unsigned i = 0; i < v.header->endpoint_ports; ++i) {
      unsigned p = v.header->first_endpoint_port + i;
      EndpointId endpoint = v.port[p].endpoint;
      if (endpoint == topology::kNone) continue;
      Sender& sender = e_.senders_[endpoint];
      if (sender.current == kNoPacket && (sender.first == kNoPacket || !start_packet(v, sender, endpoint)))
        continue;
      std::uint16_t& used = e_.sender_used_[std::size_t{endpoint} * stride_ + sender.channel];
      if (!cut_through()) {
        if (!has_room(used, sender.shared_used, 1)) continue;
        take_room(used, sender.shared_used, 1);
      }
      PacketRecord& record = e_.packets_[sender.current];
      bool head = sender.left == record.flits;
      std::size_t at = slot_after(endpoint_cycles_) * ports_ + v.header->port_begin + p;
      flit_[at] = flit_byte(head, sender.channel);
      if (head) {
        record.injected = now_;
        entry_[at] = Entry(sender.current, record.destination, record.flits, record.message_class).bits();
      }
      wake(v.header->router, slot_after(endpoint_cycles_));
      ++w_.counters.flits_injected;
      ++w_.in_network;
      if (--sender.left == 0) {
        sender.current = kNoPacket;
        if (sender.first == kNoPacket) --v.header->senders;
      }
      again_ = true;
    }
  }

  /// Takes the next packet of the queue if a channel has room for it.
  bool start_packet(View& v, Sender& sender, EndpointId endpoint) {
    PacketId id = sender.first;
    PacketRecord& record = e_.packets_[id];
    if (record.created ==
        now_) {  // made in this cycle, sent in the next, whether or not the router was awake
      again_ = true;
      return false;
    }
    unsigned wanted = cut_through() ? record.flits : 1;
    unsigned base = record.message_class * channels_;
    for (unsigned i = 0; i < channels_; ++i) {
      unsigned channel = base + (sender.next_channel + i) % channels_;
      std::uint16_t& used = e_.sender_used_[std::size_t{endpoint} * stride_ + channel];
      if (!has_room(used, sender.shared_used, wanted)) continue;
      if (cut_through()) take_room(used, sender.shared_used, record.flits);
      sender.channel = static_cast<std::uint8_t>(channel);
      sender.next_channel = static_cast<std::uint8_t>((channel - base + 1) % channels_);
      sender.current = id;
      sender.left = record.flits;
      sender.first = record.next;
      if (e_.routing_.via_count()) choose_via(v, record);
      return true;
    }
    return false;
  }

  /// Valiant always goes by way of a random place; UGAL only where the way there is the less loaded for its
  /// length.
  void choose_via(View& v, PacketRecord& record) {
    const routing::Routing& routing = e_.routing_;
    std::uint32_t via = random_below(s_.seed, record.source, record.created, routing.via_count());
    if (routing.via_reached(v.header->router, via)) return;
    record.via = via;
    if (!routing.may_go_direct() || e_.endpoint_router_[record.destination] == v.header->router) return;
    routing::Hop hop{.router = v.header->router};
    hop.target = record.destination;
    unsigned direct = least_load(v, hop);
    hop.via_leg = true;
    hop.target = via;
    unsigned around = least_load(v, hop);
    // A way by a third place is about twice as long, so it must be less than half as loaded.
    if (direct <= 2 * around) record.via = topology::kNone;
  }

  unsigned load_of(const View& v, unsigned p) const {
    unsigned sum = 0;
    for (unsigned c = 0; c < all_channels_; ++c) sum += v.used[(p << stride_bits_) + c];
    return sum;
  }

  unsigned least_load(View& v, const routing::Hop& hop) {
    e_.routing_.candidates(hop, candidates_);
    unsigned least = ~0u;
    for (const routing::Candidate& c : candidates_) least = std::min(least, load_of(v, c.port));
    return least;
  }

  // --- routers
  // -----------------------------------------------------------------------------------------------------

  void visit(std::uint32_t router) {
    View v(arena_ + e_.layout_.block(router), stride_);
    Masks m = *v.masks;
    again_ = false;
    for (int w = 0; w < W; ++w) {
      m.waiting[w] |= m.soon[w];
      m.soon[w] = m.later[w];
      m.later[w] = 0;
    }
    take_arrivals(v, m);
    std::uint64_t ready[W];
    if (early_) ready_queues(m, ready);
    allocate_channels(v, m);
    if (!early_) ready_queues(m, ready);
    allocate_switch(v, m, ready);
    *v.masks = m;
    if (v.header->senders) send_from_endpoints(v);
    bool soon = false;
    for (int w = 0; w < W; ++w) soon |= (m.soon[w] | m.later[w]) != 0;
    if (soon || (again_ && has_work(v, m))) wake(router, slot_after(1));
  }

  WEFT_HOT static bool has_work(const View& v, const Masks& m) {
    std::uint64_t work = v.header->senders;
    for (int w = 0; w < W; ++w) work |= m.waiting[w] | (m.active[w] & m.filled[w]);
    return work != 0;
  }

  WEFT_HOT static void set(std::uint64_t* mask, unsigned bit) {
    mask[W == 1 ? 0 : bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  WEFT_HOT static void clear(std::uint64_t* mask, unsigned bit) {
    mask[W == 1 ? 0 : bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  }

  WEFT_HOT static void ready_queues(const Masks& m, std::uint64_t* out) {
    for (int w = 0; w < W; ++w) out[w] = m.active[w] & m.filled[w];
  }

  static FlitByte flit_byte(bool head, unsigned channel) {
    return static_cast<FlitByte>(static_cast<unsigned>(FlitByte::kFlit) |
                                 (head ? static_cast<unsigned>(FlitByte::kHead) : 0) | channel);
  }

  /// Calls use(port, byte) for what arrives at a router's ports, and clears it. Reads eight ports at a time.
  template <class Byte, class Use>
  WEFT_HOT static void for_each_arrival(Byte* bytes, unsigned ports, Use use) {
    unsigned first = 0;
    do {
      std::uint64_t eight;
      std::memcpy(&eight, bytes + first, 8);
      unsigned left = ports - first;
      if (left < 8) eight &= (std::uint64_t{1} << (8 * left)) - 1;
      while (eight) {
        unsigned shift = static_cast<unsigned>(std::countr_zero(eight)) & ~7u;
        auto byte = static_cast<unsigned>(eight >> shift) & 0xff;
        eight ^= std::uint64_t{byte} << shift;
        unsigned p = first + shift / 8;
        bytes[p] = Byte::kNothing;
        use(p, byte);
      }
      first += 8;
    } while (first < ports);
  }

  WEFT_HOT void take_arrivals(View& v, Masks& m) {
    const std::size_t at = slot_ * ports_ + v.header->port_begin;
    const unsigned ports = v.header->ports;
    for_each_arrival(credit_ + at, ports, [&](unsigned p, unsigned byte) {
      unsigned channel = byte - 1u;
      if (EndpointId endpoint = v.port[p].endpoint; endpoint != topology::kNone)
        give_room(e_.sender_used_[std::size_t{endpoint} * stride_ + channel],
                  e_.senders_[endpoint].shared_used);
      else
        give_room(v.used[(p << stride_bits_) + channel], v.port[p].shared_used);
    });
    for_each_arrival(flit_ + at, ports, [&](unsigned p, unsigned byte) {
      unsigned bit = (p << stride_bits_) + (byte & static_cast<unsigned>(FlitByte::kChannel));
      InputQueue& q = v.queue[bit];
      ++q.flits;
      set(m.filled, bit);
      if (byte & static_cast<unsigned>(FlitByte::kHead)) {
        Entry entry(entry_[at + p]);
        v.ring[(std::size_t{bit} << ring_bits_) + ((q.first + q.packets) & ring_mask_)] = entry.bits();
        if (q.packets++ == 0) start_head(v, bit, entry, route_cycles_ ? m.soon : m.waiting);
      }
    });
  }

  /// The packet now first in its queue looks for its way; `when` it asks for a channel.
  WEFT_HOT void start_head(View& v, unsigned bit, Entry entry, std::uint64_t* when) {
    v.queue[bit].left = static_cast<std::uint16_t>(entry.flits());
    find_way(v, bit, entry);
    set(when, bit);
  }

  WEFT_HOT void find_way(View& v, unsigned bit, Entry entry) {
    InputQueue& q = v.queue[bit];
    std::uint32_t router = v.header->router;
    std::uint32_t goal = endpoint_router_[entry.destination()];
    unsigned shift = entry.message_class() * channels_;
    if constexpr (std::is_same_v<Route, GridRoute>) {
      if (goal != router) {
        unsigned in_channel = (bit & (stride_ - 1)) - shift;
        NextHop next = route_(router, goal, bit >> stride_bits_, channel_class_[in_channel]);
        // Turns go over all channels of all outputs, so a new output starts at its first channel.
        if (q.out_port != next.port) q.accept = 0;
        q.out_port = next.port;
        // Where either class is allowed the packet draws one, as a router without regard for load would.
        unsigned drawn = coin(router, entry.destination());  // drawn always: a branch here would be a guess
        unsigned cls = next.classes == 3 ? drawn : next.classes >> 1;
        q.channels = class_channels_[cls] << shift;
        return;
      }
    } else {
      PacketRecord* record = e_.routing_.via_count() ? &e_.packets_[entry.id()] : nullptr;
      bool new_leg = false;
      if (record && record->via != topology::kNone && e_.routing_.via_reached(router, record->via)) {
        record->via = topology::kNone;
        new_leg = true;
      }
      bool via_leg = record && record->via != topology::kNone;
      if (goal != router || via_leg)
        return find_way_by_relation(v, bit, entry, shift, via_leg ? record->via : topology::kNone, new_leg);
    }
    q.out_port =
        static_cast<std::uint16_t>(e_.graph_.endpoint_port(entry.destination()) - v.header->port_begin);
    q.channels = static_cast<std::uint32_t>((std::uint64_t{1} << channels_) - 1) << shift;
  }

  /// A fair coin that depends on place, time and packet, not on the order of visits.
  unsigned coin(std::uint32_t router, EndpointId destination) const {
    std::uint64_t mixed =
        (now_ ^ s_.seed << 48 ^ std::uint64_t{router} << 32 ^ std::uint64_t{destination} << 16) *
        0x9e3779b97f4a7c15u;
    return static_cast<unsigned>((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 63);
  }

  void find_way_by_relation(View& v, unsigned bit, Entry entry, unsigned shift, std::uint32_t via,
                            bool new_leg) {
    InputQueue& q = v.queue[bit];
    unsigned in_port = bit >> stride_bits_;
    routing::Hop hop{.router = v.header->router};
    hop.via_leg = via != topology::kNone;
    hop.target = hop.via_leg ? via : entry.destination();
    if (v.port[in_port].endpoint == topology::kNone && !new_leg) {
      hop.in_port = static_cast<std::uint16_t>(in_port);
      hop.in_class = channel_class_[(bit & (stride_ - 1)) - shift];
    }
    e_.routing_.candidates(hop, candidates_);
    if (candidates_.empty()) {
      q.out_port = kUndecided;  // nowhere to go: it waits, and the watchdog says so
      q.channels = 0;
      return;
    }
    bool one_port = true;
    for (const routing::Candidate& c : candidates_) one_port &= c.port == candidates_[0].port;
    if (one_port) {
      std::uint32_t mask = 0;
      for (const routing::Candidate& c : candidates_) mask |= class_channels_[c.channel_class];
      q.out_port = candidates_[0].port;
      q.channels = mask << shift;
    } else {
      q.out_port = kUndecided;
      q.channels = hop.in_port == routing::kInjected;  // remembered: the choice is made when it asks
    }
  }

  /// Of several ways, the least loaded that has a channel free now; ways of equal load in the order offered.
  /// Returns the port, or kUndecided where all are taken.
  unsigned choose_way(View& v, unsigned bit, Entry entry, std::uint32_t& channels) {
    InputQueue& q = v.queue[bit];
    unsigned in_port = bit >> stride_bits_;
    unsigned shift = entry.message_class() * channels_;
    routing::Hop hop{.router = v.header->router};
    PacketRecord* record = e_.routing_.via_count() ? &e_.packets_[entry.id()] : nullptr;
    hop.via_leg = record && record->via != topology::kNone;
    hop.target = hop.via_leg ? record->via : entry.destination();
    if (!q.channels) {
      hop.in_port = static_cast<std::uint16_t>(in_port);
      hop.in_class = channel_class_[(bit & (stride_ - 1)) - shift];
    }
    e_.routing_.candidates(hop, candidates_);
    unsigned best = kUndecided, best_load = ~0u;
    for (const routing::Candidate& c : candidates_) {
      std::uint32_t open = open_channels(v, c.port, class_channels_[c.channel_class] << shift, entry.flits());
      if (!open) continue;
      // Escape channels are for packets that find no other way: they count as fully loaded.
      unsigned load = load_of(v, c.port) + (e_.routing_.is_escape(c.channel_class) ? 1u << 20 : 0);
      if (load > best_load || (load == best_load && c.port != best)) continue;
      if (load < best_load) channels = 0;
      best_load = load;
      best = c.port;
      channels |= open;
    }
    return best;
  }

  /// Channels of an output a new packet can have now.
  WEFT_HOT std::uint32_t open_channels(const View& v, unsigned p, std::uint32_t wanted,
                                       unsigned flits) const {
    const Port& port = v.port[p];
    std::uint32_t open = wanted & port.free_channels;
    if (!cut_through() || port.endpoint != topology::kNone) return open;
    for (std::uint32_t left = open; left; left &= left - 1) {
      unsigned c = static_cast<unsigned>(std::countr_zero(left));
      if (!has_room(v.used[(p << stride_bits_) + c], port.shared_used, flits)) open &= ~(1u << c);
    }
    return open;
  }

  WEFT_HOT Entry first_entry(const View& v, unsigned bit) const {
    return Entry(v.ring[(std::size_t{bit} << ring_bits_) + v.queue[bit].first]);
  }

  // --- channels
  // ----------------------------------------------------------------------------------------------------

  WEFT_HOT void allocate_channels(View& v, Masks& m) {
    std::uint32_t count = 0;
    std::uint64_t asked[W] = {};  // outputs asked for; a router has at most 64 * W ports
    std::uint64_t contested = 0;
    for (int w = 0; w < W; ++w)
      for (std::uint64_t left = m.waiting[w]; left; left &= left - 1) {
        unsigned bit = static_cast<unsigned>(w) * 64 + static_cast<unsigned>(std::countr_zero(left));
        InputQueue& q = v.queue[bit];
        unsigned p = q.out_port;
        std::uint32_t open = 0;
        if (!std::is_same_v<Route, GridRoute> && p == kUndecided)
          p = choose_way(v, bit, first_entry(v, bit), open);
        else
          open = open_channels(v, p, q.channels, cut_through() ? first_entry(v, bit).flits() : 1);
        if (!open) continue;
        std::uint64_t& seen = asked[W == 1 ? 0 : p / 64];
        contested |= seen >> (p % 64);
        seen |= std::uint64_t{1} << (p % 64);
        asks_[count++] = {static_cast<std::uint16_t>(bit), static_cast<std::uint16_t>(p), open, 0};
      }
    if (count == 0) return;
    again_ = true;
    if (contested & 1) return grant_channels(v, m, count);
    for (std::uint32_t i = 0; i < count; ++i) give_channel(v, m, asks_[i], asks_[i].open);
  }

  struct Ask {
    std::uint16_t bit, port;
    std::uint32_t open, granted;
  };

  /// Each free channel grants one of those that ask for it; each asker accepts one of its grants.
  [[gnu::noinline]] void grant_channels(View& v, Masks& m, std::uint32_t count) {
    std::uint64_t done_ports[(64 * W) / 64 + 1] = {};
    for (std::uint32_t i = 0; i < count; ++i) {
      unsigned p = asks_[i].port;
      if (done_ports[p / 64] >> (p % 64) & 1) continue;
      done_ports[p / 64] |= std::uint64_t{1} << (p % 64);
      std::uint32_t any_open = 0, askers = 0;
      for (std::uint32_t k = i; k < count; ++k)
        if (asks_[k].port == p) any_open |= asks_[k].open, ++askers;
      if (askers == 1) {
        asks_[i].granted = asks_[i].open;
        continue;
      }
      for (std::uint32_t left = any_open; left; left &= left - 1) {
        unsigned c = static_cast<unsigned>(std::countr_zero(left));
        unsigned place = v.grant[(p << stride_bits_) + c];
        Ask* best = nullptr;
        std::uint64_t best_rank = ~std::uint64_t{0};
        for (std::uint32_t k = i; k < count; ++k) {
          if (asks_[k].port != p || !(asks_[k].open >> c & 1)) continue;
          std::uint64_t rank = rank_of(v, asks_[k].bit, place);
          if (rank < best_rank) best = &asks_[k], best_rank = rank;
        }
        best->granted |= 1u << c;
      }
    }
    for (std::uint32_t i = 0; i < count; ++i)
      if (asks_[i].granted) give_channel(v, m, asks_[i], asks_[i].granted);
  }

  /// Who goes first: the lowest rank. Turns go on from the one after `last`; age counts time since creation.
  std::uint64_t rank_of(const View& v, unsigned bit, unsigned last) const {
    unsigned queues = v.header->ports << stride_bits_;
    std::uint64_t turn = bit > last ? bit - last : bit + queues - last;
    if (!oldest_first_) return turn;
    return e_.packets_[first_entry(v, bit).id()].created << 12 | turn;
  }

  /// Takes one of the channels offered, in turn.
  WEFT_HOT void give_channel(View& v, Masks& m, const Ask& ask, std::uint32_t offered) {
    InputQueue& q = v.queue[ask.bit];
    Port& port = v.port[ask.port];
    unsigned channel = pick_after(offered, q.accept);
    q.out_port = ask.port;
    q.out_channel = static_cast<std::uint16_t>(channel);
    q.accept = static_cast<std::uint16_t>(channel + 1);
    v.grant[(ask.port << stride_bits_) + channel] = ask.bit;
    port.free_channels ^= 1u << channel;
    if (cut_through() && port.endpoint == topology::kNone)
      take_room(v.used[(ask.port << stride_bits_) + channel], port.shared_used,
                first_entry(v, ask.bit).flits());
    clear(m.waiting, ask.bit);
    set(m.active, ask.bit);
  }

  // --- the switch
  // --------------------------------------------------------------------------------------------------

  /// May the first flit of this queue be sent now?
  WEFT_HOT bool may_send(const View& v, const InputQueue& q) const {
    const Port& port = v.port[q.out_port];
    if (port.interval != 256 &&
        static_cast<std::int32_t>(port.next_send - static_cast<std::uint32_t>(now_ << 8)) > 0)
      return false;
    if (cut_through() || port.endpoint != topology::kNone) return true;
    return has_room(v.used[(q.out_port << stride_bits_) + q.out_channel], port.shared_used, 1);
  }

  WEFT_HOT void allocate_switch(View& v, Masks& m, const std::uint64_t* ready) {
    // Ask first, arbitrate only where two want the same input or output.
    unsigned count = 0;
    std::uint64_t ins[W] = {}, outs[W] = {};
    std::uint64_t contested = 0;
    for (int w = 0; w < W; ++w)
      for (std::uint64_t left = ready[w]; left; left &= left - 1) {
        unsigned bit = static_cast<unsigned>(w) * 64 + static_cast<unsigned>(std::countr_zero(left));
        const InputQueue& q = v.queue[bit];
        if (!may_send(v, q)) {
          again_ |= v.port[q.out_port].interval != 256;
          continue;
        }
        unsigned in = bit >> stride_bits_, out = q.out_port;
        std::uint64_t& in_seen = ins[W == 1 ? 0 : in / 64];
        std::uint64_t& out_seen = outs[W == 1 ? 0 : out / 64];
        contested |= in_seen >> (in % 64) | out_seen >> (out % 64);
        in_seen |= std::uint64_t{1} << (in % 64);
        out_seen |= std::uint64_t{1} << (out % 64);
        wants_[count++] = {static_cast<std::uint16_t>(bit), q.out_port};
      }
    if (count == 0) return;
    again_ = true;
    if (contested & 1) return match(v, m, count);
    for (unsigned i = 0; i < count; ++i) {
      note_turns(v, wants_[i]);
      send(v, m, wants_[i].bit);
    }
  }

  struct Want {
    std::uint16_t bit, out;
  };

  WEFT_HOT void note_turns(View& v, const Want& want) {
    unsigned in = want.bit >> stride_bits_;
    v.port[want.out].grant = static_cast<std::uint16_t>(in);
    v.port[in].accept = want.out;
    v.port[in].channel = static_cast<std::uint16_t>(want.bit & (stride_ - 1));
  }

  /// iSLIP: outputs grant in turn, inputs accept in turn; turns move on only with accepted grants of the
  /// first round.
  [[gnu::noinline]] void match(View& v, Masks& m, unsigned count) {
    std::uint64_t in_done[W] = {}, out_done[W] = {};  // ports matched; there are at most 64 * W
    auto done = [](const std::uint64_t* mask, unsigned p) { return mask[p / 64] >> (p % 64) & 1; };
    unsigned rounds = s_.allocator == Allocator::Islip ? s_.iterations : 1;
    for (unsigned round = 0; round < rounds; ++round) {
      // For every output, the best want; kept by the first want of that output.
      unsigned outputs = 0;
      for (unsigned i = 0; i < count; ++i) {
        unsigned out = wants_[i].out;
        if (done(out_done, out) || done(in_done, wants_[i].bit >> stride_bits_)) continue;
        std::uint64_t rank = grant_rank(v, wants_[i]);
        unsigned k = 0;
        while (k < outputs && best_[k].want.out != out) ++k;
        if (k == outputs) {
          best_[outputs++] = {wants_[i], rank};
        } else if (rank < best_[k].rank) {
          best_[k] = {wants_[i], rank};
        }
      }
      if (outputs == 0) return;
      for (unsigned k = 0; k < outputs; ++k) {
        unsigned in = best_[k].want.bit >> stride_bits_;
        if (done(in_done, in)) continue;
        unsigned chosen = k;
        std::uint64_t chosen_rank = accept_rank(v, in, best_[k].want);
        for (unsigned j = k + 1; j < outputs; ++j) {
          if (static_cast<unsigned>(best_[j].want.bit >> stride_bits_) != in) continue;
          std::uint64_t rank = accept_rank(v, in, best_[j].want);
          if (rank < chosen_rank) chosen = j, chosen_rank = rank;
        }
        const Want& want = best_[chosen].want;
        in_done[in / 64] |= std::uint64_t{1} << (in % 64);
        out_done[want.out / 64] |= std::uint64_t{1} << (want.out % 64);
        if (round == 0) note_turns(v, want);
        send(v, m, want.bit);
      }
    }
  }

  std::uint64_t grant_rank(const View& v, const Want& want) const {
    unsigned in = want.bit >> stride_bits_, channel = want.bit & (stride_ - 1);
    unsigned ports = v.header->ports, last = v.port[want.out].grant;
    std::uint64_t turn = in > last ? in - last : in + ports - last;
    turn = turn << 8 | ((channel - v.port[in].channel - 1u) & (stride_ - 1u));
    if (!oldest_first_) return turn;
    return e_.packets_[first_entry(v, want.bit).id()].created << 24 | turn;
  }

  std::uint64_t accept_rank(const View& v, unsigned in, const Want& want) const {
    unsigned ports = v.header->ports, last = v.port[in].accept;
    std::uint64_t turn = want.out > last ? want.out - last : want.out + ports - last;
    if (!oldest_first_) return turn;
    return e_.packets_[first_entry(v, want.bit).id()].created << 24 | turn;
  }

  WEFT_HOT void send(View& v, Masks& m, unsigned bit) {
    InputQueue& q = v.queue[bit];
    Port& out = v.port[q.out_port];
    std::uint64_t& place = v.ring[(std::size_t{bit} << ring_bits_) + q.first];
    Entry entry(place);
    bool head = q.left == entry.flits();
    bool tail = --q.left == 0;
    ++out.sent;
    if (out.interval != 256) {
      auto cycle = static_cast<std::uint32_t>(now_ << 8);
      if (static_cast<std::int32_t>(out.next_send + 256 - cycle) <= 0) out.next_send = cycle;
      out.next_send += out.interval;
    }
    if (out.endpoint != topology::kNone) {
      ++w_.counters.flits_delivered;
      --w_.in_network;
      if (tail) deliver(entry);
    } else {
      std::uint32_t slot = slot_after(out.flight);
      std::size_t at = slot * ports_ + out.peer;
      flit_[at] = flit_byte(head, q.out_channel);
      if (head) {
        entry_[at] = entry.bits();
        if (!std::is_same_v<Route, GridRoute>) ++e_.packets_[entry.id()].hops;
      }
      wake_peer(out, slot);
      ++w_.counters.flit_hops;
      if (!cut_through()) take_room(v.used[(q.out_port << stride_bits_) + q.out_channel], out.shared_used, 1);
    }
    return_credit(v, bit);
    if (--q.flits == 0) clear(m.filled, bit);
    if (!tail) return;
    out.free_channels ^= 1u << q.out_channel;
    clear(m.active, bit);
    q.first = static_cast<std::uint8_t>((q.first + 1) & ring_mask_);
    if (--q.packets > 0) start_head(v, bit, first_entry(v, bit), route_cycles_ ? m.later : m.soon);
  }

  WEFT_HOT void return_credit(View& v, unsigned bit) {
    unsigned in = bit >> stride_bits_;
    const Port& port = v.port[in];
    auto credit = static_cast<CreditByte>((bit & (stride_ - 1)) + 1);
    if (port.endpoint != topology::kNone) {
      std::uint32_t slot = slot_after(port.flight);
      credit_[slot * ports_ + v.header->port_begin + in] = credit;
      wake(v.header->router, slot);
    } else {
      std::uint32_t slot = slot_after(port.flight);
      credit_[slot * ports_ + port.peer] = credit;
      wake_peer(port, slot);
    }
  }

  void deliver(Entry entry) {
    const PacketRecord& record = e_.packets_[entry.id()];
    ++w_.counters.packets_delivered;
    Delivery delivery{record.source,
                      record.destination,
                      record.flits,
                      record.message_class,
                      static_cast<std::uint16_t>(hops_of(record)),
                      record.created,
                      record.injected,
                      now_ + s_.traverse_cycles + endpoint_cycles_};
    observer_.delivered(delivery);
    w_.free.push_back(entry.id());
  }

  // Dimension order is minimal, so its hops need no counting on the way.
  std::uint32_t hops_of(const PacketRecord& record) const {
    if constexpr (std::is_same_v<Route, GridRoute>)
      return 1 + route_.distance(e_.endpoint_router_[record.source], e_.endpoint_router_[record.destination]);
    else
      return 1u + record.hops;
  }

  Engine& e_;
  Engine::Worker& w_;
  const Route& route_;
  Traffic& traffic_;
  Observer& observer_;
  const Settings& s_;
  const unsigned stride_, stride_bits_, ring_mask_, ring_bits_;
  const unsigned channels_, all_channels_, route_cycles_, endpoint_cycles_;
  const bool early_;  // a channel won in this cycle bids for the switch only in the next
  const bool oldest_first_;
  const std::uint32_t first_router_, router_count_, slot_mask_;
  const std::size_t words_;
  const unsigned prefetch_lines_;
  const unsigned buffer_flits_, shared_flits_;
  const bool cut_through_;
  const std::size_t ports_;
  std::uint8_t* const arena_;
  FlitByte* const flit_;
  CreditByte* const credit_;
  std::uint64_t* const entry_;
  std::uint64_t* const awake_;  // this worker's own bits
  const std::uint32_t* const endpoint_router_;
  const std::uint32_t* const class_channels_;
  const std::uint8_t* const channel_class_;
  Cycle now_ = 0;
  std::uint32_t slot_ = 0;
  bool again_ = false;  // the router has reason to look again in the next cycle
  routing::Candidates candidates_;
  Ask asks_[64 * W];
  Want wants_[64 * W];
  struct Best {
    Want want;
    std::uint64_t rank;
  };
  Best best_[64 * W];
};

#undef WEFT_HOT

}  // namespace weft::network::flit
