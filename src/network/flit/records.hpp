// What the stages of a cycle work on: where every record is, and what all of them need to know of it.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <type_traits>

#include "base/hot.hpp"
#include "network/flit/fabric.hpp"
#include "network/flit/routes.hpp"
#include "network/flit/sources.hpp"

namespace weft::network::flit {

/// Routing by the general relation: one call for each packet and hop.
struct RelationRoute {};

/// What the stages are compiled for: how routes are found, whether a packet takes room as a whole, whether an
/// input has a queue for each output, whether routers copy packets for many, and whether classes of traffic
/// share ports.
template <class RouteOf, bool CutThrough, bool Voq, bool Copies = false, bool Weighted = false>
struct Variant {
  using Route = RouteOf;
  static constexpr bool kOnGrid = std::is_same_v<RouteOf, GridRoute>;
  static constexpr bool kCutThrough = CutThrough, kVoq = Voq, kMulticast = Copies, kWeighted = Weighted;
};

inline constexpr std::uint64_t kMixer = 0x9e3779b97f4a7c15u;

/// The first set bit at or after `start`, going round; the mask must not be empty.
inline unsigned pick_after(std::uint32_t mask, unsigned start) {
  return (static_cast<unsigned>(std::countr_zero(std::rotr(mask, static_cast<int>(start)))) + start) & 31;
}

// Buffers: each channel has its own share, and what goes beyond it comes from what the port's channels share.
WEFT_HOT bool has_room(const OutChannel& channel, const Port& port, unsigned flits) {
  if (channel.used + flits <= port.room) [[likely]]
    return true;
  unsigned own = channel.used < port.room ? port.room - channel.used : 0;
  return own + port.spare >= flits;
}
WEFT_HOT void take_room(OutChannel& channel, Port& port, unsigned flits) {
  unsigned before = channel.used;
  channel.used = static_cast<std::uint16_t>(before + flits);
  if (channel.used > port.room) [[unlikely]]
    port.spare =
        static_cast<std::uint16_t>(port.spare - (channel.used - std::max<unsigned>(before, port.room)));
}

/// Who goes first: the lowest. Ports that yield come last, then turns decide, or age and then turns.
struct Rank {
  std::uint64_t major, turn;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
inline constexpr Rank kLastRank{~std::uint64_t{0}, ~std::uint64_t{0}};

/// Where everything is, as one thread's stages see it in a cycle. Each stage copies it to a variable of its
/// own: what nobody else can reach stays in registers, whatever the stage stores.
template <bool Voq>
struct Records {
  Queue* queues;
  Port* ports;
  PortRest* rests;
  std::uint64_t* sent;
  OutChannel* outs;
  Inbox* inboxes;
  Mark* awake;
  const std::uint32_t* rows;  // by flight: first inbox of this thread in the slot in which it ends
  const GridPort* grid_ports;
  const GridEndpoint* grid_endpoints;
  const std::uint32_t* class_channels;
  const std::uint8_t* channel_class;
  PacketStore* packets;
  std::uint32_t channel_bits, output_bits, queue_bits;
  std::uint32_t channel_mask;
  bool oldest_first;
  Cycle now;
  std::uint64_t coin;  // what chance depends on beside place and packet

  Records(Fabric& fabric, const Routes& routes, Sources& sources)
      : queues(fabric.state.queues.data()),
        ports(fabric.state.ports.data()),
        rests(fabric.state.rests.data()),
        sent(fabric.state.sent.data()),
        outs(fabric.state.channels.data()),
        inboxes(fabric.state.inboxes.data()),
        awake(fabric.state.awake.data()),
        rows(nullptr),
        grid_ports(routes.grid_ports.data()),
        grid_endpoints(routes.grid_endpoints.data()),
        class_channels(routes.class_channels.data()),
        channel_class(routes.channel_class.data()),
        packets(&sources.packets),
        channel_bits(fabric.state.channel_bits),
        output_bits(fabric.state.output_bits),
        queue_bits(fabric.state.channel_bits + fabric.state.output_bits),
        channel_mask((1u << fabric.state.channel_bits) - 1),
        oldest_first(fabric.settings.allocator == Allocator::Age),
        now(0),
        coin(0) {}

  WEFT_HOT PortNumber port_of(QueueNumber q) const { return q >> (Voq ? queue_bits : channel_bits); }
  WEFT_HOT unsigned channel_of(QueueNumber q) const { return (Voq ? q >> output_bits : q) & channel_mask; }
  /// The queue, or the first of the queues, of an input's channel.
  WEFT_HOT QueueNumber first_queue(ChannelNumber channel) const {
    return Voq ? channel << output_bits : channel;
  }
  WEFT_HOT OutChannel& out_channel(PortNumber port, unsigned channel) const {
    return outs[(port << channel_bits) + channel];
  }
  /// Where to put what arrives after a flight in the tile of `inbox`.
  WEFT_HOT Inbox& inbox_at(std::uint32_t inbox, unsigned flight) const {
    std::uint32_t at = rows[flight] + inbox;
    awake[at] = Mark::kYes;
    return inboxes[at];
  }
  WEFT_HOT Rank rank_of(QueueNumber q, std::uint64_t turn) const {
    std::uint64_t major = ports[port_of(q)].yields();
    if (oldest_first) [[unlikely]]
      major = major << 56 | (*packets)[Entry(queues[q].entry).id()].created;
    return {major, turn};
  }
};

/// Channels of an output a new packet can have now.
template <class V>
WEFT_HOT std::uint32_t open_channels(const Records<V::kVoq>& b, PortNumber out, std::uint32_t wanted,
                                     unsigned flits) {
  const Port& port = b.ports[out];
  std::uint32_t open = wanted & port.free_channels;
  if constexpr (V::kCutThrough) {
    if (port.flags & Port::kEndpoint) return open;
    for (std::uint32_t left = open; left; left &= left - 1) {
      unsigned c = static_cast<unsigned>(std::countr_zero(left));
      if (!has_room(b.out_channel(out, c), port, flits)) open &= ~(1u << c);
    }
  }
  return open;
}

}  // namespace weft::network::flit
