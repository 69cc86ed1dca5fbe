// Two-phase immersion: boards in a closed tank of liquid that boils on chips and condenses on coils of water.
//
// After GreenICE. The gas over the liquid is in two layers, vapour below (it is heavier) and air above. Air
// over the coils is compressed and keeps vapour from them, until a relief valve has let enough of it out:
// from then on what boils condenses, and the pressure stays. States are masses and energies, so that what
// leaves one place enters another to the last joule.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "power/thermal/correlations.hpp"
#include "power/thermal/medium.hpp"

namespace weft::power::thermal {

namespace {

struct ImmersionParameters {
  std::string fluid = "novec-649";
  double volume_litres = 100;  // free: without boards
  double fill_litres = 70;
  Length height{450}, boards_bottom{30}, boards_top{250}, coil_bottom{330}, coil_top{420};
  unsigned coils = 1, coil_rows = 6, coil_tubes = 2;
  double coil_area_m2 = 1, coil_wetting = 0.5;
  Length tube{16};
  double flow_lpm = 20, inlet_c = 25, pump_watts = 50;
  double relief_mbar = 200, relief_lps_per_mbar = 0.05;
  double ambient_c = 20, ambient_mbar = 1013.25;
  double wall_in = 30, wall_out = 3, wall_heat = 30'000;  // W/K, W/K, J/K
  double coil_heat = 6'000;                               // J/K, with its water
  double bare_surface = 0.0062, coated_surface = 0.0022, coated_critical = 1.5;
  double opening_m2 = 0.1, opening_speed = 0.01;
};

constexpr double kAirConstant = 287.05, kAirHeat = 1005;
/// Bubbles live in liquid that is less than this below its boiling point; K.
constexpr double kBubbleBand = 3;
constexpr double kSurfaceExchange = 0.004;  // m/s, of vapour between liquid and gas
constexpr double kGasCoefficient = 10;      // W/(m2 K), of gas on surfaces
constexpr double kFlashSeconds = 5;

enum State { kLiquid, kVapour, kAir, kLiquidEnergy, kGasEnergy, kCoil, kWall, kStates };

class Immersion final : public Medium {
 public:
  explicit Immersion(const ImmersionParameters& p)
      : p_(p),
        fluid_(*find_fluid(p.fluid)),
        water_(*find_fluid("water")),
        volume_(p.volume_litres * 1e-3),
        footprint_(volume_ / metres(p.height)),
        ambient_(p.ambient_mbar * 100),
        above_coil_((metres(p.height) - metres(p.coil_top)) * footprint_),
        above_coil_bottom_((metres(p.height) - metres(p.coil_bottom)) * footprint_),
        coil_area_(p.coils * p.coil_area_m2 * (1 - p.coil_wetting)) {}

  std::size_t size() const override { return kStates; }
  double ambient_c() const override { return p_.ambient_c; }
  bool has_liquid_level() const override { return true; }

  void start(double* y) const override {
    const double celsius = p_.ambient_c, kelvin = celsius + kKelvin;
    const double fill = p_.fill_litres * 1e-3, gas = volume_ - fill;
    const double vapour = std::min(fluid_.saturation_pressure(celsius), 0.9 * ambient_);
    y[kLiquid] = fill * fluid_.density.at(celsius);
    y[kVapour] = vapour * gas / (fluid_.gas_constant() * kelvin);
    y[kAir] = (ambient_ - vapour) * gas / (kAirConstant * kelvin);
    y[kLiquidEnergy] = y[kLiquid] * fluid_.liquid_enthalpy(celsius);
    y[kGasEnergy] = y[kVapour] * (fluid_.vapour_enthalpy(celsius) - fluid_.gas_constant() * kelvin) +
                    y[kAir] * (kAirHeat * celsius - kAirConstant * kelvin);
    y[kCoil] = y[kWall] = celsius;
  }

  void tolerances(double* absolute) const override {
    absolute[kLiquid] = 1e-4;
    absolute[kVapour] = absolute[kAir] = 1e-6;
    absolute[kLiquidEnergy] = 10;
    absolute[kGasEnergy] = 1;
    absolute[kCoil] = absolute[kWall] = 1e-3;
  }

