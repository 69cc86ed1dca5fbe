// A job and the heat it makes: what its ranks compute warms their chips, and chips that are too warm compute
// more slowly.
//
// The machine has been in operation before the job starts, and goes on meanwhile, with its controller and
// what a script does to it. Every node of the job has chips of its own in the machine's coolant.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/pacing.hpp"
#include "power/operate/operation.hpp"

namespace weft::measure {

/// How the machine is when the job starts, and what happens to it.
struct HeatOptions {
  Time before{3'600'000'000'000'000};  // in operation
  double load = 1;                     // of all nodes before, and of those without the job meanwhile
  std::vector<power::operate::Event> events;
  Time interval{100'000'000'000};
};

/// What became of it.
struct RunHeat {
  struct Moment {
    double seconds = 0;  // until then
    double hottest_c = 0, least_speed = 1;
    double mean_speed = 1;  // of the job's nodes, weighted by their work
  };
  double before_seconds = 0, before_load = 1;
  double start_c = 0, hottest_c = 0, hottest_seconds = 0, limit_c = 0;  // of the job's chips that compute
  double least_speed = 1;
  double throttled_from = -1, throttled_until = -1;  // seconds of the run; -1: never
  unsigned throttled_nodes = 0;
  double mean_speed = 1;                      // of all work
  double work_seconds = 0, lost_seconds = 0;  // of all ranks: computing, and what of it was too slow
  double most_lost_seconds = 0;
  std::uint32_t most_lost_rank = 0;
  std::vector<Moment> moments;            // a thousand at most
  std::vector<power::bmc::LogEntry> log;  // of the run alone, with its times
  bool throttled() const { return throttled_from >= 0; }
};

class JobHeat final : public host::Pace {
 public:
  /// `nodes`: of each rank. Throws UserError where a node does not run at the start.
  JobHeat(const power::Body& body, const HeatOptions& options, std::vector<unsigned> nodes);

  Time interval() const override { return interval_; }
  void begin(std::span<double> slow) override;
  std::string pass(Time from, Time until, std::span<const double> busy, std::span<double> slow) override;

  RunHeat result() const;

 private:
  struct JobNode {
    unsigned node = 0;
    std::size_t zone = 0;
    unsigned ranks = 0;
    double busy = 0, speed = 1;
    bool throttled = false;
    std::vector<power::thermal::Chip> chips;  // of the parts that compute
  };

  void add_nodes();
  void load_nodes(std::span<const double> busy);
  void account(double from, double until, std::span<const double> busy);
  void warm(double seconds);
  void look(double now);
  void choose_interval();
  std::string stopped() const;

  const power::Body& body_;
  HeatOptions options_;
  std::vector<unsigned> nodes_of_ranks_;  // as given
  std::vector<std::size_t> place_;        // of a rank among nodes_
  std::vector<std::size_t> parts_;        // those that compute
  std::vector<JobNode> nodes_;
  std::unique_ptr<power::operate::Operation> operation_;
  std::size_t log_at_start_ = 0;
  bool eventful_ = false;  // a script does something during the run
  Time interval_;
  std::vector<double> lost_;  // by rank
  double done_seconds_ = 0;
  unsigned merged_ = 1;  // intervals in a moment
  unsigned in_last_ = 0;
  RunHeat out_;
};

}  // namespace weft::measure
