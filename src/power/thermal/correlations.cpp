#include "power/thermal/correlations.hpp"

#include <algorithm>
#include <cmath>

namespace weft::power::thermal {

namespace {

double cube(double x) { return x * x * x; }
double fourth_root(double x) { return std::sqrt(std::sqrt(x)); }

/// The difference of densities of liquid and vapour.
struct Densities {
  double liquid, vapour;
  Densities(const Fluid& f, double celsius, double pascal)
      : liquid(f.density.at(celsius)), vapour(f.vapour_density(celsius, pascal)) {}
  double difference() const { return std::max(1e-3, liquid - vapour); }
};

/// Rohsenow's flux over the cube of the superheat.
double nucleate_factor(const Fluid& f, double boiling_c, double pascal, double surface_factor) {
  const Densities density(f, boiling_c, pascal);
  return f.viscosity.at(boiling_c) * f.latent_heat *
         std::sqrt(kGravity * density.difference() / f.surface_tension.at(boiling_c)) *
         cube(f.specific_heat /
              (surface_factor * f.latent_heat * std::pow(f.prandtl(boiling_c), f.prandtl_exponent)));
}

}  // namespace

double natural_convection(const Fluid& f, double fluid_c, double difference, double height) {
  const double film_c = fluid_c + difference / 2, k = f.conductivity.at(film_c),
               density = f.density.at(film_c);
  const double prandtl = f.prandtl(film_c);
  const double rayleigh = kGravity * f.expansion * std::abs(difference) * cube(height) * density * density *
                          prandtl / (f.viscosity.at(film_c) * f.viscosity.at(film_c));
  const double nusselt = 0.825 + 0.387 * std::pow(rayleigh, 1.0 / 6) /
                                     std::pow(1 + std::pow(0.492 / prandtl, 9.0 / 16), 8.0 / 27);
  return nusselt * nusselt * k / height;
}

double nucleate_flux(const Fluid& f, double boiling_c, double pascal, double superheat,
                     double surface_factor) {
  return superheat <= 0 ? 0 : nucleate_factor(f, boiling_c, pascal, surface_factor) * cube(superheat);
}

double nucleate_superheat(const Fluid& f, double boiling_c, double pascal, double flux,
                          double surface_factor) {
  return std::cbrt(flux / nucleate_factor(f, boiling_c, pascal, surface_factor));
}

double zuber_critical_flux(const Fluid& f, double boiling_c, double pascal) {
  const Densities density(f, boiling_c, pascal);
  return 0.131 * f.latent_heat * std::sqrt(density.vapour) *
         fourth_root(f.surface_tension.at(boiling_c) * kGravity * density.difference());
}

double critical_flux(const Fluid& f, double pascal, double subcooling) {
  const double boiling_c = f.saturation_c(pascal);
  double flux = zuber_critical_flux(f, boiling_c, pascal);
  if (f.critical_heat_flux > 0)
    flux *= f.critical_heat_flux / zuber_critical_flux(f, f.boiling_c, kAtmosphere);
  const Densities density(f, boiling_c, pascal);
  const double more = 0.1 * std::pow(density.liquid / density.vapour, 0.75) * f.specific_heat *
                      std::max(0.0, subcooling) / f.latent_heat;
  return flux * (1 + more);
}

double film_coefficient(const Fluid& f, double boiling_c, double pascal, double superheat, double length) {
  const double difference = std::max(1.0, superheat);
  const double film_c = boiling_c + difference / 2;
  const Densities density(f, film_c, pascal);
  const double heat = f.latent_heat + 0.4 * f.vapour_specific_heat * difference;
  return 0.62 * fourth_root(cube(f.vapour_conductivity) * density.vapour *
                            (f.density.at(boiling_c) - density.vapour) * kGravity * heat /
                            (f.vapour_viscosity * length * difference));
}

double least_film_flux(const Fluid& f, double boiling_c, double pascal) {
  const Densities density(f, boiling_c, pascal);
  const double sum = density.liquid + density.vapour;
  return 0.09 * density.vapour * f.latent_heat *
         fourth_root(kGravity * f.surface_tension.at(boiling_c) * density.difference() / (sum * sum));
}

double condensation_coefficient(const Fluid& f, double vapour_c, double pascal, double difference,
                                double diameter, unsigned rows) {
  const double film_c = vapour_c - difference / 2;
  const Densities density(f, film_c, pascal);
  const double heat = f.latent_heat + 0.68 * f.specific_heat * difference;
  return 0.729 * fourth_root(density.liquid * density.difference() * kGravity * heat *
                             cube(f.conductivity.at(film_c)) /
                             (rows * f.viscosity.at(film_c) * diameter * std::max(0.1, difference)));
}

double tube_coefficient(const Fluid& f, double fluid_c, double speed, double diameter) {
  const double k = f.conductivity.at(fluid_c);
  const double reynolds = f.density.at(fluid_c) * speed * diameter / f.viscosity.at(fluid_c);
  const double turbulent =
      0.023 * std::pow(std::max(reynolds, 1e-9), 0.8) * std::pow(f.prandtl(fluid_c), 0.4);
  return std::max(3.66, turbulent) * k / diameter;
}

BoilingCurve::BoilingCurve(const Fluid& fluid, double pascal, double liquid_c, const BoilingSurface& surface)
    : fluid_(fluid),
      pascal_(pascal),
      liquid_c_(liquid_c),
      boiling_c_(fluid.saturation_c(pascal)),
      surface_(surface),
      critical_(critical_flux(fluid, pascal, boiling_c_ - liquid_c) * surface.critical_factor),
      critical_superheat_(nucleate_superheat(fluid, boiling_c_, pascal, critical_, surface.surface_factor)) {}

const BoilingCurve::Film& BoilingCurve::film() const {
  if (film_) return *film_;
  double least = std::min(least_film_flux(fluid_, boiling_c_, pascal_), 0.5 * critical_);
  // The superheat at which the film carries the least flux; the coefficient falls slowly with it.
  double superheat = 2 * critical_superheat_;
  for (int i = 0; i < 20; ++i)
    superheat = least / film_coefficient(fluid_, boiling_c_, pascal_, superheat, surface_.length);
  superheat = std::max(superheat, 1.5 * critical_superheat_);
  least = superheat * film_coefficient(fluid_, boiling_c_, pascal_, superheat, surface_.length);
  film_ = Film{superheat, std::log(least / critical_) / std::log(superheat / critical_superheat_)};
  return *film_;
}

double BoilingCurve::flux(double wall_c) const {
  const double superheat = wall_c - boiling_c_, over_liquid = wall_c - liquid_c_;
  const double convection = natural_convection(fluid_, liquid_c_, over_liquid, surface_.length) * over_liquid;
  if (superheat <= 0) return convection;
  if (superheat <= critical_superheat_) {
    // Both at once near the onset of boiling; the sum of cubes lets the larger one lead.
    const double nucleate = critical_ * cube(superheat / critical_superheat_);
    return std::min(critical_, std::cbrt(cube(nucleate) + cube(convection)));
  }
  // Between the critical flux and a closed film: a straight line of logarithms.
  if (superheat < film().superheat)
    return critical_ * std::pow(superheat / critical_superheat_, film().slope);
  return superheat * film_coefficient(fluid_, boiling_c_, pascal_, superheat, surface_.length);
}

}  // namespace weft::power::thermal
