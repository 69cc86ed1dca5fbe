// Flows that come and go, at max-min fair rates all the time.
//
// Rates are max-min fair exactly when every flow has a bottleneck: a full link on which no flow is faster.
// That can be checked link by link, so a change is worked out where it happens: the flows it touches are
// filled again while all others keep their rates; those that lose their bottleneck by it, or are faster than
// one that is held back beside them, join in, until all have a bottleneck again. What does not change is not
// looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/flow/routes.hpp"
#include "network/network.hpp"

namespace weft::network::flow {

class Fluid {
 public:
  using FlowId = std::uint32_t;

  /// Rates are sums and quotients of doubles: what differs by less is the same.
  static constexpr double kExact = 1e-9;

  /// `capacity` by link, in bytes per picosecond. With a larger `tolerance` a link that is full but for this
  /// share of it counts as full, and rates that differ by this share as equal: ripples that are smaller do
  /// not spread. It holds for the rates at any time, so errors do not add up.
  explicit Fluid(std::vector<double> capacity, double tolerance = kExact);

  /// A flow of so many bytes starts at `now`; its rate is known after the next settle(). One of weight w gets
  /// as much as w flows would: it is kept as one of which every link carries w times as much.
  FlowId start(std::span<const Share> route, std::uint64_t bytes, std::uint64_t name, Time now,
               std::uint32_t weight = 1);

  /// Ends the flows that have moved all their bytes by `now`; their names are appended in the order they
  /// started.
  void end_due(Time now, std::vector<std::uint64_t>& names);

  /// Works out the rates after the starts and ends at `now`. Call it before time moves on.
  void settle(Time now);

  /// When the next flow ends at the rates of now; kForever: none is under way.
  Time next_end() const { return heap_.empty() ? kForever : Time{flows_[heap_.front()].end_ps}; }

  std::uint32_t active() const { return static_cast<std::uint32_t>(heap_.size()); }
  std::uint64_t name(FlowId f) const { return flows_[f].name; }
  double rate(FlowId f) const { return flows_[f].rate * flows_[f].weight; }
  LinkId bottleneck(FlowId f) const { return flows_[f].bottleneck; }
  /// By link: the weights of the flows that use it.
  const std::uint32_t* load() const { return load_.data(); }

  struct Counters {
    std::uint64_t settles = 0, rounds = 0, filled = 0;  // flows filled, over all rounds
  };
  const Counters& counters() const { return counters_; }

  /// Adds up the flows of every link: broken invariants end the program.
  void check_conservation() const;

 private:
  struct Flow {
    double rate = 0, left = 0;  // bytes still to go at `since_ps`; both for a weight of one
    std::int64_t since_ps = 0, end_ps = 0;
    std::uint64_t name = 0, sequence = 0;
    std::uint32_t begin = 0, count = 0;  // its entries
    LinkId bottleneck = topology::kNone;
    std::uint32_t heap_at = topology::kNone;  // kNone: it is not under way
    std::uint32_t mark = 0;                   // the settling it takes part in
    std::uint32_t weight = 1;
  };
  struct Entry {  // a flow on a link; the entries of a link are a list
    LinkId link;
    FlowId flow;
    std::uint32_t weight, next, previous;
  };
  struct LocalLink {
    LinkId link;
    std::uint32_t weight;  // of flows still growing
    double left;
    double level;    // the rate of those it holds back, or -1
    double fastest;  // of those that joined
  };
  struct Share64 {
    double share;
    std::uint32_t local;
  };

  std::uint32_t take_block(std::uint32_t count);
  void join(FlowId f);
  void take(const Flow& flow, double sign);
  void fill();
  bool extend();
  void sift_up(std::uint32_t at);
  void sift_down(std::uint32_t at);
  bool sooner(FlowId a, FlowId b) const {
    const Flow &x = flows_[a], &y = flows_[b];
    return x.end_ps != y.end_ps ? x.end_ps < y.end_ps : x.sequence < y.sequence;
  }
  void place(std::uint32_t at, FlowId f) {
    heap_[at] = f;
    flows_[f].heap_at = at;
  }

  double tolerance_;
  std::vector<double> capacity_;
  std::vector<double> used_;                // by link: what its flows take of it; without those that joined
  std::vector<double> held_rate_;           // by link: the rate of those it holds back
  std::vector<std::uint32_t> held_;         // by link: how many it holds back, without those that joined
  std::vector<std::uint32_t> head_, load_;  // by link
  std::vector<std::uint32_t> stamp_, local_of_;  // by link: is it in `local_` now, and where
  std::vector<char> dirty_;                      // by link: a flow on it has ended since the last settle()
  std::vector<LinkId> dirty_links_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_flows_;
  std::vector<Entry> entries_;
  std::vector<std::vector<std::uint32_t>> free_blocks_;  // by size
  std::vector<FlowId> heap_;                             // flows under way, the next to end first

  std::vector<FlowId> seeds_, joined_;
  std::vector<double> old_rate_;  // of those that joined
  std::vector<LocalLink> local_;
  std::vector<Share64> shares_;
  std::uint32_t epoch_ = 0, mark_ = 0;
  std::uint64_t sequence_ = 0;
  Counters counters_;
};

}  // namespace weft::network::flow
