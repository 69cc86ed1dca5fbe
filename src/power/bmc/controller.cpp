#include "power/bmc/controller.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::power::bmc {

namespace {

using Severity = LogEntry::Severity;
constexpr double kNoLow = -1e30, kNoHigh = 1e30;
constexpr Time kSupplyPatience{3'000'000'000'000};  // a supply that is not good after so long is given up

}  // namespace

const char* severity_name(Severity severity) {
  constexpr const char* kNames[] = {"information", "warning", "critical"};
  return kNames[static_cast<std::size_t>(severity)];
}

Controller::Controller(I2cBus& bus, const Wiring& wiring, const ControllerParameters& parameters,
                       double lowest_limit_c)
    : bus_(bus),
      wiring_(wiring),
      parameters_(parameters),
      chip_limit_c_(parameters.chip_c > 0 ? parameters.chip_c : lowest_limit_c - 2),
      resets_(wiring.zones),
      enabled_(wiring.supplies),
      good_(wiring.supplies),
      good_since_(wiring.supplies) {
  drive_supplies();
  for (unsigned zone = 0; zone < wiring.zones; ++zone) {
    resets_[zone].held.resize(wiring.reset_lines());
    hold_zone(zone);
  }
}

// --- the bus

void Controller::select_board() {
  const std::uint8_t board[] = {0b10};
  bus_.transfer(kMuxAddress, board, {});
}

void Controller::select_zone(unsigned zone) {
  const std::uint8_t further[] = {0b100};
  bus_.transfer(kMuxAddress, further, {});
  for (unsigned mux = 0; mux * 8 < wiring_.zones; ++mux) {
    const std::uint8_t channel[] = {static_cast<std::uint8_t>(mux == zone / 8 ? 1u << (zone % 8) : 0)};
    bus_.transfer(static_cast<std::uint8_t>(kZoneMux + mux), channel, {});
  }
}

double Controller::read_value(std::uint8_t address, Register where, double steps) {
  std::uint8_t bytes[4] = {};
  const std::uint8_t name[] = {where.at};
  bus_.transfer(address, name, std::span(bytes, where.bytes));
  ++reads_;
  std::int64_t value = 0;
  for (unsigned i = 0; i < where.bytes; ++i) value = value << 8 | bytes[i];
  if (where.bytes == 2 && value >= 0x8000) value -= 0x10000;
  return static_cast<double>(value) / steps;
}

bool Controller::power_good(unsigned supply) {
  const std::uint8_t pins[] = {0b1}, inputs[] = {1};
  std::uint8_t byte[1] = {};
  bus_.transfer(kMuxAddress, pins, {});
  bus_.transfer(static_cast<std::uint8_t>(kSupplyPins + supply / 8), inputs, byte);
  return byte[0] >> (supply % 8) & 1;
}

void Controller::drive_supplies() {
  const std::uint8_t pins[] = {0b1};
  bus_.transfer(kMuxAddress, pins, {});
  for (unsigned chip = 0; chip * 8 < wiring_.supplies; ++chip) {
    unsigned level = 0xff;  // enable is low active
    for (unsigned i = 0; i < 8 && chip * 8 + i < wiring_.supplies; ++i)
      if (enabled_[chip * 8 + i]) level &= ~(1u << i);
    const auto address = static_cast<std::uint8_t>(kSupplyPins + chip);
    const std::uint8_t outputs[] = {2, static_cast<std::uint8_t>(level)}, directions[] = {6, 0x00};
    bus_.transfer(address, outputs, {});
    bus_.transfer(address, directions, {});
  }
}

/// Every device has a line: low while its stage has not come, or somebody holds it.
void Controller::drive_resets(unsigned zone) {
  select_zone(zone);
  const ZoneResets& resets = resets_[zone];
  const unsigned lines = wiring_.reset_lines(), devices = static_cast<unsigned>(wiring_.devices.size());
  for (unsigned chip = 0; chip * kPinsOfChip < lines; ++chip) {
    unsigned levels = 0;
    for (unsigned pin = 0; pin < kPinsOfChip && chip * kPinsOfChip + pin < lines; ++pin) {
      const unsigned line = chip * kPinsOfChip + pin;
      const bool released = wiring_.devices[line % devices].stage < resets.stage && !resets.held[line];
      levels |= (released ? 1u : 0u) << pin;
    }
    if (wiring_.reset_mux()) {
      const std::uint8_t segment[] = {static_cast<std::uint8_t>(1u << (chip / kResetChips))};
      bus_.transfer(kResetMux, segment, {});
    }
    const auto address = static_cast<std::uint8_t>(kResetPins + chip % kResetChips);
    const std::uint8_t outputs[] = {2, static_cast<std::uint8_t>(levels),
                                    static_cast<std::uint8_t>(levels >> 8)},
                       directions[] = {6, 0, 0};
    bus_.transfer(address, outputs, {});
    bus_.transfer(address, directions, {});
  }
}

