// The flit engine: every router, channel, buffer and credit, cycle by cycle.
//
// In a cycle every router looks at its own state and at what arrives on its links in this cycle, and sends
// what arrives elsewhere in later cycles. Whatever a router reads in a cycle was written in an earlier one,
// so the order in which routers are visited, and the threads that visit them, cannot matter.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "network/cycle_engine.hpp"
#include "network/flit/guard.hpp"
#include "network/flit/header_queues.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/settings.hpp"
#include "network/flit/state.hpp"
#include "network/flit/thread_team.hpp"
#include "routing/grid_route.hpp"
#include "routing/routing.hpp"

namespace weft::network::flit {

/// An endpoint's sending side: packets queued and the one being sent. What it knows of its router's buffers
/// is in the output side of its port.
struct Sender {
  PacketId first = kNoPacket, last = kNoPacket;  // queue
  PacketId current = kNoPacket;
  std::uint16_t left = 0;  // flits of the current packet
  std::uint8_t channel = 0, next_channel = 0;
  bool listed = false;       // among the senders of its tile
  std::uint32_t queued = 0;  // packets in the queue, counted where it has a limit
};

using Counters = CycleCounters;

using routing::GridRoute;

/// What routing needs to know of a port.
struct PortInfo {
  PortNumber first;  // port of its router
  std::uint32_t router;
};

/// The same of a port on a grid, and of an endpoint there.
struct GridPort {
  GridRoute::Place place;
  PortNumber first;
  GridRoute::Rows rows;
};
static_assert(sizeof(GridPort) == 16);
struct GridEndpoint {
  GridRoute::Place place;
  PortNumber port : 31;
  std::uint32_t parity : 1;
};
static_assert(sizeof(GridEndpoint) == 8);

/// The ports inside routers, numbered after those of the graph. Such a port stands for both ends of its
/// wires: what its output side sends, its own input side receives.
struct InnerFabric {
  std::vector<PortNumber> begin;             // by router, and the end
  std::vector<std::uint32_t> outer;          // by router: its first port in the graph
  std::vector<std::uint32_t> ports;          // by router: its ports in the graph
  std::vector<std::uint32_t> layout;         // by router: which of the layouts
  std::vector<std::uint32_t> router;         // by inner port
  std::vector<machine::InnerPorts> layouts;  // one for each number of ports a router has

  const machine::InnerPorts& layout_of(std::uint32_t r) const { return layouts[layout[r]]; }
  PortNumber first(std::uint32_t r, unsigned input, unsigned output) const {
    return begin[r] + layout_of(r).first[input * ports[r] + output];
  }
  /// Where a flit goes that stands behind inner port `in` and leaves the router by port `out`.
  PortNumber next(std::uint32_t r, PortNumber in, PortNumber out) const {
    std::uint16_t inner = layout_of(r).next[(in - begin[r]) * ports[r] + (out - outer[r])];
    return inner == machine::InnerPorts::kOut ? out : begin[r] + inner;
  }
};

class Engine {
 public:
  /// `guard`: of the cables that can fail, for this engine alone; it must outlive the engine.
  Engine(const topology::Graph& graph, const routing::Routing& routing, Settings settings,
         Guard* guard = nullptr);
  ~Engine();

  /// Runs until `until`. `observers` has one for each thread. Returns early, before `until`, only when
  /// nothing will ever happen again, when nothing has moved for `patience` cycles while packets wait, or
  /// where somebody called stop_by().
  void run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience = 100'000);

  /// Asks an endpoint's traffic for a packet at `when`, beside the times the traffic itself names. Between
  /// runs only.
  void ask(EndpointId source, Cycle when);
  /// From an observer: ends the run before `cycle`, or with the cycles under way where those go further.
  void stop_by(Cycle cycle) {
    Cycle before = stop_by_.load(std::memory_order_relaxed);
    while (cycle < before && !stop_by_.compare_exchange_weak(before, cycle, std::memory_order_relaxed)) {
    }
  }
  /// At most so many cycles are under way at a time: those whom observers tell have an answer only for the
  /// cycles after them. Between runs only.
  void limit_window(unsigned cycles) { window_ = std::min(longest_window_, std::max(1u, cycles)); }

  Cycle now() const { return now_; }
  /// Nothing moves any more while packets wait, or a packet is older than the limit.
  bool stalled() const { return stalled_; }
  /// Who waits for whom when nothing moves: a circle of queues where there is one, else the oldest packet and
  /// what it waits for in turn.
  std::vector<Waiting> explain_stall() const;
  /// The packet that has been under way longest, with its place; nothing where the network is empty.
  std::optional<Waiting> oldest_packet() const;
  Counters counters() const;
  /// Flits sent by a port so far.
  std::uint64_t sent(topology::PortId p) const { return state_.sent[p]; }
  /// Flits standing in the input queues of a port now.
  std::uint32_t standing(topology::PortId p) const;
  const Settings& settings() const { return settings_; }
  /// Of the network's state, without its packets.
  std::uint64_t bytes() const;
  /// Checks that flits and credits add up; throws Defect where they do not.
  void check_conservation() const;

