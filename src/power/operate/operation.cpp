#include "power/operate/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::power::operate {

namespace {

using Severity = bmc::LogEntry::Severity;

double seconds(Time t) { return static_cast<double>(t.value) * 1e-12; }

double lowest_limit(const Body& body) {
  double out = 1e9;
  for (const Part& part : body.parts) out = std::min(out, part.limit_c);
  return out;
}

/// A supply gives up when it is asked for so much more than it can.
constexpr double kOverload = 1.1;
constexpr Time kCalmPoll{60'000'000'000'000};

}  // namespace

Operation::Operation(const Body& body, OperationOptions options)
    : body_(body),
      options_(std::move(options)),
      plant_(body, options_.tolerance),
      instruments_(plant_),
      controller_(instruments_.bus(), instruments_.wiring(), body.controller, lowest_limit(body)),
      supplies_(body.supply.count),
      load_(options_.load),
      jobs_(plant_.zones()) {
  out_.least_level = 1;
  look();
  coolant_at_start_kg_ = readings_.medium.coolant_kg;
  controller_.power_on(now_, log_);
}

Names Operation::names(const Body& body) {
  thermal::Plant plant(body);
  const bmc::Instruments instruments(plant);
  Names out{
      body.supply.count, plant.medium().has_liquid_level(), instruments.sensor_names(), body.nodes(), {}, {}};
  for (const bmc::Device& device : instruments.wiring().devices)
    if (const std::string& name = body.parts[device.part].name;
        std::find(out.parts.begin(), out.parts.end(), name) == out.parts.end())
      out.parts.push_back(name);
  return out;
}

void Operation::note(Severity severity, const std::string& source, const std::string& text) {
  log_.push_back({now_, severity, source, text});
}

void Operation::apply(const Event& event) {
  thermal::Surroundings& around = plant_.around;
  note(Severity::Information, "script", event.text);
  switch (event.kind) {
    case Event::Kind::Pump:
      around.pump = event.value;
      break;
    case Event::Kind::Load:
      load_ = event.value;
      break;
    case Event::Kind::Coil:
      around.coil_share = 1 - event.value;
      break;
    case Event::Kind::Leak:
      around.leak = event.value * 1e-3 / 3600;
      break;
    case Event::Kind::Open:
      around.open = event.value > 0;
      break;
    case Event::Kind::Valve:
      around.relief_blocked = event.value > 0;
      break;
    case Event::Kind::Supply:
      supplies_[event.number].failed = event.value == 0;
      supplies_[event.number].tripped = false;
      break;
    case Event::Kind::Phase:
      phase_lost_[event.number] = event.value == 0;
      break;
    case Event::Kind::Hang:
      hung_ = event.value > 0;
      next_run_ = now_;
      if (!hung_) last_kick_ = now_;
      break;
    case Event::Kind::Watchdog:
      watchdog_enabled_ = event.value > 0;
      break;
    case Event::Kind::Stick:
      instruments_.stick(event.name);
      break;
    case Event::Kind::Lie:
      instruments_.lie(event.name, event.value);
      break;
    case Event::Kind::MendSensor:
      instruments_.mend(event.name);
      break;
    case Event::Kind::Inlet:
      around.inlet_shift = event.value;
      break;
    case Event::Kind::Room:
      around.ambient_shift = event.value;
      break;
    case Event::Kind::Power:
      power(event.value > 0);
      break;
    case Event::Kind::Reset:
      hold_reset(event.number, event.name, event.value > 0);
      break;
  }
  plant_.disturbed();
}

void Operation::hold_reset(unsigned node, const std::string& part, bool held) {
  const auto& devices = instruments_.wiring().devices;
  for (unsigned i = 0; i < devices.size(); ++i)
    if (part.empty() || body_.parts[devices[i].part].name == part)
      controller_.hold_device(static_cast<unsigned>(plant_.zone_of(node)), plant_.place_in_zone(node), i,
                              held);
}

bool Operation::node_computes(unsigned node) const {
  const bmc::Wiring& wiring = instruments_.wiring();
  const std::size_t zone = plant_.zone_of(node);
  bool computes = plant_.zone_inputs()[zone].powered, any = false;
  for (unsigned i = 0; i < wiring.devices.size(); ++i) {
    const unsigned line = wiring.reset_line(plant_.place_in_zone(node), i);
    const bool held = instruments_.in_reset(static_cast<unsigned>(zone), line);
    // Whoever computes needs its router and interface, and one processor or accelerator will do.
    if (wiring.devices[i].computes)
      any |= !held;
    else
      computes &= !held;
  }
  const bool has_any = std::any_of(wiring.devices.begin(), wiring.devices.end(),
                                   [](const bmc::Device& device) { return device.computes; });
  return computes && (any || !has_any);
}

