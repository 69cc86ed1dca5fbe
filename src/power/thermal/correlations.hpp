// How much heat a surface gives to a fluid or takes from it: published correlations, each with its source.
// Temperatures in C, differences in K, fluxes in W/m2, coefficients in W/(m2 K).
#pragma once

#include <optional>

#include "power/fluid.hpp"

namespace weft::power::thermal {

/// Natural convection on an upright plate (Churchill and Chu 1975); within 20% over all Rayleigh numbers.
double natural_convection(const Fluid& fluid, double fluid_c, double difference, double height);

/// Nucleate boiling (Rohsenow 1952): the flux at a superheat of the wall. `surface_factor` is Csf, of a
/// fluid on a surface. Its own error: 100% in the flux at a superheat, 25% in the superheat at a flux.
double nucleate_flux(const Fluid& fluid, double boiling_c, double pascal, double superheat,
                     double surface_factor);
/// The superheat at which nucleate boiling carries a flux.
double nucleate_superheat(const Fluid& fluid, double boiling_c, double pascal, double flux,
                          double surface_factor);

/// The flux beyond which vapour covers a surface (Zuber 1959, with his factor of 0.131); within 16%.
double zuber_critical_flux(const Fluid& fluid, double boiling_c, double pascal);
/// The critical flux published for a fluid, moved to another pressure as Zuber's is; Zuber's where none is.
/// Liquid below its boiling point carries more (Ivey and Morris 1962).
double critical_flux(const Fluid& fluid, double pascal, double subcooling);

/// Film boiling (Bromley 1950): the coefficient at a superheat, over a length; within 15%.
double film_coefficient(const Fluid& fluid, double boiling_c, double pascal, double superheat, double length);
/// The least flux of film boiling, where the film collapses (Zuber 1959, with Berenson's 0.09); within 50%.
double least_film_flux(const Fluid& fluid, double boiling_c, double pascal);

/// Film condensation on a row of horizontal tubes, one below the other (Nusselt 1916); within 10% where the
/// film is smooth.
double condensation_coefficient(const Fluid& fluid, double vapour_c, double pascal, double difference,
                                double diameter, unsigned rows);

/// Turbulent flow in a tube (Dittus and Boelter 1930, cooling of the wall), laminar below; within 25%.
double tube_coefficient(const Fluid& fluid, double fluid_c, double speed, double diameter);

/// What boiling on a surface depends on besides its temperature.
struct BoilingSurface {
  double surface_factor;   // Csf
  double critical_factor;  // of a coating, on the critical flux
  double length;           // m
};

/// A boiling curve: flux over the temperature of a wall, through convection, nucleate boiling, the critical
/// flux, transition and film boiling. Made once for a pressure and a temperature of the liquid.
class BoilingCurve {
 public:
  BoilingCurve(const Fluid& fluid, double pascal, double liquid_c, const BoilingSurface& surface);

  double flux(double wall_c) const;
  double boiling_c() const { return boiling_c_; }
  double critical() const { return critical_; }
  double critical_superheat() const { return critical_superheat_; }
  double film_superheat() const { return film().superheat; }

 private:
  const Fluid& fluid_;
  double pascal_, liquid_c_, boiling_c_;
  BoilingSurface surface_;
  double critical_, critical_superheat_;
  /// Where a closed film begins, and how the flux falls until then: dear, and of no use to a wall that stays
  /// below the critical flux, so made when first asked for.
  struct Film {
    double superheat, slope;
  };
  const Film& film() const;
  mutable std::optional<Film> film_;
};

}  // namespace weft::power::thermal
