#include "power/bmc/instruments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::power::bmc {

double barrier_height(unsigned barrier) { return 0.72 + 0.04 * barrier; }

unsigned Wiring::reset_line(unsigned node, unsigned device) const {
  return node * reset_groups / nodes_of_zone * static_cast<unsigned>(devices.size()) + device;
}

namespace {

/// Chips with a reset line, of a node; where there is a share of one for each node, it counts as one.
std::vector<Device> devices_of(const Body& body) {
  std::vector<Device> out;
  for (unsigned i = 0; i < body.parts.size(); ++i) {
    const Part& part = body.parts[i];
    const bool carries = part.role == Role::Router, interface = part.role == Role::Interface;
    const bool computes = part.role == Role::Processor || part.role == Role::Accelerator;
    if (!carries && !interface && !computes) continue;
    const auto count = static_cast<unsigned>(std::clamp(std::ceil(part.per_node), 0.0, 16.0));
    out.insert(out.end(), count, {i, carries ? 0u : interface ? 1u : 2u, computes});
  }
  return out;
}

}  // namespace

class WatchdogPort final : public I2cDevice {
 public:
  void write(std::span<const std::uint8_t>) override { ++kicks; }
  std::uint8_t read() override { return static_cast<std::uint8_t>(kicks); }
  unsigned kicks = 0;
};

Instruments::Instruments(thermal::Plant& plant) {
  const Body& body = plant.body();
  const thermal::MediumReadings medium = plant.read().medium;
  wiring_ = {.supplies = body.supply.count,
             .zones = static_cast<unsigned>(plant.zones()),
             .parts = static_cast<unsigned>(body.parts.size()),
             .shared = body.supply.shared,
             .has_level = plant.medium().has_liquid_level(),
             .supply_volts = body.supply.volts,
             .nominal_flow = medium.flow_nominal,
             .pipe_area = medium.pipe_area,
             .devices = devices_of(body),
             .nodes_of_zone = plant.nodes_of_zone()};
  const unsigned most = kPinsOfChip * kResetChips * (wiring_.zones <= 48 ? 8 : 1);
  wiring_.reset_groups = std::clamp(
      most / std::max<unsigned>(1, static_cast<unsigned>(wiring_.devices.size())), 1u, wiring_.nodes_of_zone);
  WEFT_CHECK(wiring_.supplies <= kMostSupplies, "more supplies than the bus has pins for");
  auto main = std::make_shared<I2cMux>();
  bus_.attach(kMuxAddress, main);
  for (unsigned i = 0; i * 8 < wiring_.supplies; ++i) {
    supply_pins_.push_back(std::make_shared<Gpio16>());
    main->segment(0).attach(static_cast<std::uint8_t>(kSupplyPins + i), supply_pins_.back());
  }
  sensor_board_ = std::make_shared<I2cRegisters>();
  flow_meter_ = std::make_shared<I2cRegisters>();
  watchdog_ = std::make_shared<WatchdogPort>();
  main->segment(1).attach(kSensorBoard, sensor_board_);
  main->segment(1).attach(kFlowMeter, flow_meter_);
  main->segment(1).attach(kWatchdog, watchdog_);
  std::shared_ptr<I2cMux> mux;
  for (unsigned zone = 0; zone < wiring_.zones; ++zone) {
    if (zone % 8 == 0) {
      mux = std::make_shared<I2cMux>();
      main->segment(2).attach(static_cast<std::uint8_t>(kZoneMux + zone / 8), mux);
    }
    zones_.push_back(attach_zone(mux->segment(zone % 8)));
  }
}

Instruments::ZoneDevices Instruments::attach_zone(I2cBus& segment) const {
  ZoneDevices out{std::make_shared<PowerMonitor>(), std::make_shared<I2cRegisters>(), {}};
  segment.attach(kPowerMonitor, out.monitor);
  segment.attach(kThermometer, out.thermometer);
  auto resets = wiring_.reset_mux() ? std::make_shared<I2cMux>() : nullptr;
  if (resets) segment.attach(kResetMux, resets);
  for (unsigned chip = 0; chip * kPinsOfChip < wiring_.reset_lines(); ++chip) {
    out.resets.push_back(std::make_shared<Gpio16>());
    I2cBus& at = resets ? resets->segment(chip / kResetChips) : segment;
    at.attach(static_cast<std::uint8_t>(kResetPins + chip % kResetChips), out.resets.back());
  }
  return out;
}