void Controller::hold_zone(unsigned zone) {
  resets_[zone].stage = 0;
  drive_resets(zone);
}

void Controller::hold_device(unsigned zone, unsigned node, unsigned device, bool held) {
  resets_[zone].held[wiring_.reset_line(node, device)] = held;
  drive_resets(zone);
}

// --- sensors

void Controller::put(const std::string& name, const std::string& unit, double value, double low,
                     double high) {
  sensors_.push_back({name, unit, value, low, high});
}

void Controller::read_board() {
  select_board();
  const double down = read_value(kFlowMeter, {kTimeDownstream, 4}, kTravelTimeSteps);
  const double up = read_value(kFlowMeter, {kTimeUpstream, 4}, kTravelTimeSteps);
  // The speed of sound falls out of the difference of the two speeds: no temperature is needed for it.
  const double speed = down > 0 && up > 0 ? wiring_.ultrasound_path / 2 * (1 / down - 1 / up) : 0;
  put("flow", "l/min", speed * wiring_.pipe_area * 60e3, parameters_.flow_share * wiring_.nominal_flow * 60e3,
      kNoHigh);
  put("inlet", "C", read_value(kFlowMeter, {kInletTemperature, 2}, kTemperatureSteps), kNoLow,
      parameters_.outlet_c);
  put("outlet", "C", read_value(kFlowMeter, {kOutletTemperature, 2}, kTemperatureSteps), kNoLow,
      parameters_.outlet_c);
  if (!wiring_.has_level) return;
  const auto pattern = static_cast<unsigned>(read_value(kSensorBoard, {kLevelPattern, 1}, 1));
  unsigned covered = 0;
  while (covered < kLightBarriers && (pattern >> covered & 1)) ++covered;
  put("level", "barriers", covered, parameters_.level_barriers, kNoHigh);
  put("pressure", "mbar", read_value(kSensorBoard, {kPressure, 2}, kPressureSteps), kNoLow,
      parameters_.overpressure_mbar);
  put("vapour", "C", read_value(kSensorBoard, {kVapourTemperature, 2}, kTemperatureSteps), kNoLow, kNoHigh);
  put("liquid", "C", read_value(kSensorBoard, {kLiquidTemperature, 2}, kTemperatureSteps), kNoLow,
      parameters_.liquid_c);
}

void Controller::read_zones() {
  for (unsigned zone = 0; zone < wiring_.zones; ++zone) {
    select_zone(zone);
    auto word = [&](std::uint8_t command) {
      std::uint8_t bytes[2] = {};
      const std::uint8_t name[] = {command};
      bus_.transfer(kPowerMonitor, name, bytes);
      ++reads_;
      return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
    };
    put(fmt::format("chips{}", zone), "C", read_value(kThermometer, {0, 2}, kTemperatureSteps), kNoLow,
        chip_limit_c_);
    put(fmt::format("voltage{}", zone), "V", word(PowerMonitor::kReadVout) / 1024.0, kNoLow, kNoHigh);
    put(fmt::format("current{}", zone), "A", from_linear11(word(PowerMonitor::kReadIout)), kNoLow, kNoHigh);
  }
}

void Controller::read_sensors() {
  sensors_.clear();
  read_board();
  read_zones();
}

// --- what it does

bool Controller::zone_has_power(unsigned zone) const {
  // Nothing starts while supplies are still being switched on, one after the other; where some never came,
  // those that did must do.
  if (!supplies_settled_) return false;
  return wiring_.shared ? std::find(good_.begin(), good_.end(), true) != good_.end() : good_[zone];
}

void Controller::power_on(Time now, std::vector<LogEntry>& log) {
  if (state_ == State::On || state_ == State::PoweringUp) return;
  state_ = State::PoweringUp;
  cause_.clear();
  next_supply_ = 0;
  supplies_settled_ = false;
  next_step_ = now;
  log.push_back({now, Severity::Information, "controller", "power-up begins"});
}

void Controller::power_off(Time now, std::vector<LogEntry>& log, const std::string& why) {
  if (state_ == State::Off || state_ == State::ShutDown) return;
  for (unsigned zone = 0; zone < wiring_.zones; ++zone) hold_zone(zone);
  std::fill(enabled_.begin(), enabled_.end(), false);
  std::fill(good_.begin(), good_.end(), false);
  drive_supplies();
  state_ = State::Off;
  log.push_back({now, Severity::Information, "controller", "power off: " + why});
}

