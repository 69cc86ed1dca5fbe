#include "power/fluid.hpp"

#include <algorithm>
#include <cmath>

namespace weft::power {

namespace {

constexpr double kMolarGasConstant = 8.314462618;

Fluid make_novec() {
  Fluid novec;
  novec.name = "novec-649";
  novec.about = "3M Novec 649, a fluoroketone";
  novec.source =
      "003_a07a75d9e8ce80e7.txt table 2.1 (boiling point, conductivity, density, specific and latent heat, "
      "critical heat flux); 3M product information Novec 649 (molar mass, vapour pressure, surface tension, "
      "viscosity); assumed: slopes and properties of the vapour, typical of the class";
  novec.boiling_c = 49;
  novec.vapour_pressure_25c = 40'400;
  novec.molar_mass = 0.31604;
  novec.latent_heat = 88e3;
  novec.density = {1610, -3.2};
  novec.conductivity = {0.059, -1.9e-4};
  novec.surface_tension = {10.8e-3, -9e-5};
  novec.viscosity = {0.64e-3, -7.5e-6};
  novec.specific_heat = 1103;
  novec.vapour_specific_heat = 891;
  novec.vapour_conductivity = 0.0127;
  novec.vapour_viscosity = 1.2e-5;
  novec.expansion = 1.8e-3;
  novec.critical_heat_flux = 200e3;
  return novec;
}

Fluid make_fc72() {
  Fluid fc72 = make_novec();
  fc72.name = "fc-72";
  fc72.about = "3M Fluorinert FC-72, a perfluorocarbon";
  fc72.source =
      "003_a07a75d9e8ce80e7.txt table 2.1 (as for novec-649); 3M product information FC-72 (molar mass, "
      "vapour "
      "pressure, surface tension, viscosity); assumed: slopes and properties of the vapour";
  fc72.boiling_c = 56;
  fc72.vapour_pressure_25c = 30'900;
  fc72.molar_mass = 0.338;
  fc72.density = {1680, -2.6};
  fc72.conductivity = {0.057, -1.1e-4};
  fc72.surface_tension = {10e-3, -8e-5};
  fc72.specific_heat = 1050;
  fc72.critical_heat_flux = 220e3;
  fc72.expansion = 1.6e-3;
  return fc72;
}

Fluid make_hfe() {
  Fluid hfe = make_novec();
  hfe.name = "hfe-7100";
  hfe.about = "3M Novec HFE-7100, a hydrofluoroether";
  hfe.source =
      "3M product information HFE-7100; assumed: slopes and properties of the vapour; critical heat flux by "
      "Zuber's correlation";
  hfe.boiling_c = 61;
  hfe.vapour_pressure_25c = 26'900;
  hfe.molar_mass = 0.250;
  hfe.latent_heat = 112e3;
  hfe.density = {1510, -2.3};
  hfe.conductivity = {0.069, -2e-4};
  hfe.surface_tension = {13.6e-3, -1e-4};
  hfe.viscosity = {0.58e-3, -5e-6};
  hfe.specific_heat = 1183;
  hfe.expansion = 1.8e-3;
  hfe.critical_heat_flux = 0;
  return hfe;
}

Fluid make_water() {
  Fluid water;
  water.name = "water";
  water.about = "water";
  water.source =
      "003_a07a75d9e8ce80e7.txt table 2.1 (boiling point, conductivity, density, specific and latent heat, "
      "critical heat flux); IAPWS tables (the rest)";
  water.boiling_c = 100;
  water.vapour_pressure_25c = 3'169;
  water.molar_mass = 0.018015;
  water.latent_heat = 2264e3;
  water.density = {1000, -0.53};
  water.conductivity = {0.597, 1.1e-3};
  water.surface_tension = {72e-3, -1.75e-4};
  water.viscosity = {0.89e-3, -8e-6};
  water.specific_heat = 4184;
  water.vapour_specific_heat = 2080;
  water.vapour_conductivity = 0.0248;
  water.vapour_viscosity = 1.23e-5;
  water.expansion = 2.6e-4;
  water.critical_heat_flux = 1000e3;
  water.prandtl_exponent = 1;
  return water;
}

Fluid make_air() {
  Fluid air;
  air.name = "air";
  air.about = "air";
  air.source =
      "003_a07a75d9e8ce80e7.txt table 2.1 (conductivity, specific heat); the ideal gas (density); "
      "tables of dry air (viscosity)";
  air.boiling_c = -190;
  air.molar_mass = 0.028965;
  air.density = {1.184, -0.004};
  air.conductivity = {0.0262, 7e-5};
  air.viscosity = {1.85e-5, 4.5e-8};
  air.specific_heat = air.vapour_specific_heat = 1000;
  air.vapour_conductivity = 0.0262;
  air.vapour_viscosity = 1.85e-5;
  air.expansion = 3.35e-3;
  air.boils = false;
  return air;
}

/// The slope of ln(pressure) over -1/T, from the boiling point and the vapour pressure at 25 C.
double saturation_slope(const Fluid& f) {
  return std::log(kAtmosphere / f.vapour_pressure_25c) / (1 / (25 + kKelvin) - 1 / (f.boiling_c + kKelvin));
}

}  // namespace

double Property::at(double celsius) const {
  // Lines, and lines end somewhere: no property falls below a twentieth of what it is at 25 C.
  return std::max(at_25c + per_kelvin * (celsius - 25), 0.05 * at_25c);
}

double Fluid::gas_constant() const { return kMolarGasConstant / molar_mass; }

double Fluid::prandtl(double celsius) const {
  return viscosity.at(celsius) * specific_heat / conductivity.at(celsius);
}

double Fluid::saturation_pressure(double celsius) const {
  return kAtmosphere *
         std::exp(saturation_slope(*this) * (1 / (boiling_c + kKelvin) - 1 / (celsius + kKelvin)));
}

double Fluid::saturation_c(double pascal) const {
  return 1 / (1 / (boiling_c + kKelvin) - std::log(pascal / kAtmosphere) / saturation_slope(*this)) - kKelvin;
}

double Fluid::vapour_density(double celsius, double pascal) const {
  return pascal / (gas_constant() * (celsius + kKelvin));
}

double Fluid::vapour_enthalpy(double celsius) const {
  return specific_heat * boiling_c + latent_heat + vapour_specific_heat * (celsius - boiling_c);
}

const std::vector<Fluid>& fluids() {
  static const std::vector<Fluid> all{make_air(), make_water(), make_novec(), make_fc72(), make_hfe()};
  return all;
}

const Fluid* find_fluid(std::string_view name) {
  for (const Fluid& fluid : fluids())
    if (fluid.name == name) return &fluid;
  return nullptr;
}

std::vector<std::string> fluid_names() {
  std::vector<std::string> out;
  for (const Fluid& fluid : fluids()) out.push_back(fluid.name);
  return out;
}

}  // namespace weft::power