  double stored(const double* y) const override {
    return y[kLiquidEnergy] + y[kGasEnergy] + p_.coil_heat * y[kCoil] + p_.wall_heat * y[kWall];
  }

  void prepare(const double* y, const Surroundings&) override {
    liquid_mass_ = std::max(y[kLiquid], 1e-3);
    vapour_mass_ = std::max(y[kVapour], 1e-7);
    air_mass_ = std::max(y[kAir], 1e-7);
    liquid_c_ = std::clamp(y[kLiquidEnergy] / (liquid_mass_ * fluid_.specific_heat), -50.0, 150.0);
    const double liquid_volume = liquid_mass_ / fluid_.density.at(liquid_c_);
    gas_volume_ = std::max(volume_ - liquid_volume, 0.02 * volume_);
    const double constant = fluid_.gas_constant();
    gas_c_ =
        (y[kGasEnergy] - vapour_mass_ * (fluid_.vapour_enthalpy(0) - constant * kKelvin) +
         air_mass_ * kAirConstant * kKelvin) /
        (vapour_mass_ * (fluid_.vapour_specific_heat - constant) + air_mass_ * (kAirHeat - kAirConstant));
    gas_c_ = std::clamp(gas_c_, -50.0, 400.0);
    const double kelvin = gas_c_ + kKelvin;
    vapour_pressure_ = vapour_mass_ * constant * kelvin / gas_volume_;
    pressure_ = vapour_pressure_ + air_mass_ * kAirConstant * kelvin / gas_volume_;
    boiling_c_ = fluid_.saturation_c(std::max(pressure_, 1e3));
    air_volume_ = gas_volume_ * (1 - vapour_pressure_ / pressure_);
    coverage_ = std::clamp((above_coil_bottom_ - air_volume_) / (above_coil_bottom_ - above_coil_), 0.0, 1.0);
    level_ = liquid_volume / footprint_;
    wetted_ = std::clamp(
        (level_ - metres(p_.boards_bottom)) / (metres(p_.boards_top) - metres(p_.boards_bottom)), 0.0, 1.0);
    curves_.clear();
  }

  SurfaceHeat surface_heat(const Part& part, double surface_c) const override {
    const double area = part.area_cm2 * 1e-4;
    return {area * wetted_ * curve(part).flux(surface_c),
            area * (1 - wetted_) * kGasCoefficient * (surface_c - gas_c_)};
  }

