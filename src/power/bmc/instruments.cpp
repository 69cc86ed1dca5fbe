#include "power/bmc/instruments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::power::bmc {

double barrier_height(unsigned barrier) { return 0.72 + 0.04 * barrier; }

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
             .pipe_area = medium.pipe_area};
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
    ZoneDevices devices{std::make_shared<PowerMonitor>(), std::make_shared<I2cRegisters>(),
                        std::make_shared<Gpio16>()};
    mux->segment(zone % 8).attach(kPowerMonitor, devices.monitor);
    mux->segment(zone % 8).attach(kThermometer, devices.thermometer);
    mux->segment(zone % 8).attach(kResetPins, devices.resets);
    zones_.push_back(std::move(devices));
  }
}

bool Instruments::zone_in_reset(unsigned zone) const {
  // A pull-down on the line: devices stay in reset until the controller drives it high.
  const Gpio16& pins = *zones_[zone].resets;
  const bool driven = (pins.registers[6] & 1) == 0;
  return !(driven && pins.output(0));
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
