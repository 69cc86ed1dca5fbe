// A network as the GPU engine holds it: arrays of numbers, by port, by channel, by packet.
//
// The arrays of ports are in the order [router][port], those of queues and channels in the order
// [router][port][channel], or [router][port][channel][output] where an input has a queue for each output:
// neighbouring threads look after neighbouring ports, so what they load together lies together. A port has
// two sides, as in the flit engine: its input has queues, its output has channels.
#pragma once

#include "network/gpu/plain.hpp"

namespace weft::network::gpu {

/// A packet as routers see it: destination, number, length and message class in a word. The same as the flit
/// engine's.
struct Entry {
  u64 bits;
  WEFT_DEVICE u32 destination() const { return static_cast<u32>(bits >> 42); }
  WEFT_DEVICE u32 id() const { return static_cast<u32>(bits >> 15) & 0x7ff'ffff; }
  WEFT_DEVICE u32 flits() const { return static_cast<u32>(bits >> 3) & 0xfff; }
  WEFT_DEVICE u32 message_class() const { return static_cast<u32>(bits) & 0x7; }
};

/// What an input's queues are waiting for, a bit for each; 32 of them.
struct alignas(16) Requests {
  u32 channel = 0;          // their head requests a channel in this cycle,
  u32 channel_in_1 = 0;     // in the next,
  u32 channel_in_2 = 0;     // in the one after it
  u32 the_switch = 0;       // they request the switch in this cycle,
  u32 the_switch_in_1 = 0;  // in the next
  u32 before = 0;           // they requested the switch in the cycle before and did not get it
  u32 stored = 0;           // the network has such requests of the last cycle
  u32 pad = 0;
  WEFT_DEVICE bool any() const {
    return channel | channel_in_1 | channel_in_2 | the_switch | the_switch_in_1;
  }
};

/// One input queue. Packets behind the first are linked through Network::behind.
struct alignas(32) Queue {
  u64 entry = 0;                       // the first packet
  u32 chain = kNobody;                 // the next queue that requests the same
  u32 channels = 0;                    // output channels it may take, one bit each
  u32 offered = 0;                     // of these, what it was offered in this cycle, or may still take
  u32 last = kNobody;                  // the last packet
  u16 left = 0;                        // flits of the first packet still to send
  u16 flits = 0;                       // here now
  u16 out = kNoOutput;                 // where the first packet goes
  u8 out_channel = kFirstChannelNext;  // of the first packet, once it has one; turns go on from the last
  u8 flags = 0;
  enum Flag : u8 { kActive = 1, kSitsOut = 2 };  // the first packet has a channel; not in this cycle again
};

/// One port, both sides.
struct alignas(32) Port {
  enum Flag : u8 { kEndpoint = 1, kNarrow = 4 };  // the flit engine's
  u32 peer = 0;                                   // the port at the other end; its own where there is none
  u32 free_channels = 0;                          // output channels no packet holds
  u32 next_send = 0;        // of a narrow output: may send again from here on, in 1/256 cycles (low bits)
  u16 interval = 256;       // of a narrow output: 1/256 cycles from flit to flit
  u16 flight = 1;           // cycles from winning the switch to arrival at the other end
  u16 room = 0, spare = 0;  // as in the flit engine: a channel's own room, what is left of the shared one
  u16 last_input = 0, last_output = 0;  // who had the last turn
  u8 last_channel = 0;
  u8 flags = 0, yields = 0, pad = 0;
  u32 owed = 0;  // flits its channels have sent into the buffers behind them and not yet gone from there
};

/// A channel of an output.
struct OutChannel {
  u16 last_queue = 0;  // low bits of the flit engine's number of the queue that had it last
  u16 used = 0;        // flits sent into the buffer behind it and not yet gone from there
};

/// What ports of a router leave for each other between the stages of a cycle, and for no longer. In a chain a
/// queue of the router is port << kChainPort | its number at the port.
struct Exchange {
  u32 requester = kNobody;   // of an output: chain of queues that request a channel, or the switch
  u32 granted = kNobody;     // of an input: chain of outputs that would take a flit from it
  u32 grant = kNobody;       // of an output: the queue it grants the switch,
  u32 next_grant = kNobody;  // and the next output that grants the same input
  u16 input_matched = 0;     // the input has its partner in this cycle,
  u16 output_matched = 0;    // the output has
  u32 changed = 0;           // the port's records are to be laid down at the cycle's end
};
inline constexpr u32 kChainPort = 16;

/// What arrives at a port in a cycle.
struct alignas(2) Arrival {
  u8 flit;    // kFlit | kHead | channel
  u8 credit;  // kCredit | channel
};

/// An endpoint's sending side.
struct alignas(32) Sender {
  u32 first = kNobody, last = kNobody;  // queue
  u32 current = kNobody;
  u16 left = 0;  // flits of the current packet
  u8 channel = 0, next_channel = 0;
  u32 queued = 0;  // packets in the queue
  u32 pad[3] = {0, 0, 0};
};

/// A packet that the traffic makes, known before its time.
struct alignas(8) Made {
  u64 entry;
  u32 cycle;
  std::int32_t remainder;
};

/// What becomes of a packet, for the host.
struct Outcome {
  static constexpr u16 kRefused = 0xffff;  // as hops
  u32 id;
  u32 injected, delivered;  // low bits
  std::int32_t remainder;
  u32 hops;
};

/// Dimension order on a plain grid, as routing::GridRoute has it.
struct Grid {
  struct Step {
    u16 port;
    u8 only, either;
  };
  u32 first_row[4], first_port[4], ports[4], around[4];
  u32 keeps_class[4];  // packets that came along the dimension keep the class they came in
  u32 row_steps;
  const Step* table;  // [row][to][parity of the destination]
};

/// Any other routing: its answers, each stored once, by where a packet stands and where it goes.
struct Tables {
  const u32* answer;        // [row][column] -> where in `candidates`
  const u32* via_answer;    // [row][place], on the way to a third place; nothing where there are none
  const u32* later_answer;  // as `answer`, for those who have been at one, where that differs
  const u32* candidates;    // how many, then port << 8 | class each
  const u32* first_row;     // by router; by input and class from there on where the routing asks for them
  const u32* column;        // by endpoint
  const u32* via_reached;   // bits, [router][place]
  u32 columns, vias, via_words;
  bool by_input, chooses;
  u32 classes, escape_classes;  // the second: bits
};

/// How fast an output has been sending (the flit engine's Pace).
struct Pace {
  u64 since, sent;
  u32 round_trip, full, under_way;
  u32 asked;  // somebody has looked in this cycle
};

enum Count { kFlitHops, kInjected, kDelivered, kPacketsCreated, kPacketsRefused, kFlitsRefused, kCounts };

/// What changes of the whole network, and what its host is told.
struct Control {
  u64 now = 0;               // the next window begins here,
  bool known = true;         // or, where this is false, when something happens next
  u64 moved_at = 0;          // end of the last window in which a flit moved
  u64 counts[kCounts] = {};  // by Count
  u32 outcomes = 0;
};

struct Network {
  // Sizes.
  u32 routers, ports, channels;  // `ports`: of the largest router; `channels`: of a port, over all classes
  u32 class_channels_count;      // of each message class
  u32 all_ports;                 // routers * ports
  u32 endpoints;
  u32 slot_mask;
  u32 channel_bits;  // the flit engine's
  u32 outputs;       // queues of an input's channel: one, or one for each output
  u32 port_queues;   // of an input
  u32 words;         // Requests of an input
  // How its routers work.
  u32 route_cycles, allocate_cycles, traverse_cycles, endpoint_cycles, iterations;
  bool queue_per_output, cut_through, shares, oldest_first, moves_turns, on_grid, counts_hops;
  u32 source_queue;
  u64 seed;
  std::int32_t router_remainder, hop_remainder;
  u32 window;  // cycles: what sources make is known for so long at a time
  Grid grid;
  Tables tables;
  // By router.
  u32* first_port;  // the graph's number of its port 0
  u32* place;       // on a grid
  // By port.
  Port* port;
  u8* waiting;  // of an input with one word of requests: there are some
  u32* port_endpoint;
  u64* sent;
  std::int32_t* port_remainder;  // nothing where all cables are alike
  Pace* pace;                    // nothing where sources do not choose
  // By [router][port][word], [router][port][channel][output] and [router][port][channel].
  Requests* requests;
  Queue* queue;
  OutChannel* out;
  u16* receiving;  // of an input's channel: the output whose queue takes the packet that is coming in
  // By [cycle][port].
  Arrival* arrival;
  u64* head_in;
  // By endpoint.
  Sender* sender;
  u32* endpoint_router;
  u32* endpoint_place;  // on a grid
  u16* endpoint_port;   // of its router
  // By class and channel.
  u32* class_channels;
  u8* channel_class;
  // By packet.
  u64* packet;  // entries
  u64* behind;  // the packet behind another: its number at the source, its entry in a router
  u32 *created, *injected, *source, *via, *turned_at;
  u32* hops;
  std::int32_t* remainder;
  // From and to the host.
  const Made* made;
  u32* next_made;                    // by endpoint: what the traffic makes of it next,
  const u32 *made_begin, *made_end;  // of what has been handed in
  const u32* due;                    // bits by cycle from `due_from` on: somebody makes a packet
  u64 due_from;
  Outcome* outcomes;
  u32* activity;  // by cycle: equal to its low bits where something happens in it
  Control* control;