bool Instruments::in_reset(unsigned zone, unsigned line) const {
  // A pull-down on the line: a device stays in reset until the controller drives it high.
  const Gpio16& pins = *zones_[zone].resets[line / kPinsOfChip];
  const unsigned pin = line % kPinsOfChip;
  return !(pins.driven(pin) && pins.output(pin));
}

bool Instruments::zone_in_reset(unsigned zone) const {
  for (unsigned line = 0; line < wiring_.reset_lines(); ++line)
    if (!in_reset(zone, line)) return false;
  return wiring_.reset_lines() > 0;
}

double Instruments::released_share(unsigned zone) const {
  unsigned all = 0, released = 0;
  const auto devices = static_cast<unsigned>(wiring_.devices.size());
  for (unsigned line = 0; line < wiring_.reset_lines(); ++line) {
    if (!wiring_.devices[line % devices].computes) continue;
    ++all;
    released += !in_reset(zone, line);
  }
  return all > 0 ? static_cast<double>(released) / all : zone_in_reset(zone) ? 0 : 1;
}

unsigned Instruments::watchdog_kicks() const { return watchdog_->kicks; }

std::vector<std::string> Instruments::sensor_names() const {
  std::vector<std::string> out{"flow", "inlet", "outlet"};
  if (wiring_.has_level) out.insert(out.end(), {"level", "pressure", "liquid", "vapour"});
  for (unsigned zone = 0; zone < wiring_.zones; ++zone) {
    out.push_back(fmt::format("chips{}", zone));
    out.push_back(fmt::format("current{}", zone));
  }
  return out;
}

double Instruments::seen(const std::string& sensor, double value) {
  auto fault = faults_.find(sensor);
  const double shown = fault == faults_.end() ? value : fault->second.second;
  last_[sensor] = shown;
  return shown;
}

void Instruments::show(const thermal::PlantReadings& r, const std::vector<bool>& good) {
  auto steps = [](double value, double in_one) {
    return static_cast<std::int64_t>(std::lround(value * in_one));
  };
  const thermal::MediumReadings& m = r.medium;
  // Ultrasound is faster with the stream than against it.
  const double speed = seen("flow", m.flow) / std::max(wiring_.pipe_area, 1e-9);
  flow_meter_->set(kTimeDownstream,
                   steps(wiring_.ultrasound_path / (wiring_.sound_speed + speed), kTravelTimeSteps), 4);
  flow_meter_->set(kTimeUpstream,
                   steps(wiring_.ultrasound_path / (wiring_.sound_speed - speed), kTravelTimeSteps), 4);
  flow_meter_->set(kInletTemperature, steps(seen("inlet", m.inlet_c), kTemperatureSteps), 2);
  flow_meter_->set(kOutletTemperature, steps(seen("outlet", m.outlet_c), kTemperatureSteps), 2);
  if (wiring_.has_level) {
    const double level = seen("level", m.level_m / m.level_nominal_m);
    unsigned pattern = 0;
    for (unsigned i = 0; i < kLightBarriers; ++i) pattern |= (level >= barrier_height(i) ? 1u : 0u) << i;
    sensor_board_->set(kLevelPattern, pattern, 1);
    sensor_board_->set(
        kPressure,
        steps(std::clamp(seen("pressure", m.overpressure_pa / 100), -3000.0, 3000.0), kPressureSteps), 2);
    sensor_board_->set(kVapourTemperature, steps(seen("vapour", m.vapour_c), kTemperatureSteps), 2);
    sensor_board_->set(kLiquidTemperature, steps(seen("liquid", m.liquid_c), kTemperatureSteps), 2);
  }
  for (unsigned i = 0; i < wiring_.supplies; ++i) supply_pins_[i / 8]->set_input(8 + i % 8, good[i]);
  for (unsigned zone = 0; zone < wiring_.zones; ++zone) {
    const double watts = r.zone_watts[zone],
                 amperes = seen(fmt::format("current{}", zone), watts / wiring_.supply_volts);
    const bool on = wiring_.shared ? std::find(good.begin(), good.end(), true) != good.end() : good[zone];
    double hottest = -100;
    for (unsigned i = 0; i < wiring_.parts; ++i)
      hottest = std::max(hottest, r.junction_c[zone * wiring_.parts + i]);
    zones_[zone].monitor->show(on ? wiring_.supply_volts : 0, amperes, m.liquid_c);
    zones_[zone].thermometer->set(0, steps(seen(fmt::format("chips{}", zone), hottest), kTemperatureSteps),
                                  2);
  }
}

}  // namespace weft::power::bmc
