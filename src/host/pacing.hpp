// Processors whose speed changes during a run, because the machine warms up under it.
//
// Virtual time is cut into intervals. A rank that computes across the end of one stops there and asks; before
// the first goes on, all have come that far, so what they did in the interval is known and decides how fast
// they are in the next. Nothing depends on when that happens in real time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/scheduler.hpp"
#include "host/segment.hpp"

namespace weft::host {

/// What decides how fast processors are.
class Pace {
 public:
  virtual ~Pace() = default;
  /// How long the next interval is; asked for again after each.
  virtual Time interval() const = 0;
  /// How many times as long work takes from the start on, by rank.
  virtual void begin(std::span<double> slow) = 0;
  /// Time has come from `from` to `until`, and each rank's processor has worked for a share of it. Sets how
  /// many times as long work takes from now on. What it returns ends the run; nothing: it goes on.
  virtual std::string pass(Time from, Time until, std::span<const double> busy, std::span<double> slow) = 0;
};

class Pacing {
 public:
  /// `slow`: how many times as long work takes beside what the pace says, by rank; ranks without one: once.
  Pacing(Pace& pace, Segments& segments, const Scheduler& scheduler, std::vector<double> slow);

  /// The first thread of a rank goes on after a wait.
  void waited(std::uint32_t rank, Time from, Time until);
  /// Somebody is about to go on at this time. What it returns ends the run; nothing: it goes on.
  std::string come_to(Time at) { return at < next_ ? std::string() : pass_intervals(at); }
  /// How many times as long the work of a rank takes, and until when.
  double slow(std::uint32_t rank) const { return described_[rank] * slow_[rank]; }
  Time next() const { return next_; }
  /// The run ends.
  void finish(Time at);

 private:
  std::string pass_intervals(Time at);
  std::string pass(Time until);
  double busy(std::uint32_t rank, Time until) const;
  void tell_ranks();

  Pace& pace_;
  Segments& segments_;
  const Scheduler& scheduler_;
  std::vector<double> described_, slow_, busy_;
  std::vector<Time> waited_;
  Time from_{0}, next_;
};

}  // namespace weft::host
