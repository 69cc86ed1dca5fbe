#include "power/thermal/plant.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"

namespace weft::power::thermal {

namespace {

/// Where the accounts lie, after the roles.
enum Account { kConversion = kRoles, kController, kPump, kFacility, kStream, kRoom, kLost, kAccounts };

bool computes(Role role) { return role == Role::Processor || role == Role::Accelerator; }

}  // namespace

double Accounts::parts() const { return std::accumulate(roles.begin(), roles.end(), 0.0); }

Plant::Plant(const Body& body, double relative)
    : body_(body), medium_(body.cooling->make(body.cooling_parameters.get())) {
  WEFT_CHECK(body.described(), "a plant needs levels, parts and cooling");
  zones_.resize(body.supply.shared ? 1 : body.supply.count);
  nodes_of_zone_ = std::max(1u, body.nodes() / static_cast<unsigned>(zones_.size()));
  working_supplies = body.supply.count;
  const std::size_t chips = 2 * zones_.size() * body.parts.size();
  medium_at_ = chips;
  accounts_at_ = chips + medium_->size();
  std::vector<double> start(accounts_at_ + kAccounts, 0), absolute(start.size(), 1);
  std::fill_n(start.begin(), chips, medium_->ambient_c());
  std::fill_n(absolute.begin(), chips, 1e-3);
  medium_->start(start.data() + medium_at_);
  medium_->tolerances(absolute.data() + medium_at_);
  // Accounts follow from the other states: they must not make steps shorter.
  std::fill(absolute.begin() + static_cast<std::ptrdiff_t>(accounts_at_), absolute.end(), 100.0);
  solver_ = std::make_unique<Solver>([this](const double* y, double* dy) { derivative(y, dy); }, start,
                                     absolute, relative);
  stored_at_start_ = stored();
}

double Plant::part_watts(const Part& part, const Zone& zone, double junction_c) const {
  return zone.powered ? chip_watts(part, zone.load, junction_c) : 0;
}

double Plant::supply_input(double output, unsigned supplies) const {
  if (output <= 0 || supplies == 0) return 0;
  const double share = output / (supplies * body_.supply.watts);
  return output / body_.supply.efficiency_at(share);
}

void Plant::derivative(const double* y, double* dy) {
  double* accounts = dy + accounts_at_;
  std::fill_n(accounts, static_cast<std::size_t>(kAccounts), 0.0);
  medium_->prepare(y + medium_at_, around);
  SurfaceHeat heat;
  double lost_in_supplies = 0, outside = 0;
  const double nodes = nodes_of_zone_;
  for (std::size_t z = 0; z < zones_.size(); ++z) {
    double drawn = 0;
    for (std::size_t i = 0; i < body_.parts.size(); ++i) {
      const Part& part = body_.parts[i];
      const std::size_t at = 2 * (z * body_.parts.size() + i);
      const double junction = y[at], surface = y[at + 1], count = nodes * part.per_node;
      const double watts = part_watts(part, zones_[z], junction);
      const double inner = (junction - surface) / std::max(part.resistance, 1e-6);
      const SurfaceHeat given = medium_->surface_heat(part, surface);
      dy[at] = (watts - inner) / part.die_heat;
      dy[at + 1] = (inner - given.to_liquid - given.to_gas) / part.package_heat;
      heat.to_liquid += count * given.to_liquid;
      heat.to_gas += count * given.to_gas;
      accounts[static_cast<std::size_t>(part.role)] += count * watts;
      drawn += count * watts;
    }
    const double output = drawn / body_.supply.converter_efficiency;
    lost_in_supplies += supply_input(output, body_.supply.shared ? working_supplies : 1) - output;
    // Converters sit on the boards, supplies may stand elsewhere.
    heat.to_liquid += output - drawn;
    accounts[kConversion] += output - drawn;
  }
  accounts[kConversion] += lost_in_supplies;
  (body_.supply.in_coolant ? heat.to_liquid : outside) += lost_in_supplies;
  accounts[kController] = body_.controller.watts;
  const EnergyFlows flows = medium_->derivative(y + medium_at_, around, heat, dy + medium_at_);
  accounts[kPump] = flows.pump;
  accounts[kFacility] = flows.facility;
  accounts[kStream] = flows.stream;
  accounts[kRoom] = flows.room + outside + body_.controller.watts;
  accounts[kLost] = flows.lost;
}

PlantReadings Plant::read() {
  const double* y = solver_->state();
  PlantReadings out;
  out.medium = medium_->read(y + medium_at_, around);
  out.speed.assign(zones_.size(), 1);
  out.hottest_c = -1e9;
  double input = 0;
  for (std::size_t z = 0; z < zones_.size(); ++z) {
    double drawn = 0;
    for (std::size_t i = 0; i < body_.parts.size(); ++i) {
      const Part& part = body_.parts[i];
      const std::size_t at = 2 * (z * body_.parts.size() + i);
      const double count = nodes_of_zone_ * part.per_node, watts = part_watts(part, zones_[z], y[at]);
      out.junction_c.push_back(y[at]);
      if (computes(part.role)) out.speed[z] = std::min(out.speed[z], part.speed(y[at]));
      out.role_watts[static_cast<std::size_t>(part.role)] += count * watts;
      drawn += count * watts;
      if (y[at] > out.hottest_c) out.hottest_c = y[at], out.hottest_part = i;
      const SurfaceHeat given = medium_->surface_heat(part, y[at + 1]);
      out.highest_flux =
          std::max(out.highest_flux, (given.to_liquid + given.to_gas) / (part.area_cm2 * 1e-4));
    }
    const double output = drawn / body_.supply.converter_efficiency;
    out.zone_watts.push_back(output);
    out.supplied_watts += output;
    input += supply_input(output, body_.supply.shared ? working_supplies : 1);
  }
  out.equipment_watts = input + body_.controller.watts;
  std::vector<double> change(accounts_at_ + kAccounts);
  derivative(y, change.data());
  out.pump_watts = change[accounts_at_ + kPump];
  out.facility_watts = change[accounts_at_ + kFacility];
  return out;
}

void Plant::continue_from(const Plant& alike) {
  const std::size_t chips = 2 * body_.parts.size();
  WEFT_CHECK(alike.medium_at_ == chips && alike.body_.nodes() == body_.nodes(),
             "plants of different machines");
  const double* from = alike.solver_->state();
  std::vector<double> state;
  for (std::size_t z = 0; z < zones_.size(); ++z) state.insert(state.end(), from, from + chips);
  state.insert(state.end(), from + chips, from + alike.accounts_at_ + kAccounts);
  around = alike.around;
  solver_->restart(alike.now(), state);
}

Chip Plant::chip(std::size_t zone, std::size_t part) const {
  const double* at = solver_->state() + 2 * (zone * body_.parts.size() + part);
  return {at[0], at[1]};
}

Chip Plant::chip_after(Chip chip, std::size_t part, double load, double seconds) const {
  return thermal::chip_after(chip, body_.parts[part], load, *medium_, seconds);
}

Accounts Plant::accounts() const {
  const double* at = solver_->state() + accounts_at_;
  Accounts out;
  std::copy_n(at, kRoles, out.roles.begin());
  out.conversion = at[kConversion];
  out.controller = at[kController];
  out.pump = at[kPump];
  out.facility = at[kFacility];
  out.stream = at[kStream];
  out.room = at[kRoom];
  out.lost = at[kLost];
  return out;
}

double Plant::stored() const {
  const double* y = solver_->state();
  double sum = medium_->stored(y + medium_at_);
  for (std::size_t z = 0; z < zones_.size(); ++z)
    for (std::size_t i = 0; i < body_.parts.size(); ++i) {
      const Part& part = body_.parts[i];
      const std::size_t at = 2 * (z * body_.parts.size() + i);
      sum += nodes_of_zone_ * part.per_node * (part.die_heat * y[at] + part.package_heat * y[at + 1]);
    }
  return sum;
}

double Plant::balance_error() const {
  const Accounts a = accounts();
  const double entered = a.total();
  if (entered <= 0) return 0;
  return (entered - a.stream - a.room - a.lost - (stored() - stored_at_start_)) / entered;
}

}  // namespace weft::power::thermal