void Operation::power(bool on) {
  if (on) {
    watchdog_cut_ = false;
    last_kick_ = now_;
    controller_.power_on(now_, log_);
  } else {
    controller_.power_off(now_, log_, "as ordered");
  }
  next_run_ = now_;
  switch_power();
}

void Operation::set_load(double load) {
  load_ = load;
  switch_power();
}

void Operation::set_job(std::size_t zone, double share, double load) {
  // The solver starts afresh where an input changes: not for less than what the coolant would notice.
  constexpr double kNoticed = 0.01;
  Job& job = jobs_[zone];
  if (job.share == share && std::abs(job.load - load) * share < kNoticed) return;
  job = {share, load};
  switch_power();
}

void Operation::switch_power() {
  unsigned working = 0;
  for (unsigned i = 0; i < body_.supply.count; ++i) {
    SupplyState& s = supplies_[i];
    const bool fed = instruments_.supply_enabled(i) && !watchdog_cut_ && !s.failed && !s.tripped &&
                     !phase_lost_[body_.supply.phase_of(i)];
    if (!fed) {
      s.good = s.waiting = false;
    } else if (!s.good && !s.waiting) {
      s.waiting = true;
      s.good_at = now_ + body_.supply.good_after;
    } else if (s.waiting && now_ >= s.good_at) {
      s.good = true;
      s.waiting = false;
    }
    working += s.good;
  }
  bool changed = plant_.working_supplies != working;
  plant_.working_supplies = working;
  auto& zones = plant_.zone_inputs();
  for (unsigned z = 0; z < zones.size(); ++z) {
    // Boards on a common bank are switched to it when their reset is released.
    const bool reset = instruments_.zone_in_reset(z);
    const bool powered = body_.supply.shared ? working > 0 && !reset : supplies_[z].good;
    const double all = load_ + jobs_[z].share * (jobs_[z].load - load_);
    const double load = powered ? all * instruments_.released_share(z) : 0;
    changed |= zones[z].powered != powered || zones[z].load != load;
    zones[z] = {powered, load};
  }
  if (changed) plant_.disturbed();
}

/// The watchdog is hardware: it looks at nothing but the controller's sign of life.
void Operation::watch() {
  if (instruments_.watchdog_kicks() != kicks_) {
    kicks_ = instruments_.watchdog_kicks();
    last_kick_ = now_;
  }
  if (calm()) last_kick_ = now_;
  if (!watchdog_enabled_ || watchdog_cut_ || now_ - last_kick_ < body_.controller.watchdog) return;
  watchdog_cut_ = true;
  if (plant_.working_supplies == 0) return;
  note(Severity::Critical, "watchdog", "the controller is silent: power is cut");
  if (!out_.shutdown) {
    out_.shutdown = true;
    out_.shutdown_seconds = seconds(now_);
    out_.shutdown_cause = "watchdog: the controller is silent";
  }
}

void Operation::look() {
  readings_ = plant_.read();
  std::vector<bool> good;
  for (const SupplyState& s : supplies_) good.push_back(s.good);
  instruments_.show(readings_, good);
  for (std::size_t i = 0; i < readings_.junction_c.size(); ++i) {
    const Part& part = body_.parts[i % body_.parts.size()];
    out_.over_limit |= readings_.junction_c[i] > part.limit_c;
  }
  if (now_.value == 0 || readings_.hottest_c > out_.hottest_c) {
    out_.hottest_c = readings_.hottest_c;
    out_.hottest_seconds = seconds(now_);
    out_.hottest_part = body_.parts[readings_.hottest_part].name;
    out_.chip_limit_c = body_.parts[readings_.hottest_part].limit_c;
  }
  for (std::size_t z = 0; z < readings_.speed.size(); ++z)
    if (plant_.zone_inputs()[z].powered && readings_.speed[z] < 1) {
      if (out_.least_speed == 1) out_.throttled_seconds = seconds(now_);
      out_.least_speed = std::min(out_.least_speed, readings_.speed[z]);
    }
  out_.highest_overpressure_mbar =
      std::max(out_.highest_overpressure_mbar, readings_.medium.overpressure_pa / 100);
  if (readings_.medium.level_nominal_m > 0)
    out_.least_level =
        std::min(out_.least_level, readings_.medium.level_m / readings_.medium.level_nominal_m);
  // A bank that is asked for too much switches itself off.
  if (body_.supply.shared && plant_.working_supplies > 0 &&
      readings_.supplied_watts > kOverload * body_.supply.watts * plant_.working_supplies) {
    for (SupplyState& s : supplies_) s.tripped = true;
    note(Severity::Critical, "supplies",
         fmt::format("{:.0f} W asked of {} supplies of {:.0f} W: they switch off", readings_.supplied_watts,
                     plant_.working_supplies, body_.supply.watts));
  }
}

