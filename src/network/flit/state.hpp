// Everything that changes in a network, as flat arrays of small records: queues, ports, channels, and what is
// on its way between them. Records hold numbers, never pointers, so the arrays can be split over threads,
// ranks or a GPU.
//
// A port has two sides. Its input side has queues; its output side has channels to send through, and knows
// how much room is left behind each. A channel of a port has the number `port << channel_bits | channel`; an
// input queue has `that << output_bits | output`, where `output` is 0 unless there is a queue for each output
// (virtual output queues).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/large_pages.hpp"
#include "base/part_array.hpp"
#include "network/flit/packets.hpp"
#include "topology/graph.hpp"

namespace weft::network::flit {

using PortNumber = std::uint32_t;
using ChannelNumber = std::uint32_t;
using QueueNumber = std::uint32_t;
using EndNumber = std::uint32_t;                       // one end of a cable with a link layer
inline constexpr std::uint32_t kEnd = 0xffff'ffff;     // of a chain
inline constexpr PortNumber kUndecided = 0xffff'fffe;  // a head that chooses its output anew in every cycle

/// One input queue: packets in order, the first of which is being sent on. Those behind it are linked through
/// their records, so that memory follows the packets there are and not the buffers.
struct Queue {
  std::uint64_t entry = 0;     // the first packet
  PortNumber out = kEnd;       // where it goes
  std::uint32_t channels = 0;  // output channels it may take, one bit each; the one it has, by its number
  std::uint32_t offered = 0;   // of these, what it was offered in this cycle
  QueueNumber chain = kEnd;    // the next queue that requests the same
  std::uint16_t rest = 0;      // flits of the first packet still to send; above them, bits of the last packet
  std::uint16_t flits = 0;     // here now
  // Most bits of the last packet, the channel of the first, and flags, in one word that is read and written
  // whole: a narrow store before a wide load of the same bytes would hold the processor up.
  std::uint32_t word = kFirstChannelNext << kChannelShift;

  static constexpr unsigned kLeftBits = 12, kLastBits = 24;
  static constexpr std::uint32_t kLeftMask = (1u << kLeftBits) - 1, kLastMask = (1u << kLastBits) - 1;
  static constexpr unsigned kChannelShift = 24, kChannelMask = 0x1f;
  static constexpr unsigned kFirstChannelNext = 31;  // as channel: the turn begins with channel 0
  static constexpr unsigned kReadyShift = 31;
  // kReady: it is on a list of those who request the switch.
  static constexpr std::uint32_t kLeaves = 1u << 29, kActive = 1u << 30, kReady = 1u << kReadyShift;
  bool empty() const { return left() == 0; }
  unsigned left() const { return rest & kLeftMask; }
  void set_left(std::uint32_t count) { rest = static_cast<std::uint16_t>((rest & ~kLeftMask) | count); }
  /// Of a queue that is not empty.
  PacketId last() const { return (word & kLastMask) | static_cast<PacketId>(rest >> kLeftBits) << kLastBits; }
  void set_last(PacketId packet) {
    word = (word & ~kLastMask) | (packet & kLastMask);
    rest = static_cast<std::uint16_t>((rest & kLeftMask) | packet >> kLastBits << kLeftBits);
  }
  /// Of the first packet, once it has one; turns go on from the last.
  unsigned out_channel() const { return word >> kChannelShift & kChannelMask; }
  bool leaves() const { return word & kLeaves; }  // the first packet goes to an endpoint (if it is known)
  bool active() const { return word & kActive; }  // ... has a channel
  void set_out_channel(unsigned channel) {
    word = (word & ~(kChannelMask << kChannelShift)) | channel << kChannelShift;
  }
};
static_assert(sizeof(Queue) == 32);

/// One port, both sides: what is looked at for every flit, in half a cache line.
struct alignas(32) Port {
  enum Flag : std::uint8_t {
    kEndpoint = 1,  // what leaves here is delivered
    kInner = 2,     // inside a router: crossing it is no hop
    kNarrow = 4,    // slower than a flit each cycle
    kLinkLayer =
        8,  // the link layer says when it may send: its cable can fail, or its router is dead; narrow too
  };
  static constexpr unsigned kYieldShift = 4, kMostYield = 15;
  unsigned yields() const { return flags >> kYieldShift; }  // input side: to ports with a lower number
  ChannelNumber peer;           // channel 0 of the port at the other end; its own where there is none
  std::uint32_t inbox;          // for the other end's tile: which of the sending thread's in a slot
  std::uint32_t free_channels;  // output channels no packet holds
  QueueNumber requester;  // while channels are allocated: chain of who requests one; while the switch is: of
                          // those who request this output, the first in rank
  PortNumber granted;     // input side: of the outputs that would take a flit from here, the first in rank
  std::uint16_t last_input;   // who had the last turn, low bits of its number: input for this output,
  std::uint16_t last_output;  // output for this input
  std::uint16_t flight;       // from winning the switch to arrival at the other end: which of State::flights
  std::uint16_t room;         // flits of each channel's own buffer at the other end
  std::uint16_t spare;        // flits free in the buffer they share
  std::uint8_t last_channel;  // turn among the channels of this input
  std::uint8_t flags;