  static constexpr u8 kFlit = 0x40, kHead = 0x80, kCredit = 0x40, kChannel = 0x1f;

  WEFT_DEVICE u32 port_at(u32 router, u32 index) const { return router * ports + index; }
  /// `local`: channel * outputs + output.
  WEFT_DEVICE u32 queue_at(u32 router, u32 port_index, u32 local) const {
    return port_at(router, port_index) * port_queues + local;
  }
  WEFT_DEVICE u32 channel_at(u32 router, u32 port_index, u32 channel) const {
    return port_at(router, port_index) * channels + channel;
  }
  WEFT_DEVICE u32 requests_at(u32 router, u32 port_index, u32 word) const {
    return port_at(router, port_index) * words + word;
  }
  WEFT_DEVICE u64 slot(u64 cycle, u32 at_port) const {
    return (cycle & slot_mask) * u64{all_ports} + at_port;
  }
  /// The flit engine's number of a queue, its low bits: turns follow it.
  WEFT_DEVICE u16 turn_number(u32 router, u32 port_index, u32 channel_index) const {
    return static_cast<u16>(((first_port[router] + port_index) << channel_bits) + channel_index);
  }
  /// Bits of all channels of a message class.
  WEFT_DEVICE u32 channels_of(u32 message_class) const {
    return static_cast<u32>((u64{1} << class_channels_count) - 1) << message_class * class_channels_count;
  }
  WEFT_DEVICE void wake(u64 cycle) const {
    u32& mark = activity[cycle & slot_mask];
    if (mark != static_cast<u32>(cycle)) mark = static_cast<u32>(cycle);
  }
};

/// Flits in the queues of an input.
WEFT_DEVICE u32 standing_at(const Network& n, u32 p) {
  u32 flits = 0;
  for (u32 local = 0; local < n.port_queues; ++local) flits += n.queue[p * n.port_queues + local].flits;
  return flits;
}

/// Routers as most are, with what that means known when their code is compiled: one queue for a channel, and
/// no more channels than a word has bits; and on a grid.
struct Plain : Network {
  static constexpr bool queue_per_output = false;
  static constexpr u32 outputs = 1, words = 1;
  WEFT_DEVICE u32 queue_at(u32 router, u32 port_index, u32 local) const {
    return channel_at(router, port_index, local);
  }
  WEFT_DEVICE u32 requests_at(u32 router, u32 port_index, u32) const { return port_at(router, port_index); }
};
struct PlainGrid : Plain {
  static constexpr bool on_grid = true, counts_hops = false, oldest_first = false;
  static constexpr u32 iterations = 1;
};
/// Calls a function with the network as the narrowest of these that it is.
template <class Function>
auto as_its_kind(const Network& n, Function&& function) {
  if (n.queue_per_output || n.words > 1) return function(n);
  if (!n.on_grid || n.oldest_first || n.iterations > 1) return function(Plain{n});
  return function(PlainGrid{{n}});
}

/// The cycle under way, and what a thread notes meanwhile for the end of its window.
struct Moment {
  u64 now = 0, coin = 0;
  u64 window_end = 0;
  u64 soon = 0;  // bit i: something happens in cycle now + i
  bool window_begins = false, moved = false;
  u32 counts[kCounts] = {};
};

/// Where a thread is: a port of a router.
struct Place {
  u32 router, index;
  // Of the router's ports, for this cycle.
  Exchange* exchange;
  Requests* wants;       // where a port has one word of them
  Port* ports;           // as the network has them, and laid down there at the end
  OutChannel* channels;  // the same
  WEFT_DEVICE Exchange& own() const { return exchange[index]; }
  WEFT_DEVICE Port& own_port() const { return ports[index]; }
  template <class Net>
  WEFT_DEVICE OutChannel& channel(const Net& n, u32 port_index, u32 channel) const {
    return channels[port_index * n.channels + channel];
  }
};

// Buffers: each channel has its own share, and what goes beyond it comes from what the port's channels share.
WEFT_DEVICE bool has_room(const OutChannel& channel, const Port& port, unsigned flits) {
  if (channel.used + flits <= port.room) return true;
  unsigned own = channel.used < port.room ? port.room - channel.used : 0u;
  return own + port.spare >= flits;
}
/// On a grid nobody chooses between outputs, so nobody asks what they owe.
template <class Net>
WEFT_DEVICE void take_room(const Net& n, OutChannel& channel, Port& port, unsigned flits) {
  unsigned before = channel.used;
  channel.used = static_cast<u16>(before + flits);
  if (channel.used > port.room)
    port.spare = static_cast<u16>(port.spare - (channel.used - most<unsigned>(before, port.room)));
  if (!n.on_grid) port.owed += flits;
}

/// Who goes first: the lowest. Ports that yield come last, then turns decide, or age and then turns.
struct Rank {
  u64 major = ~u64{0}, turn = ~u64{0};
  WEFT_DEVICE bool before(const Rank& other) const {
    return major != other.major ? major < other.major : turn < other.turn;
  }
};
template <class Net>
WEFT_DEVICE Rank rank_of(const Net& n, const Port& input, const Queue& queue, u64 turn) {
  u64 major = input.yields;
  if (n.oldest_first) major = major << 56 | n.created[Entry{queue.entry}.id()];
  return {major, turn};
}

}  // namespace weft::network::gpu
