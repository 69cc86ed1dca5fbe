// Coolants as tables of properties: what is exchanged when air, water or an engineered fluid takes the heat.
//
// Values hold at a reference temperature, with a slope where one matters; each has its source in fluid.cpp.
// SI units, temperatures in degrees Celsius.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::power {

/// A value at 25 C and what it changes by in each kelvin.
struct Property {
  double at_25c = 0, per_kelvin = 0;
  double at(double celsius) const;
};

struct Fluid {
  std::string name, about, source;
  double boiling_c = 0;            // at kAtmosphere
  double vapour_pressure_25c = 0;  // Pa; with the boiling point, the line of saturation
  double molar_mass = 0;           // kg/mol
  double latent_heat = 0;          // J/kg, at the boiling point
  Property density, conductivity, surface_tension, viscosity;
  double specific_heat = 0;  // of the liquid, or of the gas where it never is one
  double vapour_specific_heat = 0, vapour_conductivity = 0, vapour_viscosity = 0;
  double expansion = 0;           // 1/K, of the liquid
  double critical_heat_flux = 0;  // W/m2, published for a flat surface; 0: Zuber's correlation alone
  double prandtl_exponent = 1.7;  // of Rohsenow's correlation: 1 for water
  bool boils = true;

  double gas_constant() const;  // J/(kg K)
  double prandtl(double celsius) const;
  /// Pressure at which liquid and vapour are in balance, Pa.
  double saturation_pressure(double celsius) const;
  double saturation_c(double pascal) const;
  double vapour_density(double celsius, double pascal) const;
  /// J/kg over liquid at 0 C. The latent heat is their difference at one temperature.
  double liquid_enthalpy(double celsius) const { return specific_heat * celsius; }
  double vapour_enthalpy(double celsius) const;
};

inline constexpr double kAtmosphere = 101'325, kKelvin = 273.15, kGravity = 9.80665;

const std::vector<Fluid>& fluids();
const Fluid* find_fluid(std::string_view name);
std::vector<std::string> fluid_names();

}  // namespace weft::power