void Controller::shut_down_for(const Sensor& sensor, Time now, std::vector<LogEntry>& log) {
  const bool low = sensor.value < sensor.critical_low;
  cause_ = fmt::format("{} {:.1f} {} is {} {:.1f}", sensor.name, sensor.value, sensor.unit,
                       low ? "below" : "above", low ? sensor.critical_low : sensor.critical_high);
  log.push_back({now, Severity::Critical, sensor.name, cause_});
  power_off(now, log, "a critical value");
  state_ = State::ShutDown;
}

void Controller::watch_supplies(Time now, std::vector<LogEntry>& log) {
  for (unsigned supply = 0; supply < wiring_.supplies; ++supply) {
    if (!enabled_[supply]) continue;
    const bool good = power_good(supply);
    if (good && !good_[supply]) good_since_[supply] = now;
    if (!good && good_[supply]) {
      log.push_back(
          {now, Severity::Critical, fmt::format("supply{}", supply),
           wiring_.shared ? "power is no longer good" : "power is no longer good: its nodes are down"});
      if (!wiring_.shared) hold_zone(supply);
    }
    if (good && !good_[supply] && state_ == State::On) {
      log.push_back({now, Severity::Information, fmt::format("supply{}", supply), "power is good again"});
    }
    good_[supply] = good;
  }
  if (state_ == State::On && std::find(good_.begin(), good_.end(), true) == good_.end()) {
    cause_ = "no supply delivers power";
    log.push_back({now, Severity::Critical, "supplies", cause_});
    power_off(now, log, cause_);
    state_ = State::ShutDown;
  }
}

/// Will its devices come up by and by?
bool Controller::comes_up(unsigned zone) const {
  return zone_has_power(zone) && resets_[zone].stage < kResetStages;
}

/// Devices of a zone whose power has been good for long enough, stage by stage.
void Controller::release_in_order(Time now) {
  for (unsigned zone = 0; zone < wiring_.zones; ++zone) {
    ZoneResets& resets = resets_[zone];
    if (!comes_up(zone)) continue;
    Time since = good_since_[wiring_.shared ? 0 : zone];
    if (wiring_.shared)
      for (Time one : good_since_) since = std::max(since, one);
    if (resets.stage == 0) resets.next = since + parameters_.reset_hold;
    if (now < resets.next) continue;
    ++resets.stage;
    resets.next = now + parameters_.reset_step;
    drive_resets(zone);
  }
}

/// One supply after the other: the next when the last has good power, or is given up.
void Controller::power_up(Time now, std::vector<LogEntry>& log) {
  next_step_ = now + parameters_.reset_step;
  const bool waits = next_supply_ > 0 && !good_[next_supply_ - 1] && now - enabled_at_ < kSupplyPatience;
  if (waits || (next_supply_ > 0 && now - enabled_at_ < parameters_.stagger)) return;
  if (next_supply_ < wiring_.supplies) {
    enabled_[next_supply_++] = true;
    enabled_at_ = now;
    drive_supplies();
    return;
  }
  supplies_settled_ = true;
  for (unsigned zone = 0; zone < wiring_.zones; ++zone)
    if (comes_up(zone)) return;
  state_ = State::On;
  unsigned up = 0;
  for (const ZoneResets& zone : resets_) up += zone.stage == kResetStages;
  for (unsigned supply = 0; supply < wiring_.supplies; ++supply)
    if (!good_[supply])
      log.push_back({now, Severity::Critical, fmt::format("supply{}", supply), "power did not become good"});
  log.push_back({now, Severity::Information, "controller",
                 fmt::format("power is good and resets are released in {} of {} zones", up, wiring_.zones)});
}

Time Controller::run(Time now, std::vector<LogEntry>& log) {
  const std::uint8_t alive[] = {1};
  select_board();
  bus_.transfer(kWatchdog, alive, {});
  if (state_ == State::PoweringUp || state_ == State::On) watch_supplies(now, log);
  if (now >= next_poll_) {
    read_sensors();
    next_poll_ = now + parameters_.poll;
    if (state_ == State::On || state_ == State::PoweringUp)
      for (const Sensor& sensor : sensors_)
        if (sensor.critical()) {
          shut_down_for(sensor, now, log);
          break;
        }
  }
  if (state_ == State::PoweringUp || state_ == State::On) release_in_order(now);
  if (state_ == State::PoweringUp && now >= next_step_) power_up(now, log);
  Time next = next_poll_;
  if (state_ == State::PoweringUp) next = std::min(next, next_step_);
  if (state_ == State::PoweringUp || state_ == State::On)
    for (unsigned zone = 0; zone < wiring_.zones; ++zone)
      if (comes_up(zone)) next = std::min(next, std::max(resets_[zone].next, now + Time{1'000'000'000}));
  return next;
}

}  // namespace weft::power::bmc