void Operation::take_sample() {
  const thermal::PlantReadings& r = readings_;
  Sample s;
  s.seconds = seconds(now_);
  s.role_watts = r.role_watts;
  s.conversion_watts = r.equipment_watts - body_.controller.watts;
  for (double watts : r.role_watts) s.conversion_watts -= watts;
  s.pump_watts = r.pump_watts;
  s.facility_watts = r.facility_watts;
  s.hottest_c = r.hottest_c;
  s.liquid_c = r.medium.liquid_c;
  s.vapour_c = r.medium.vapour_c;
  s.inlet_c = r.medium.inlet_c;
  s.outlet_c = r.medium.outlet_c;
  s.overpressure_mbar = r.medium.overpressure_pa / 100;
  s.level = r.medium.level_nominal_m > 0 ? r.medium.level_m / r.medium.level_nominal_m : 0;
  s.coolant_litres = r.medium.coolant_litres;
  s.vapour_share = r.medium.vapour_share;
  s.flow_lpm = r.medium.flow * 60e3;
  for (std::size_t z = 0; z < r.speed.size(); ++z)
    if (plant_.zone_inputs()[z].powered) s.speed = std::min(s.speed, r.speed[z]);
  out_.samples.push_back(s);
}

Time Operation::next_time(Time until) const {
  Time next = std::min(until, next_sample_);
  if (next_event_ < options_.events.size()) next = std::min(next, options_.events[next_event_].at);
  if (!hung_) next = std::min(next, next_run_);
  if (watchdog_enabled_ && !watchdog_cut_ && !calm())
    next = std::min(next, last_kick_ + body_.controller.watchdog);
  for (const SupplyState& s : supplies_)
    if (s.waiting) next = std::min(next, s.good_at);
  return std::max(next, now_);
}

void Operation::advance(Time until) {
  const Time sample_interval{
      std::max<std::int64_t>(1'000'000'000, options_.duration.value / options_.samples)};
  while (true) {
    now_ = next_time(until);
    plant_.advance(seconds(now_));
    switch_power();
    look();
    while (next_event_ < options_.events.size() && options_.events[next_event_].at <= now_) {
      apply(options_.events[next_event_++]);
      switch_power();
      look();
    }
    if (!hung_ && now_ >= next_run_) {
      next_run_ = controller_.run(now_, log_);
      if (calm()) next_run_ = std::max(next_run_, std::min(now_ + kCalmPoll, options_.calm_until));
      if (controller_.shut_down() && !out_.shutdown) {
        out_.shutdown = true;
        out_.shutdown_seconds = seconds(now_);
        out_.shutdown_cause = controller_.cause();
      }
    }
    watch();
    switch_power();
    if (now_ >= next_sample_) {
      take_sample();
      next_sample_ = now_ + sample_interval;
    }
    if (now_ >= until) break;
  }
}

void Operation::continue_from(const Operation& alike) {
  // The controller powers up as ever; what becomes of the plant meanwhile is known from the other.
  next_sample_ = alike.now_;
  while (controller_.state() == bmc::Controller::State::PoweringUp && now_ < alike.now_) {
    now_ = next_time(alike.now_);
    switch_power();
    look();
    if (now_ >= next_run_) next_run_ = controller_.run(now_, log_);
    watch();
  }
  now_ = next_run_ = last_kick_ = alike.now_;
  plant_.continue_from(alike.plant_);
  switch_power();
  look();
}

OperationResult Operation::result() const {
  OperationResult out = out_;
  out.seconds = seconds(now_);
  out.energy = plant_.accounts();
  out.balance_error = plant_.balance_error();
  out.pue = out.energy.equipment() > 0 ? out.energy.total() / out.energy.equipment() : 0;
  out.highest_flux = readings_.highest_flux;
  out.critical_flux = readings_.medium.critical_flux;
  out.coolant_lost_litres =
      1e3 * (coolant_at_start_kg_ - readings_.medium.coolant_kg) / readings_.medium.cold_density;
  out.log = log_;
  out.sensors = controller_.sensors();
  out.solver_steps = plant_.steps();
  return out;
}

OperationResult Operation::run() {
  advance(options_.duration);
  return result();
}

}  // namespace weft::power::operate