  EnergyFlows derivative(const double* y, const Surroundings& around, SurfaceHeat heat, double* dy) override {
    const double to_room = p_.wall_out * (y[kWall] - p_.ambient_c - around.ambient_shift);
    const double to_wall = p_.wall_in * (liquid_c_ - y[kWall]);
    dy[kWall] = (to_wall - to_room) / p_.wall_heat;

    // Vapour from boiling, from liquid above its boiling point, and through the surface.
    const double vapour_heat = fluid_.vapour_enthalpy(boiling_c_);
    const double there = std::min(1.0, y[kLiquid] / 0.5);
    const double surviving = std::clamp(1 + (liquid_c_ - boiling_c_) / kBubbleBand, 0.0, 1.0);
    const double latent = vapour_heat - fluid_.liquid_enthalpy(liquid_c_);
    const double boiled = there * (surviving * std::max(0.0, heat.to_liquid) / latent +
                                   std::max(0.0, liquid_c_ - boiling_c_) * fluid_.specific_heat *
                                       liquid_mass_ / (latent * kFlashSeconds));
    const double exchanged = there * kSurfaceExchange * footprint_ *
                             (fluid_.saturation_pressure(liquid_c_) - vapour_pressure_) /
                             (fluid_.gas_constant() * (gas_c_ + kKelvin));
    const double exchanged_heat = exchanged * fluid_.vapour_enthalpy(exchanged > 0 ? liquid_c_ : gas_c_);
    const double through_surface = kGasCoefficient * footprint_ * (liquid_c_ - gas_c_);

    // Condensation where vapour reaches the coils; they warm the air above otherwise, or are warmed by it.
    const double below = std::max(0.0, boiling_c_ - y[kCoil]);
    const double vapour_left = std::min(1.0, y[kVapour] / 0.01);
    const double condensing = below <= 0 ? 0
                                         : vapour_left * coil_area_ * around.coil_share * coverage_ * below *
                                               condensation_coefficient(fluid_, boiling_c_, pressure_, below,
                                                                        metres(p_.tube), p_.coil_rows);
    const double condensate_heat = fluid_.liquid_enthalpy(boiling_c_ - below / 2);
    const double condensed = condensing / (fluid_.vapour_enthalpy(gas_c_) - condensate_heat);
    const double to_coil_from_air = kGasCoefficient * coil_area_ * (1 - coverage_) * (gas_c_ - y[kCoil]);
    const double to_water = water_heat(y[kCoil], around);
    dy[kCoil] = (condensing + to_coil_from_air - to_water) / p_.coil_heat;

    const Exchange out = through_openings(around);
    const double leaked = there * around.leak * fluid_.density.at(liquid_c_);
    const double leaked_heat = leaked * fluid_.liquid_enthalpy(liquid_c_);

    dy[kLiquid] = condensed - boiled - exchanged - leaked;
    dy[kVapour] = boiled + exchanged - condensed - out.vapour;
    dy[kAir] = -out.air;
    dy[kLiquidEnergy] = heat.to_liquid - boiled * vapour_heat - exchanged_heat - through_surface +
                        condensed * condensate_heat - leaked_heat - to_wall;
    dy[kGasEnergy] = heat.to_gas + boiled * vapour_heat + exchanged_heat + through_surface -
                     condensed * fluid_.vapour_enthalpy(gas_c_) - to_coil_from_air - out.heat;

    EnergyFlows flows;
    flows.pump = p_.pump_watts * std::pow(around.pump, 3);
    flows.stream = to_water + flows.pump;
    flows.room = to_room;
    flows.lost = out.heat + leaked_heat;
    return flows;
  }

  MediumReadings read(const double* y, const Surroundings& around) override {
    prepare(y, around);
    MediumReadings out;
    out.liquid_c = liquid_c_;
    out.vapour_c = gas_c_;
    out.ambient_c = p_.ambient_c + around.ambient_shift;
    out.inlet_c = p_.inlet_c + around.inlet_shift;
    const double carried = water_rate(around);
    // Water that stands still takes the temperature of the coil.
    out.outlet_c = around.pump > 1e-3 ? out.inlet_c + water_heat(y[kCoil], around) / carried : y[kCoil];
    out.overpressure_pa = pressure_ - ambient_;
    out.flow = p_.flow_lpm / 60e3 * around.pump;
    out.flow_nominal = p_.flow_lpm / 60e3;
    out.pipe_area = 3.14159265358979 / 4 * 0.02 * 0.02;
    out.level_m = level_;
    out.level_nominal_m = p_.fill_litres * 1e-3 / footprint_;
    out.coolant_litres = 1e3 * level_ * footprint_;
    out.coolant_kg = y[kLiquid] + y[kVapour];
    out.cold_density = fluid_.density.at(p_.ambient_c);
    out.vapour_share = coverage_;
    out.boiling_c = boiling_c_;
    out.critical_flux = critical_flux(fluid_, std::max(pressure_, 1e3), boiling_c_ - liquid_c_);
    return out;
  }

 private:
  static double metres(Length length) { return static_cast<double>(length.value) * 1e-3; }

  /// One curve for each kind of surface, made when it is first needed in a state.
  const BoilingCurve& curve(const Part& part) const {
    const double length = std::sqrt(part.area_cm2 * 1e-4);
    for (const auto& [key, made] : curves_)
      if (key.first == part.surface && key.second == length) return made;
    const bool coated = part.surface == Surface::Coated;
    const BoilingSurface surface{coated ? p_.coated_surface : p_.bare_surface,
                                 coated ? p_.coated_critical : 1, length};
    curves_.push_back(
        {{part.surface, length}, BoilingCurve(fluid_, std::max(pressure_, 1e3), liquid_c_, surface)});
    return curves_.back().second;
  }

