#include "power/thermal/chip.hpp"

#include <algorithm>
#include <cmath>

namespace weft::power::thermal {

namespace {

constexpr double kBurnt = 60, kBurntBand = 60;  // K beyond the limit
constexpr double kLongestStep = 0.1;            // s
constexpr double kMostSteps = 500;              // after so many it stands where it will stay

/// The two equations of a chip, and one implicit step of them.
class Equations {
 public:
  Equations(const Part& part, double load, const Medium& medium)
      : part_(part), load_(load), medium_(medium), conductance_(1 / std::max(part.resistance, 1e-6)) {}

  Chip change(Chip c) const {
    const double inner = (c.junction_c - c.surface_c) * conductance_;
    return {(chip_watts(part_, load_, c.junction_c) - inner) / part_.die_heat,
            (inner - given(c.surface_c)) / part_.package_heat};
  }

  /// The x with x = from + step * change(x), by Newton's method.
  Chip implicit(Chip from, double step) const {
    Chip x = from;
    for (int i = 0; i < 12; ++i) {
      const Chip f = change(x);
      const double r1 = from.junction_c + step * f.junction_c - x.junction_c;
      const double r2 = from.surface_c + step * f.surface_c - x.surface_c;
      const double slope1 =
          (chip_watts(part_, load_, x.junction_c + kNudge) - chip_watts(part_, load_, x.junction_c)) / kNudge;
      const double slope2 = (given(x.surface_c + kNudge) - given(x.surface_c)) / kNudge;
      const double a = 1 - step * (slope1 - conductance_) / part_.die_heat;
      const double b = -step * conductance_ / part_.die_heat, c = -step * conductance_ / part_.package_heat;
      const double d = 1 + step * (conductance_ + slope2) / part_.package_heat;
      const double determinant = a * d - b * c;
      if (!(std::abs(determinant) > 1e-12)) break;
      const double by1 = std::clamp((r1 * d - b * r2) / determinant, -20.0, 20.0);
      const double by2 = std::clamp((a * r2 - c * r1) / determinant, -20.0, 20.0);
      x = {x.junction_c + by1, x.surface_c + by2};
      if (std::abs(by1) + std::abs(by2) < 1e-9) break;
    }
    return x;
  }

 private:
  static constexpr double kNudge = 1e-3;
  double given(double surface_c) const {
    const SurfaceHeat heat = medium_.surface_heat(part_, surface_c);
    return heat.to_liquid + heat.to_gas;
  }

  const Part& part_;
  double load_;
  const Medium& medium_;
  double conductance_;
};

}  // namespace

double chip_watts(const Part& part, double load, double junction_c) {
  // By and by, so that the solver's steps need not stop.
  const double alive = std::clamp((part.limit_c + kBurnt + kBurntBand - junction_c) / kBurntBand, 0.0, 1.0);
  return alive * (part.idle_watts + part.busy_watts * load * part.speed(junction_c));
}

Chip chip_after(Chip chip, const Part& part, double load, const Medium& medium, double seconds) {
  // Alexander's method: two implicit stages, of second order, and stiff equations do not make it swing.
  const double gamma = 1 - std::sqrt(0.5);
  const Equations equations(part, load, medium);
  const auto steps = std::clamp(std::ceil(seconds / kLongestStep), 1.0, kMostSteps);
  const double step = seconds / steps;
  for (double i = 0; i < steps; ++i) {
    const Chip first = equations.change(equations.implicit(chip, gamma * step));
    const double share = (1 - gamma) * step;
    chip = equations.implicit(
        {chip.junction_c + share * first.junction_c, chip.surface_c + share * first.surface_c}, gamma * step);
  }
  return chip;
}

}  // namespace weft::power::thermal
