// The state of one router as a block of bytes in one flat array: masks first, then ports, then queues, in the
// order a visit touches them. Blocks hold numbers, never pointers, so they can be split over threads, ranks
// or a GPU.
//
// An input queue is named by bit = port * stride + channel, where stride is the channel count rounded up to a
// power of two; masks over all input queues of a router are `words` 64-bit words.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "network/flit/packets.hpp"
#include "topology/graph.hpp"

namespace weft::network::flit {

/// One input queue: packets in order, the first of which is being sent on.
struct InputQueue {
  std::uint32_t channels;  // output channels its head may take, one bit each
  std::uint16_t left;      // flits of the first packet still to send
  std::uint16_t flits;     // here now
  std::uint16_t out_port;
  std::uint16_t out_channel;
  std::uint8_t first;    // place of the first packet in the ring
  std::uint8_t packets;  // in the ring
  std::uint16_t accept;  // round-robin place among channels granted
};
static_assert(sizeof(InputQueue) == 16);

/// One port, both directions: a cache line.
struct alignas(64) Port {
  std::uint32_t peer;  // receiving port at the other end; kNone: an endpoint or nothing
  std::uint32_t peer_router;
  std::uint32_t endpoint;       // kNone: a cable or nothing
  std::uint32_t free_channels;  // output channels no packet holds
  std::uint64_t sent;           // flits, ever
  std::uint64_t wake_bit;       // the peer's router among its owner's, and the word it is in;
  std::uint32_t wake_word;      // kNone: another thread owns it
  std::uint32_t next_send;      // output may send again from here on, in 1/256 cycles (low bits)
  std::uint16_t interval;       // 1/256 cycles from flit to flit; 256: one each cycle
  std::uint16_t flight;         // cycles from winning the switch to arrival at the other end
  std::uint16_t shared_used;    // of the peer's shared buffer
  std::uint16_t grant;          // who had the last turn: input port for this output,
  std::uint16_t accept;         // output port for this input,
  std::uint16_t channel;        // channel of this input
};
static_assert(sizeof(Port) == 64);

struct Header {
  std::uint32_t router;
  std::uint32_t port_begin;  // global number of port 0
  std::uint16_t ports;
  std::uint16_t first_endpoint_port;
  std::uint16_t endpoint_ports;
  std::uint16_t senders;  // endpoints with something to send
};
static_assert(sizeof(Header) == 16);

class Layout {
 public:
  Layout(const topology::Graph& graph, unsigned channels, unsigned ring);

  unsigned stride() const { return stride_; }
  unsigned words() const { return words_; }
  unsigned ring() const { return ring_; }
  std::uint64_t total() const { return total_; }
  std::uint64_t block(std::uint32_t router) const { return block_[router]; }
  std::uint64_t largest() const { return largest_; }
  /// Cache lines of the largest block before its rings.
  unsigned hot_lines() const { return hot_lines_; }

  static unsigned words_for(const topology::Graph& graph, unsigned channels);

 private:
  unsigned stride_, words_, ring_, hot_lines_ = 0;
  std::uint64_t total_ = 0, largest_ = 0;
  std::vector<std::uint64_t> block_;
};

/// Which input queues of a router are in which state.
template <int W>
struct Masks {
  std::uint64_t waiting[W];  // its head wants an output channel
  std::uint64_t soon[W];     // ... will want one in the next cycle
  std::uint64_t later[W];    // ... in the cycle after that
  std::uint64_t active[W];   // its head has one
  std::uint64_t filled[W];   // a flit is here
};

/// Header and masks, up to the next cache line.
constexpr std::uint64_t head_bytes(unsigned words) { return (sizeof(Header) + 5 * words * 8 + 63) / 64 * 64; }

/// Typed access to a block. Offsets depend only on the router's port count.
template <int W>
struct View {
  Header* header;
  Masks<W>* masks;
  Port* port;
  InputQueue* queue;  // [port * stride + channel]
  std::uint16_t*
      used;  // [port * stride + channel]: flits sent to the peer's queue and not yet gone from there
  std::uint16_t* grant;  // [port * stride + channel]: input queue that had this output channel last
  std::uint64_t* ring;   // [(port * stride + channel) * ring size]

  View(std::uint8_t* block, unsigned stride) {
    header = reinterpret_cast<Header*>(block);
    masks = reinterpret_cast<Masks<W>*>(block + sizeof(Header));
    std::size_t queues = std::size_t{header->ports} * stride;
    port = reinterpret_cast<Port*>(block + head_bytes(W));
    queue = reinterpret_cast<InputQueue*>(port + header->ports);
    used = reinterpret_cast<std::uint16_t*>(queue + queues);
    grant = used + queues;
    auto end = reinterpret_cast<std::uintptr_t>(grant + queues);
    ring = reinterpret_cast<std::uint64_t*>((end + 7) & ~std::uintptr_t{7});
  }

  static bool has(const std::uint64_t (&mask)[W], unsigned bit) { return mask[bit / 64] >> (bit % 64) & 1; }
};

}  // namespace weft::network::flit