  double water_rate(const Surroundings& around) const {
    return std::max(1e-9,
                    water_.density.at(p_.inlet_c) * water_.specific_heat * p_.flow_lpm / 60e3 * around.pump);
  }

  /// From the coil's metal to the water in it.
  double water_heat(double coil_c, const Surroundings& around) const {
    const double bore = 0.875 * metres(p_.tube), inlet_c = p_.inlet_c + around.inlet_shift;
    const double speed =
        p_.flow_lpm / 60e3 * around.pump / (p_.coil_tubes * p_.coils * 0.785398 * bore * bore);
    const double inner_area = p_.coils * p_.coil_area_m2 * 0.875;
    const double rate = water_rate(around);
    const double units = tube_coefficient(water_, inlet_c, speed, bore) * inner_area / rate;
    return rate * (1 - std::exp(-units)) * (coil_c - inlet_c);
  }

  struct Exchange {
    double vapour = 0, air = 0, heat = 0;  // kg/s and W, outwards
  };

  /// What the relief valve and an open lid let out and in.
  Exchange through_openings(const Surroundings& around) const {
    Exchange out;
    const double kelvin = gas_c_ + kKelvin, room_c = p_.ambient_c + around.ambient_shift;
    auto let_out = [&](double volume, double air_share) {  // m3/s
      const double air = volume * air_share * pressure_ / (kAirConstant * kelvin);
      const double vapour = volume * (1 - air_share) * pressure_ / (fluid_.gas_constant() * kelvin);
      out.air += air;
      out.vapour += vapour;
      out.heat += air * kAirHeat * gas_c_ + vapour * fluid_.vapour_enthalpy(gas_c_);
    };
    auto let_in = [&](double volume) {
      const double air = volume * ambient_ / (kAirConstant * (room_c + kKelvin));
      out.air -= air;
      out.heat -= air * kAirHeat * room_c;
    };
    const double over = pressure_ - ambient_;
    const double on_top = std::clamp(air_volume_ / std::max(above_coil_, 1e-6), 0.0, 1.0);
    if (!around.relief_blocked && over > p_.relief_mbar * 100)
      let_out((over - p_.relief_mbar * 100) * 0.01 * p_.relief_lps_per_mbar * 1e-3, on_top);
    if (around.open) {
      const double wide = 1e-5;  // m3/s for each pascal: at once, next to all else
      over > 0 ? let_out(over * wide, on_top) : let_in(-over * wide);
      const double swapped = p_.opening_m2 * p_.opening_speed;
      let_out(swapped, air_volume_ / gas_volume_);
      let_in(swapped);
    }
    return out;
  }