  /// How far a port is behind the one that had the last turn. Ports that compete are close in number.
  static std::uint16_t turn(PortNumber port, std::uint16_t last) {
    return static_cast<std::uint16_t>(port - last - 1);
  }
};
static_assert(sizeof(Port) == 32);

/// What is looked at only of ports that are narrow or share buffers.
struct PortRest {
  Cycle next_send;         // output may send again from here on, in 1/256 cycles
  std::uint16_t interval;  // 1/256 cycles from flit to flit; 256: one each cycle
  std::uint16_t shared;    // flits of the buffer that the channels at the other end share

  /// A flit is sent in this cycle.
  void sent_at(Cycle now) {
    if (next_send + 256 <= now << 8) next_send = now << 8;
    next_send += interval;
  }
};

/// One channel of an output.
struct OutChannel {
  std::uint16_t last_queue;  // low bits of the queue that had it last: a router has fewer queues than that
  std::uint16_t used;        // flits sent into the buffer behind it and not yet gone from there
};
static_assert(sizeof(OutChannel) == 4);

/// Records in any order, appended and then all read. Grows to the most it ever held and stays there.
template <class T>
class Bag {
 public:
  static constexpr std::uint32_t kSlack = 8;  // records behind the last that may be read, whatever they hold
  Bag() = default;
  Bag(Bag&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  Bag(const Bag&) = delete;
  Bag& operator=(const Bag&) = delete;
  ~Bag() { std::free(data_); }

  [[gnu::always_inline]] void push(const T& item) {
    if (count_ == room_) [[unlikely]]
      grow(count_ + 1);
    data_[count_++] = item;
  }
  /// Room for at least `more` records beyond those there are, to be written through end() and counted by
  /// set_end().
  [[gnu::always_inline]] void reserve(std::uint32_t more) {
    if (count_ + more > room_) [[unlikely]]
      grow(count_ + more);
  }
  T* end() { return data_ + count_; }
  void set_end(const T* end) { count_ = static_cast<std::uint32_t>(end - data_); }

  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }
  const T& operator[](std::uint32_t i) const { return data_[i]; }
  std::uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }
  std::uint64_t bytes() const { return std::uint64_t{room_} * sizeof(T); }

 private:
  [[gnu::noinline, gnu::cold]] void grow(std::uint32_t wanted) {
    std::uint32_t room = room_ + room_ / 2;
    if (room < wanted) room = wanted;
    if (room < 16) room = 16;
    std::size_t bytes = (std::size_t{room} + kSlack) * sizeof(T);
    auto* data = static_cast<T*>(std::realloc(static_cast<void*>(data_), bytes));
    if (!data) throw std::bad_alloc();
    std::memset(static_cast<void*>(data + count_), 0, bytes - count_ * sizeof(T));
    data_ = data;
    room_ = room;
  }

