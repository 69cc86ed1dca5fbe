// What takes the heat of a machine: a tank of boiling liquid, water in cold plates, a stream of air.
//
// A medium is a part of one system of differential equations: it has some of its states, takes the heat of
// surfaces, and says where energy leaves. Nothing in it depends on how the equations are solved.
#pragma once

#include <cstddef>

#include "power/body.hpp"

namespace weft::power::thermal {

/// What people, faults and the controller set from outside; constant between two events.
struct Surroundings {
  double pump = 1;        // share of the nominal flow
  double coil_share = 1;  // of the condenser's surface that works
  double leak = 0;        // m3/s of liquid
  bool open = false;      // the lid is off
  bool relief_blocked = false;
  double inlet_shift = 0;    // K over the described inlet temperature
  double ambient_shift = 0;  // K over the described room
};

/// Heat that surfaces give off, by what takes it; W.
struct SurfaceHeat {
  double to_liquid = 0, to_gas = 0;
};

/// Where energy goes at one moment, W.
struct EnergyFlows {
  double stream = 0;    // carried away by water or air
  double room = 0;      // through walls
  double lost = 0;      // with coolant and gas that leave, less what comes in with air
  double pump = 0;      // electricity of pumps and fans, heat in the stream at once
  double facility = 0;  // electricity of what cools the stream again
};

/// What instruments could see.
struct MediumReadings {
  double liquid_c = 0, vapour_c = 0, inlet_c = 0, outlet_c = 0, ambient_c = 0;
  double overpressure_pa = 0;
  double flow = 0;  // m3/s of the stream
  double flow_nominal = 0;
  double pipe_area = 0;  // m2, where the flow is measured
  double level_m = 0, level_nominal_m = 0;
  double coolant_litres = 0;   // liquid, as warm as it is
  double coolant_kg = 0;       // liquid and vapour: what is less than at the start is lost
  double cold_density = 1000;  // kg/m3, to say what is lost in litres
  double vapour_share = 0;     // of the condenser's height that vapour reaches
  double boiling_c = 0, critical_flux = 0;
};

class Medium {
 public:
  virtual ~Medium() = default;
  virtual std::size_t size() const = 0;
  /// All at the room's temperature.
  virtual void start(double* state) const = 0;
  /// Differences that do not matter, by state.
  virtual void tolerances(double* absolute) const = 0;
  /// Energy stored, over liquid at 0 C; J.
  virtual double stored(const double* state) const = 0;
  virtual double ambient_c() const = 0;
  virtual bool has_liquid_level() const { return false; }

  /// Looks at a state before surfaces are asked for.
  virtual void prepare(const double* state, const Surroundings& around) = 0;
  /// What one chip's surface gives off at a temperature.
  virtual SurfaceHeat surface_heat(const Part& part, double surface_c) const = 0;
  /// The change of the medium's own states, with the heat of all surfaces.
  virtual EnergyFlows derivative(const double* state, const Surroundings& around, SurfaceHeat heat,
                                 double* change) = 0;
  virtual MediumReadings read(const double* state, const Surroundings& around) = 0;
};

}  // namespace weft::power::thermal