  ImmersionParameters p_;
  const Fluid &fluid_, &water_;
  double volume_, footprint_, ambient_, above_coil_, above_coil_bottom_, coil_area_;
  // Of the state looked at.
  double liquid_mass_ = 0, vapour_mass_ = 0, air_mass_ = 0, liquid_c_ = 0, gas_c_ = 0, gas_volume_ = 0;
  double vapour_pressure_ = 0, pressure_ = 0, boiling_c_ = 0, air_volume_ = 0, coverage_ = 0, level_ = 0;
  double wetted_ = 0;
  mutable std::vector<std::pair<std::pair<Surface, double>, BoilingCurve>> curves_;
};

void check(const ImmersionParameters& p, const config::Complain& complain) {
  const Fluid* fluid = find_fluid(p.fluid);
  if (!fluid || !fluid->boils)
    complain("fluid", fmt::format("expected a fluid that boils, got '{}'{}; there are {}", p.fluid,
                                  did_you_mean(p.fluid, fluid_names()), join(fluid_names(), ", ")));
  if (p.fill_litres > 0.95 * p.volume_litres)
    complain("fill_litres", fmt::format("a tank of {} l needs room for vapour", p.volume_litres));
  if (!(p.boards_bottom < p.boards_top && p.boards_top < p.coil_bottom && p.coil_bottom < p.coil_top &&
        p.coil_top < p.height))
    complain("height", "expected boards_bottom, boards_top, coil_bottom, coil_top and height to rise");
}

using P = ImmersionParameters;
using config::Range;
const Range<Length> kHeights{{1}, {10'000}};

WEFT_REGISTER(
    CoolingKind,
    {"immersion", "boards in a closed tank of liquid that boils on chips and condenses on coils of water",
     config::Schema<P>()
         .field(&P::fluid, "fluid", "What boils: novec-649, fc-72, hfe-7100 or water")
         .field(&P::volume_litres, "volume_litres", "Volume of the tank that boards leave free, l",
                Range<double>{1, 1e5})
         .field(&P::fill_litres, "fill_litres", "Liquid in it, cold; l", Range<double>{0.5, 1e5})
         .field(&P::height, "height", "Height of the tank inside", kHeights)
         .field(&P::boards_bottom, "boards_bottom", "Height of the lowest chips", kHeights)
         .field(&P::boards_top, "boards_top", "Height of the highest chips", kHeights)
         .field(&P::coil_bottom, "coil_bottom", "Height at which the condenser begins", kHeights)
         .field(&P::coil_top, "coil_top", "Height at which it ends", kHeights)
         .field(&P::coils, "coils", "Coils of the condenser", Range<unsigned>{1, 16})
         .field(&P::coil_rows, "coil_rows", "Rows of tubes, one below the other", Range<unsigned>{1, 100})
         .field(&P::coil_tubes, "coil_tubes", "Tubes side by side that the water of a coil takes",
                Range<unsigned>{1, 100})
         .field(&P::coil_area_m2, "coil_area_m2", "Outer surface of a coil, m2", Range<double>{0.001, 1e4})
         .field(&P::coil_wetting, "coil_wetting", "Share of it that liquid sticks to and insulates",
                Range<double>{0, 0.99})
         .field(&P::tube, "tube", "Outer diameter of the tubes", Range<Length>{{2}, {200}})
         .field(&P::flow_lpm, "flow_lpm", "Water through all coils, l/min", Range<double>{0.01, 1e5})
         .field(&P::inlet_c, "inlet_c", "Temperature of the water that comes in, C", Range<double>{0, 90})
         .field(&P::pump_watts, "pump_watts", "Electricity of its pump, W", Range<double>{0, 1e5})
         .field(&P::relief_mbar, "relief_mbar", "Overpressure from which the relief valve lets gas out, mbar",
                Range<double>{1, 5000})
         .field(&P::relief_lps_per_mbar, "relief_lps_per_mbar",
                "What it lets out, l/s for each mbar above that", Range<double>{1e-4, 100})
         .field(&P::ambient_c, "ambient_c", "Temperature of the room, C", Range<double>{-20, 60})
         .field(&P::ambient_mbar, "ambient_mbar", "Pressure of the room, mbar", Range<double>{500, 1100})
         .field(&P::wall_in, "wall_in", "From liquid to wall, W/K", Range<double>{0, 1e5})
         .field(&P::wall_out, "wall_out", "From wall to room, W/K", Range<double>{0, 1e5})
         .field(&P::wall_heat, "wall_heat", "Heat the wall stores, J/K", Range<double>{1, 1e8})
         .field(&P::coil_heat, "coil_heat", "Heat the coils and their water store, J/K",
                Range<double>{1, 1e8})
         .field(&P::bare_surface, "bare_surface", "Rohsenow's surface factor of bare chips",
                Range<double>{1e-4, 0.1})
         .field(&P::coated_surface, "coated_surface", "The same with a boiling enhancement coating",
                Range<double>{1e-4, 0.1})
         .field(&P::coated_critical, "coated_critical",
                "What the coating multiplies the critical heat flux by", Range<double>{0.1, 10})
         .field(&P::opening_m2, "opening_m2", "Area of the open lid, m2", Range<double>{0, 100})
         .field(&P::opening_speed, "opening_speed", "Speed of the air that goes in and out there, m/s",
                Range<double>{0, 10})
         .check(check)
         .section(),
     [](const void* parameters) -> std::shared_ptr<Medium> {
       return std::make_shared<Immersion>(*static_cast<const P*>(parameters));
     }});

}  // namespace

}  // namespace weft::power::thermal
