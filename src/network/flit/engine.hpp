// The flit engine: every router, channel, buffer and credit, cycle by cycle.
//
// A cycle has two phases. First every router looks at its own block and at what arrives on its links in this
// cycle, and writes what it sends into link slots of later cycles; then the clock moves. Whatever a router
// reads in a cycle was written in an earlier one, so the order in which routers are visited, and the threads
// that visit them, cannot matter.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "network/flit/layout.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/settings.hpp"
#include "routing/routing.hpp"

namespace weft::network::flit {

struct alignas(64) CacheLine {
  std::uint64_t words[8];
};

/// What arrives at a port in a cycle, in a byte; 0 is nothing. Types of their own and not plain bytes,
/// because a compiler must assume that a plain byte may overwrite anything and would reload everything after
/// each store.
enum class FlitByte : std::uint8_t { kNothing = 0, kChannel = 0x3f, kHead = 0x40, kFlit = 0x80 };
enum class CreditByte : std::uint8_t { kNothing = 0 };  // channel + 1

/// Flits and credits under way, by cycle of arrival: a slot holds, for every port, what arrives there in one
/// cycle.
struct Links {
  std::uint32_t slots = 0, mask = 0;  // a power of two above the longest flight
  std::uint64_t ports = 0;            // in a slot, padded so that eight can be read at once
  std::vector<FlitByte> flit;
  std::vector<CreditByte> credit;
  std::vector<std::uint64_t> entry;  // of heads
};

/// An endpoint's sending side: packets queued, the one being sent, and what it knows of its router's input
/// queues.
struct Sender {
  PacketId first = kNoPacket, last = kNoPacket;  // queue
  PacketId current = kNoPacket;
  std::uint16_t left = 0;  // flits of the current packet
  std::uint16_t shared_used = 0;
  std::uint8_t channel = 0, next_channel = 0;
};

struct Counters {
  std::uint64_t flit_hops = 0;  // flits that crossed a cable between routers
  std::uint64_t flits_injected = 0, flits_delivered = 0;
  std::uint64_t packets_created = 0, packets_delivered = 0;
  std::uint64_t visits = 0;  // of routers
};

/// The first packet of an input queue, and what it waits for.
struct Waiting {
  topology::PortId port;  // the queue's port and
  unsigned channel;       // channel
  EndpointId source, destination;
  Cycle created;
  std::string reason;  // in words
};

class Engine {
 public:
  Engine(const topology::Graph& graph, const routing::Routing& routing, Settings settings);
  ~Engine();

  /// Runs until `until`. `observers` has one for each thread. Returns early, before `until`, only when
  /// nothing will ever happen again or nothing has moved for `patience` cycles while packets wait.
  void run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience = 100'000);

  Cycle now() const { return now_; }
  bool stalled() const { return stalled_; }
  /// Who waits for whom when nothing moves: a circle of queues where there is one, else the oldest packet and
  /// what it waits for in turn.
  std::vector<Waiting> explain_stall() const;
  /// The packet that has been under way longest, with its place; nothing where the network is empty.
  std::optional<Waiting> oldest_packet() const;
  Counters counters() const;
  /// Flits sent by a port so far.
  std::uint64_t sent(topology::PortId p) const;
  /// Flits standing in the input queues of a port now.
  std::uint32_t standing(topology::PortId p) const;
  std::uint64_t packets_in_network() const;
  const Settings& settings() const { return settings_; }
  std::uint64_t bytes() const;
  std::uint64_t bytes_per_router() const { return layout_.largest(); }
  /// Checks that flits and credits add up; throws Defect where they do not.
  void check_conservation() const;

 private:
  struct Worker;
  template <int W, class Route>
  friend class Kernel;
  friend struct Worker;

  std::uint8_t* block(topology::RouterId r) const {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(arena_.data())) + layout_.block(r);
  }
  template <int W>
  View<W> view(topology::RouterId r) const {
    return View<W>(block(r), layout_.stride());
  }
  template <int W>
  void fill_blocks();
  template <int W>
  void run_kernel(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience);
  template <int W, class Route>
  void run_threads(const Route& route, Traffic& traffic, const std::vector<Observer*>& observers, Cycle until,
                   Cycle patience);
  template <class Use>
  decltype(auto) with_width(Use use) const;

  /// An input queue anywhere in the network, for the slow paths that explain and check.
  struct Place {
    topology::PortId port;
    unsigned channel;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  template <int W>
  const InputQueue& queue_at(Place place) const;
  template <int W>
  Waiting describe(Place place, std::vector<Place>& waits_for) const;
  std::vector<Place> occupied() const;

  const topology::Graph& graph_;
  const routing::Routing& routing_;
  Settings settings_;
  Layout layout_;
  std::vector<CacheLine> arena_;  // all blocks
  Links links_;
  std::vector<Sender> senders_;                 // by endpoint
  std::vector<std::uint16_t> sender_used_;      // [endpoint * stride + channel]
  std::vector<std::uint32_t> endpoint_router_;  // by endpoint
  std::vector<std::uint32_t> class_channels_;   // by routing class: bit mask of channels
  std::vector<std::uint8_t> channel_class_;     // by channel: routing class
  PacketStore packets_;
  std::mutex packets_guard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Cycle now_ = 0;
  std::uint64_t moved_ = 0;  // flits moved when last something moved,
  Cycle moved_at_ = 0;       // and when that was
  bool stalled_ = false;
  bool started_ = false;
};

/// Calls use<W>() with the width of this network's masks.
template <class Use>
decltype(auto) Engine::with_width(Use use) const {
  switch (layout_.words()) {
    case 1:
      return use.template operator()<1>();
    case 2:
      return use.template operator()<2>();
    case 4:
      return use.template operator()<4>();
    case 8:
      return use.template operator()<8>();
    case 16:
      return use.template operator()<16>();
  }
  throw Defect("routers have at most 1024 input queues");
}

}  // namespace weft::network::flit