 private:
  struct Links;
  struct Worker;
  friend class Guard;
  template <class Route, bool CutThrough, bool Voq>
  friend class Kernel;
  friend class Inspector;
  friend struct Worker;

  void size_arrays();
  void connect_ports();
  void share_remainders();
  void set_paces();
  void place_ports();
  void rank_local_ports();
  bool older_than(Cycle age) const;
  std::uint32_t number_inner_ports();
  void connect_inner_ports();
  void share_out();
  std::uint16_t flight_number(unsigned cycles);
  template <class Route, bool CutThrough, bool Voq>
  void run_threads(const Route& route, Traffic& traffic, const std::vector<Observer*>& observers, Cycle until,
                   Cycle patience);
  void move_on(Cycle until, Cycle patience) noexcept;
  Cycle next_work(Cycle until) const;
  bool nobody_will_act() const;
  std::uint64_t flits_in_network() const;
  void share_channels();

  // Links that fail (engine_faults.cpp); all but the first between two cycles.
  void guard_ports();
  void follow_links(bool moved, Cycle until, Cycle patience) noexcept;
  void hold(bool holding) { holding_ = holding; }
  /// A router that is dead delivers nothing.
  void freeze(topology::RouterId router, bool frozen);
  bool nobody_is_sending() const;
  /// Empties the network: every packet that has not arrived waits at its source again. How many left it.
  std::uint64_t take_back();
  void empty_network();
  /// Other routes, from the next cycle on; the network is empty.
  void use(const routing::Routing& routing);
  /// Packets for which there is no way are lost; their sources are told. How many.
  std::uint64_t give_up_cut_off();
  std::vector<PacketId> waiting_packets() const;
  /// The next packet in a source's queue.
  PacketId behind(PacketId id) const { return static_cast<PacketId>(packets_.behind(id)); }
  /// The first of the inboxes of a tile for what arrives in a cycle.
  std::size_t inbox_index(Cycle cycle, std::uint32_t tile) const {
    return (cycle & (state_.slots - 1)) * state_.slot_inboxes + tile * settings_.threads;
  }

  const topology::Graph& graph_;
  const routing::Routing* routing_;
  Settings settings_;
  State state_;
  InnerFabric inner_;
  std::optional<GridRoute> grid_route_;  // where it can stand for the routing
  std::vector<PortInfo> port_info_;
  LargeArray<GridPort> grid_ports_;
  std::vector<GridEndpoint> grid_endpoints_;
  LargeArray<Sender> senders_;                  // by endpoint
  std::vector<std::uint32_t> endpoint_router_;  // by endpoint
  std::vector<PortNumber> endpoint_port_;       // by endpoint
  std::vector<std::uint32_t> router_tile_;      // by router
  std::vector<std::uint32_t> endpoint_tile_;    // by endpoint
  std::vector<std::uint32_t> link_inbox_;      // by end of a guarded cable: the first of its thread's inboxes
  std::vector<std::uint32_t> class_channels_;  // by routing class: bit mask of channels
  std::vector<std::uint8_t> channel_class_;    // by channel: routing class
  std::vector<Remainder> port_remainder_;      // by port: of a hop over its cable, where cables differ
  Remainder hop_remainder_ = 0;                // where they do not
  std::vector<Pace> paces_;                    // by port, where sources choose between ways; else empty
  std::uint16_t endpoint_flight_ = 0;          // of a flit from its source to the router
  PacketStore packets_;
  HeaderQueues header_queues_;  // by the channels of all ports
  std::mutex packets_guard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<ThreadTeam> team_;  // where there are several
  Cycle now_ = 0, run_end_ = 0;       // the cycles under way
  unsigned longest_window_ = 1;       // cycles a tile can run without hearing of others
  unsigned window_ = 1;               // cycles it does
  std::uint64_t moved_ = 0;           // flits moved when last something moved,
  Cycle moved_at_ = 0;                // and when that was
  Cycle next_age_check_ = 0;
  bool stalled_ = false, stop_ = false;
  bool aged_ = false;  // stalled for a packet's age
  std::atomic<Cycle> stop_by_ = kNever;
  bool started_ = false;
  Guard* guard_;
  bool holding_ = false;                               // endpoints start no packet
  bool rerouted_ = false;                              // kernels must be made anew
  const std::vector<Observer*>* observers_ = nullptr;  // of the run under way
  std::exception_ptr failure_;                         // of what happens between cycles
};

}  // namespace weft::network::flit
