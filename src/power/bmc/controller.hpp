// The board management controller: a program that knows the machine by its I2C bus alone.
//
// It powers the machine up in order, reads all sensors again and again, writes down what happens, and shuts
// the machine down when a value is critical. It tells a watchdog that it lives; when it does not, the
// watchdog cuts the power.
#pragma once

#include <string>
#include <vector>

#include "power/bmc/instruments.hpp"

namespace weft::power::bmc {

struct LogEntry {
  enum class Severity : std::uint8_t { Information, Warning, Critical };
  Time at;
  Severity severity = Severity::Information;
  std::string source;  // a sensor, or who did something
  std::string text;
};
const char* severity_name(LogEntry::Severity severity);

/// A sensor as the controller reads it.
struct Sensor {
  std::string name, unit;
  double value = 0;
  double critical_low = -1e30, critical_high = 1e30;
  bool critical() const { return value < critical_low || value > critical_high; }
};

class Controller {
 public:
  enum class State : std::uint8_t { Off, PoweringUp, On, ShutDown };

  Controller(I2cBus& bus, const Wiring& wiring, const ControllerParameters& parameters,
             double lowest_limit_c);

  /// Does what is due, and says when it wants to run again.
  Time run(Time now, std::vector<LogEntry>& log);
  void power_on(Time now, std::vector<LogEntry>& log);
  void power_off(Time now, std::vector<LogEntry>& log, const std::string& why);
  /// Holds one device of a node in reset, or lets it go; it stays so over power-up.
  void hold_device(unsigned zone, unsigned node, unsigned device, bool held);

  State state() const { return state_; }
  bool shut_down() const { return state_ == State::ShutDown; }
  const std::string& cause() const { return cause_; }
  const std::vector<Sensor>& sensors() const { return sensors_; }
  std::uint64_t reads() const { return reads_; }

 private:
  struct Register {
    std::uint8_t at;
    unsigned bytes;
  };
  void select_board();
  void select_zone(unsigned zone);
  double read_value(std::uint8_t address, Register where, double steps);
  bool power_good(unsigned supply);
  void drive_supplies();
  void drive_resets(unsigned zone);
  void hold_zone(unsigned zone);
  void release_in_order(Time now);
  bool comes_up(unsigned zone) const;
  void read_sensors();
  void put(const std::string& name, const std::string& unit, double value, double low, double high);
  void read_board();
  void read_zones();
  void power_up(Time now, std::vector<LogEntry>& log);
  void watch_supplies(Time now, std::vector<LogEntry>& log);
  void shut_down_for(const Sensor& sensor, Time now, std::vector<LogEntry>& log);
  bool zone_has_power(unsigned zone) const;

  I2cBus& bus_;
  Wiring wiring_;
  ControllerParameters parameters_;
  double chip_limit_c_;
  State state_ = State::Off;
  std::string cause_;
  std::vector<Sensor> sensors_;
  /// How far the devices of a zone are: those of earlier stages are released.
  struct ZoneResets {
    unsigned stage = 0;
    Time next{0};            // when its next stage may be released, once power is good
    std::vector<bool> held;  // line by line: by somebody's order
  };
  std::vector<ZoneResets> resets_;
  std::vector<bool> enabled_, good_;
  std::vector<Time> good_since_;
  Time next_poll_{0}, next_step_{0}, enabled_at_{0};
  unsigned next_supply_ = 0;
  bool supplies_settled_ = false;  // no supply is waited for any more
  std::uint64_t reads_ = 0;
};

}  // namespace weft::power::bmc
