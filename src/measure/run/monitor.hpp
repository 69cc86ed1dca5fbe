// The machine's monitors, read while a run goes on: state and counters of every port of every router.
//
// One station reads them over the management network, router after router. The link to the station carries
// all answers, so they bound how often: a round takes at least as long as they do. A reading is of the moment
// at which its request reaches the router, by as many switches as there are on its way, and known to the
// station when the answer is there.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "network/network.hpp"

namespace weft::measure {

class Monitor {
 public:
  struct Reading {
    Time taken;
    topology::PortId port;
    network::Network::PortState state;
  };
  /// A cable is not as it was; from both ends it is one.
  struct Alarm {
    Time since, seen;  // first reading that shows it, and when the station has it
    topology::PortId port;
    std::string what;
  };

  /// A round begins every `period`, or as soon as the last has ended.
  Monitor(const machine::Machine& machine, const network::Network& network, Time period);

  /// Reads the router whose turn it is. Returns when the next is read.
  Time read(Time now);
  Time first() const { return way_[0]; }

  Time period() const { return period_; }
  Time round() const { return round_; }  // the shortest
  std::uint64_t rounds() const { return rounds_; }
  /// Those that differ from the one before of the same port, in order of time; at most kMostReadings.
  const std::vector<Reading>& readings() const { return readings_; }
  bool all_kept() const { return readings_.size() < kMostReadings; }
  const std::vector<Alarm>& alarms() const { return alarms_; }
  std::string csv() const;
  std::string in_words(const Alarm& alarm) const;

  static constexpr std::size_t kMostReadings = 2'000'000;

 private:
  Time answer_time(topology::RouterId router) const;
  void compare(const Reading& before, const Reading& now, Time seen);

  const topology::Graph& graph_;
  const network::Network& network_;
  machine::ManagementParameters management_;
  std::vector<Time> way_;  // of a request, by router
  Time round_{0}, period_;
  Time round_began_{0}, asked_{0}, link_free_{0};  // station: this round, the last request, its link
  topology::RouterId next_ = 0;
  std::uint64_t rounds_ = 0;
  std::vector<network::Network::PortState> last_;  // by port
  std::vector<bool> known_;                        // by port: read before
  std::vector<network::Network::PortState> told_;  // by cable: what the last alarm said of it
  std::vector<Reading> readings_;
  std::vector<Alarm> alarms_;
};

}  // namespace weft::measure
