// Hours of a machine's life in seconds: plant, instruments, controller and watchdog in one virtual time, with
// what a script does to them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "power/bmc/controller.hpp"
#include "power/operate/script.hpp"

namespace weft::power::operate {

struct OperationOptions {
  Time duration{3'600'000'000'000'000};
  double load = 1;
  std::vector<Event> events;
  double tolerance = 1e-6;  // of the solver; 1e-4 is too coarse: too much air is let out at warm-up
  unsigned samples = 600;   // at most so many, evenly
  // Nothing happens until then: a controller that is up looks once a minute, and its watchdog waits. Looking
  // takes most of the time of an hour in which nothing happens.
  Time calm_until{0};
};

/// A moment of the run, for plots and tables.
struct Sample {
  double seconds = 0;
  std::array<double, kRoles> role_watts{};
  double conversion_watts = 0, pump_watts = 0, facility_watts = 0;
  double hottest_c = 0, liquid_c = 0, vapour_c = 0, inlet_c = 0, outlet_c = 0;
  double overpressure_mbar = 0, level = 0, coolant_litres = 0, vapour_share = 0, flow_lpm = 0;
  double speed = 1;  // of the slowest zone that has power
};

struct OperationResult {
  double seconds = 0;
  thermal::Accounts energy;
  double balance_error = 0;
  double pue = 0;
  bool shutdown = false;
  double shutdown_seconds = 0;
  std::string shutdown_cause;
  double hottest_c = 0, hottest_seconds = 0;
  std::string hottest_part;
  double chip_limit_c = 0;                        // of that part
  double least_speed = 1, throttled_seconds = 0;  // when chips first slowed down
  double highest_flux = 0, critical_flux = 0;     // at the end of the run
  double highest_overpressure_mbar = 0, least_level = 1;
  double coolant_lost_litres = 0;
  bool over_limit = false;  // some chip passed its own limit
  std::vector<Sample> samples;
  std::vector<bmc::LogEntry> log;
  std::vector<bmc::Sensor> sensors;  // as last read
  long solver_steps = 0;
};

class Operation {
 public:
  Operation(const Body& body, OperationOptions options);

  /// What a script for this machine may name.
  static Names names(const Body& body);

  /// To the end.
  OperationResult run();
  /// To a time; for those who want to look in between.
  void advance(Time until);
  OperationResult result() const;
  /// Goes on from another operation of the machine in which all supplies were taken as one bank, and nothing
  /// happened: a plant of one zone is followed many times faster. This one must not have begun.
  void continue_from(const Operation& alike);

  Time now() const { return now_; }
  thermal::Plant& plant() { return plant_; }
  bmc::Controller& controller() { return controller_; }
  const std::vector<bmc::LogEntry>& log() const { return log_; }
  void power(bool on);
  /// The chips of a node's part are held in reset, or released; no part: all of the node's.
  void hold_reset(unsigned node, const std::string& part, bool held);
  /// Has a node power, and are its chips out of reset?
  bool node_computes(unsigned node) const;
  void set_load(double load);
  /// A job has a share of a zone's nodes, and loads them so; the others have the load of the machine.
  void set_job(std::size_t zone, double share, double load);

 private:
  struct Job {
    double share = 0, load = 0;
  };
  struct SupplyState {
    bool failed = false, good = false, tripped = false;
    bool waiting = false;
    Time good_at{0};
  };

  Time next_time(Time until) const;
  bool calm() const {
    return now_ < options_.calm_until && controller_.state() == bmc::Controller::State::On;
  }
  void apply(const Event& event);
  /// Follows pins and mains: which supplies deliver, which zones run.
  void switch_power();
  void watch();
  void take_sample();
  void look();
  void note(bmc::LogEntry::Severity severity, const std::string& source, const std::string& text);

  const Body& body_;
  OperationOptions options_;
  thermal::Plant plant_;
  bmc::Instruments instruments_;
  bmc::Controller controller_;
  thermal::PlantReadings readings_;
  std::vector<SupplyState> supplies_;
  std::array<bool, 4> phase_lost_{};
  double load_, coolant_at_start_kg_ = 0;
  std::vector<Job> jobs_;  // by zone
  std::size_t next_event_ = 0;
  Time now_{0}, next_run_{0}, next_sample_{0}, last_kick_{0};
  unsigned kicks_ = 0;
  bool hung_ = false, watchdog_enabled_ = true, watchdog_cut_ = false;
  std::vector<bmc::LogEntry> log_;
  OperationResult out_;
};

}  // namespace weft::power::operate
