// The flit engine: every router, channel, buffer and credit, cycle by cycle.
//
// In a cycle every router looks at its own state and at what arrives on its links in this cycle, and sends
// what arrives elsewhere in later cycles. Whatever a router reads in a cycle was written in an earlier one,
// so the order in which routers are visited, and the threads that visit them, cannot matter.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "network/cycle_engine.hpp"
#include "network/flit/exchange.hpp"
#include "network/flit/fabric.hpp"
#include "network/flit/inspector.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/pipeline.hpp"
#include "network/flit/recovery.hpp"
#include "network/flit/routes.hpp"
#include "network/flit/settings.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/thread_team.hpp"
#include "network/flit/worker.hpp"
#include "routing/routing.hpp"

namespace weft::network::flit {

using Counters = CycleCounters;

class Engine {
 public:
  /// `links`: the link layer of the cables that can fail, for this engine alone; it must outlive the engine.
  Engine(const topology::Graph& graph, const routing::Routing& routing, Settings settings,
         LinkLayer* links = nullptr);
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
  void limit_window(unsigned cycles) { window_ = std::min(fabric_.longest_window, std::max(1u, cycles)); }

  /// Where there are several ranks, all of whom have one.
  void take_along(Companion& companion) { exchange_->take_along(companion); }

  /// A packet's departure is told when its first flit leaves: with cut-through the others follow, one in each
  /// cycle, unless links fail and it is taken back.
  bool tells_ahead() const { return tells_departures_ahead(fabric_.settings, links_ != nullptr); }
  /// The least number of cycles from what a tile does to the delivery it tells of.
  unsigned delivery_lead() const { return fabric_.delivery_lead; }

  /// Sets of endpoints that packets can be for, where routers copy. Between runs only.
  GroupNumber group(std::span<const EndpointId> members) { return routes_.groups.number(members); }
  const std::vector<EndpointId>& members(GroupNumber group) const { return routes_.groups.members(group); }
  /// A packet for a group is going to be sent by this source.
  void plant_tree(GroupNumber group, EndpointId source) {
    routes_.trees->plant(group, members(group), source);
  }

  /// Where routers combine. Between runs only.
  ReductionNumber reserve_reduction(std::span<const EndpointId> members, unsigned rounds) {
    const ReductionNumber number = routes_.reductions->reserve(*routes_.trees, members, rounds);
    fabric_.multicast.meetings.resize(routes_.reductions->meetings());
    return number;
  }
  Reductions& reductions() { return *routes_.reductions; }
  const Reductions& reductions() const { return *routes_.reductions; }
  std::deque<ReductionRound>& reduction_rounds() { return fabric_.multicast.rounds; }

  Cycle now() const { return now_; }
  /// Nothing moves any more while packets wait, or a packet is older than the limit.
  bool stalled() const { return stalled_; }
  /// Who waits for whom when nothing moves: a cycle of queues where there is one, else the oldest packet and
  /// what it waits for in turn.
  std::vector<Waiting> explain_stall() const;
  /// The packet that has been under way longest, with its place; nothing where the network is empty.
  std::optional<Waiting> oldest_packet() const { return look().oldest_packet(); }
  /// Of this rank's routers, as are sent() and occupancy().
  Counters counters() const;
  /// Flits sent by a port so far.
  std::uint64_t sent(topology::PortId p) const { return fabric_.state.sent[p]; }
  /// Of one class of traffic, where there are several.
  std::uint64_t sent(topology::PortId p, unsigned traffic_class) const {
    return fabric_.classes.turns(p, traffic_class).sent;
  }
  /// Flits in the input queues of a port now.
  std::uint32_t occupancy(topology::PortId p) const { return fabric_.occupancy(p); }
  const Settings& settings() const { return fabric_.settings; }
  /// Of this process.
  unsigned threads() const { return static_cast<unsigned>(workers_.size()); }
  /// Of the network's state, without its packets.
  std::uint64_t bytes() const;
  /// Checks that flits and credits add up; throws Defect where they do not.
  void check_conservation() const;

 private:
  void run_threads(Cycle until, Cycle patience);
  void move_on(Cycle until, Cycle patience) noexcept;
  Outlook outlook(Cycle until);
  Outlook agree(Cycle until);
  void follow_links(Outlook ahead, bool moved, Cycle until, Cycle patience) noexcept;
  Cycle next_work(Cycle until) const;
  std::optional<Cycle> first_marked(Cycle from, Cycle before) const;
  bool nobody_will_act() const;
  std::uint64_t flits_in_network() const;
  Inspector look() const { return {fabric_, routes_, sources_}; }

  Fabric fabric_;
  Routes routes_;
  Sources sources_;
  std::vector<std::unique_ptr<Worker>> workers_;      // by thread
  std::vector<std::unique_ptr<Pipeline>> pipelines_;  // by thread
  std::unique_ptr<Exchange> exchange_;                // where there are several ranks
  Recovery recovery_;
  LinkLayer* links_;
  std::unique_ptr<ThreadTeam> team_;  // where there are several threads
  Cycle now_ = 0, run_end_ = 0;       // the cycles under way
  unsigned window_ = 1;               // cycles a tile runs before it looks at what others sent it
  std::uint64_t moved_ = 0;           // flits moved when last something moved,
  Cycle moved_at_ = 0;                // and when that was
  Cycle next_age_check_ = 0;
  bool stalled_ = false, stop_ = false;
  bool aged_ = false;  // stalled for a packet's age
  std::atomic<Cycle> stop_by_ = kNever;
  bool started_ = false;
  std::exception_ptr failure_;  // of what happens between cycles
};

}  // namespace weft::network::flit
