// What hangs on the controller's bus: sensors that show what the plant does, and pins that switch it.
//
// The tree, after GreenICE: a multiplexer at 0x70. Its segment 0 has pins of eight supplies each at 0x20 and
// up (enable, low active; power good), 1 the sensor board at 0x28, the flow meter at 0x30 and the watchdog at
// 0x60; 2 leads to further multiplexers from 0x71, whose segments have a power monitor at 0x40, thermometers
// of chips at 0x4c and reset lines (low active), sixteen each from 0x20 on, of one zone each. A zone with
// more than 128 lines has them behind one more multiplexer, at 0x77.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "power/bmc/i2c.hpp"
#include "power/thermal/plant.hpp"

namespace weft::power::bmc {

inline constexpr std::uint8_t kMuxAddress = 0x70, kSupplyPins = 0x20, kSensorBoard = 0x28, kFlowMeter = 0x30,
                              kWatchdog = 0x60, kZoneMux = 0x71, kPowerMonitor = 0x40, kThermometer = 0x4c,
                              kResetPins = 0x20, kResetMux = 0x77;
inline constexpr unsigned kMostSupplies = 56, kLightBarriers = 8;
inline constexpr unsigned kPinsOfChip = 16, kResetChips = 8;  // of one segment
/// Registers of the sensor board, two bytes each but the first.
inline constexpr std::uint8_t kLevelPattern = 0, kPressure = 2, kVapourTemperature = 4,
                              kLiquidTemperature = 6;
/// Registers of the flow meter: travel times of ultrasound in tens of picoseconds, four bytes; temperatures.
inline constexpr std::uint8_t kTimeDownstream = 0, kTimeUpstream = 4, kInletTemperature = 8,
                              kOutletTemperature = 10;
/// Temperatures are sixteenths of a kelvin, pressures tenths of a millibar over the room's.
inline constexpr double kTemperatureSteps = 16, kPressureSteps = 10, kTravelTimeSteps = 1e11;

/// A chip with a reset line of its own, on every node. Those that carry others' traffic come up first, those
/// that compute last: an accelerator must find its interface.
struct Device {
  unsigned part = 0;  // of the machine's parts
  unsigned stage = 0;
  bool computes = false;
};
inline constexpr unsigned kResetStages = 3;

/// What a controller must know of the hardware it was built for.
struct Wiring {
  unsigned supplies = 0, zones = 0, parts = 0;
  bool shared = true, has_level = false;
  double supply_volts = 12, nominal_flow = 0, pipe_area = 0;
  double ultrasound_path = 0.1;  // m, between the two transducers
  double sound_speed = 1480;     // m/s, in what flows
  std::vector<Device> devices;   // of a node
  unsigned nodes_of_zone = 1;
  unsigned reset_groups = 1;  // of a zone's nodes; those of a group share their lines
  unsigned reset_lines() const { return reset_groups * static_cast<unsigned>(devices.size()); }
  bool reset_mux() const { return reset_lines() > kPinsOfChip * kResetChips; }
  /// The line of a device of a zone's node.
  unsigned reset_line(unsigned node, unsigned device) const;
};

/// How high the light barriers are, of the nominal level.
double barrier_height(unsigned barrier);

enum class SensorFault : std::uint8_t { None, Stuck, Lying };

class Instruments {
 public:
  explicit Instruments(thermal::Plant& plant);

  I2cBus& bus() { return bus_; }
  const Wiring& wiring() const { return wiring_; }

  /// Brings all registers up to date; `good`: power good, by supply.
  void show(const thermal::PlantReadings& readings, const std::vector<bool>& good);

  bool supply_enabled(unsigned supply) const { return !supply_pins_[supply / 8]->level(supply % 8); }
  /// Reset is held while its line is low; lines are low until somebody drives them.
  bool in_reset(unsigned zone, unsigned line) const;
  /// All devices of a zone.
  bool zone_in_reset(unsigned zone) const;
  /// Of a zone's devices that compute, those that may.
  double released_share(unsigned zone) const;
  /// How often the watchdog has been told that the controller lives.
  unsigned watchdog_kicks() const;

  /// Names of sensors that can stick or lie.
  std::vector<std::string> sensor_names() const;
  void stick(const std::string& sensor) { faults_[sensor] = {SensorFault::Stuck, last_[sensor]}; }
  void lie(const std::string& sensor, double value) { faults_[sensor] = {SensorFault::Lying, value}; }
  void mend(const std::string& sensor) { faults_.erase(sensor); }

 private:
  /// What a sensor shows of a true value.
  double seen(const std::string& sensor, double value);

  struct ZoneDevices {
    std::shared_ptr<PowerMonitor> monitor;
    std::shared_ptr<I2cRegisters> thermometer;
    std::vector<std::shared_ptr<Gpio16>> resets;
  };

  ZoneDevices attach_zone(I2cBus& segment) const;

  I2cBus bus_;
  Wiring wiring_;
  std::vector<std::shared_ptr<Gpio16>> supply_pins_;
  std::shared_ptr<I2cRegisters> sensor_board_, flow_meter_;
  std::shared_ptr<class WatchdogPort> watchdog_;
  std::vector<ZoneDevices> zones_;
  std::map<std::string, std::pair<SensorFault, double>> faults_;
  std::map<std::string, double> last_;
};

}  // namespace weft::power::bmc