  T* data_ = nullptr;
  std::uint32_t count_ = 0, room_ = 0;
};

/// The first flit of a packet on its way to an input.
struct HeadFlit {
  ChannelNumber to;
  std::uint64_t entry;
};

/// What arrives at a tile in one cycle, from one thread: at most one flit and one credit for each port.
struct alignas(64) Inbox {
  Bag<HeadFlit> heads;
  Bag<ChannelNumber> bodies;   // flits behind a head
  Bag<ChannelNumber> credits;  // for the output channel named
  // Who has something to do now. In inboxes of links: ends of cables at which something arrives. In those of
  // tiles: queues that have waited for a narrow port.
  Bag<std::uint32_t> due;
  static_assert(std::is_same_v<EndNumber, QueueNumber>);
};

/// A run of routers small enough for their state to stay in a cache while a cycle's stages pass over it.
struct Tile {
  // Those who go on to another router, and those who leave for an endpoint, in lists of their own: every
  // stage then comes to the one kind after the other, and its branches are foreseen. Nothing else depends on
  // it.
  enum Bound { kOnward, kOut, kBounds };
  static_assert(int{kOut} == Port::kEndpoint);
  Bag<QueueNumber> channel_requests[4 * kBounds];  // by cycle: queues whose head requests a virtual channel
  Bag<QueueNumber> switch_requests[2 * kBounds];   // by cycle: queues that request the switch
  Bag<EndpointId> senders[2];                      // by cycle: endpoints with something to send

  Bag<QueueNumber>& channel_requests_in(Cycle cycle, unsigned bound) {
    return channel_requests[(cycle & 3) * kBounds + bound];
  }
  Bag<QueueNumber>& switch_requests_in(Cycle cycle, unsigned bound) {
    return switch_requests[(cycle & 1) * kBounds + bound];
  }

  bool at_rest() const {
    for (const auto& bag : switch_requests)
      if (!bag.empty()) return false;
    if (!senders[0].empty() || !senders[1].empty()) return false;
    for (const auto& bag : channel_requests)
      if (!bag.empty()) return false;
    return true;
  }
};

/// A byte that is not a character: a compiler must assume that a character may overwrite anything, and would
/// reload everything after each store.
enum class Mark : std::uint8_t { kNo = 0, kYes = 1 };

struct State {
  unsigned channel_bits = 0, output_bits = 0;
  PartArray<Queue> queues;
  PartArray<Port> ports;
  PartArray<PortRest> rests;      // by port
  PartArray<std::uint64_t> sent;  // by port: flits, ever
  PartArray<OutChannel> channels;
  PartArray<QueueNumber> receiving;  // by channel, only with virtual output queues: where its packet goes
  std::vector<Tile> tiles;           // of this process
  std::uint32_t slots = 0;           // a power of two above the longest flight
  // Of one sending thread in a slot: an inbox for each tile, with a link layer one more for each thread, then
  // those for tiles of other ranks. With several threads a multiple of a cache line's marks: two that send in
  // one cycle never write to the same line.
  std::uint32_t thread_inboxes = 0;
  std::uint32_t slot_inboxes = 0;  // of all threads of this process
  LargeArray<Inbox> inboxes;       // [cycle % slots][sending thread][for whom]
  LargeArray<Mark> awake;          // the same: something is there, or the thread itself has something to do
  std::vector<std::uint16_t> flights;  // the flight times there are, in cycles

  PortNumber port_of(QueueNumber q) const { return q >> (channel_bits + output_bits); }
  unsigned channel_of(QueueNumber q) const { return q >> output_bits & ((1u << channel_bits) - 1); }
};

}  // namespace weft::network::flit
