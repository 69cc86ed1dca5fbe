// A stream of coolant past the chips, in one phase: water through cold plates, or air through heat sinks.
//
// Both are one model with another table of properties. The resistance of a plate or sink is described for the
// usual fluid of its kind at full flow; another fluid or flow changes it as the coefficient of flow in a
// channel does (Dittus and Boelter).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "power/thermal/correlations.hpp"
#include "power/thermal/medium.hpp"

namespace weft::power::thermal {

namespace {

struct StreamParameters {
  std::string fluid = "water";
  double flow_lpm = 100, inlet_c = 35, coolant_litres = 20, pump_watts = 200;
  double channel_mm = 2, channel_speed = 1;
  double ambient_c = 22, room_watts_per_kelvin = 5, facility_cop = 0;
};

struct AirParameters : StreamParameters {
  AirParameters() {
    fluid = "air";
    flow_lpm = 60'000;
    inlet_c = 22;
    coolant_litres = 500;
    pump_watts = 500;
    channel_mm = 5;
    channel_speed = 5;
    facility_cop = 4;
  }
};

/// A member of the base as one of the struct the section is for: its defaults differ.
template <class P, class V>
constexpr V P::*of(V StreamParameters::*member) {
  return static_cast<V P::*>(member);
}

enum State { kCoolant, kStates };

class Stream final : public Medium {
 public:
  Stream(const StreamParameters& p, const Fluid& reference)
      : p_(p), fluid_(*find_fluid(p.fluid)), reference_(coefficient(reference, 1)) {
    heat_ = p_.coolant_litres * 1e-3 * fluid_.density.at(p_.inlet_c) * fluid_.specific_heat;
  }

  std::size_t size() const override { return kStates; }
  double ambient_c() const override { return p_.ambient_c; }
  void start(double* y) const override { y[kCoolant] = p_.ambient_c; }
  void tolerances(double* absolute) const override { absolute[kCoolant] = 1e-3; }
  double stored(const double* y) const override { return heat_ * y[kCoolant]; }

  void prepare(const double* y, const Surroundings& around) override {
    coolant_c_ = y[kCoolant];
    // What stands still conducts a little all the same.
    const double share = std::max(around.pump * around.coil_share, 0.01);
    sink_factor_ = coefficient(fluid_, share) / reference_;
  }

  SurfaceHeat surface_heat(const Part& part, double surface_c) const override {
    return {(surface_c - coolant_c_) * sink_factor_ / part.sink_resistance, 0};
  }

  EnergyFlows derivative(const double* y, const Surroundings& around, SurfaceHeat heat, double* dy) override {
    EnergyFlows flows;
    const double carried = rate(around) * (y[kCoolant] - p_.inlet_c - around.inlet_shift);
    flows.room = p_.room_watts_per_kelvin * (y[kCoolant] - p_.ambient_c - around.ambient_shift);
    dy[kCoolant] = (heat.to_liquid - carried - flows.room) / heat_;
    flows.pump = p_.pump_watts * std::pow(around.pump, 3);
    flows.facility = p_.facility_cop > 0 ? std::max(0.0, carried) / p_.facility_cop : 0;
    flows.stream = carried + flows.pump + flows.facility;
    return flows;
  }

  MediumReadings read(const double* y, const Surroundings& around) override {
    MediumReadings out;
    out.liquid_c = out.vapour_c = out.outlet_c = y[kCoolant];
    out.inlet_c = p_.inlet_c + around.inlet_shift;
    out.ambient_c = p_.ambient_c + around.ambient_shift;
    out.flow_nominal = p_.flow_lpm / 60e3;
    out.flow = out.flow_nominal * around.pump;
    out.pipe_area = out.flow_nominal / 1.5;  // pipes and ducts are made for about this speed
    out.coolant_litres = p_.coolant_litres;
    return out;
  }

 private:
  double coefficient(const Fluid& fluid, double share) const {
    return tube_coefficient(fluid, p_.inlet_c, p_.channel_speed * share, p_.channel_mm * 1e-3);
  }
  double rate(const Surroundings& around) const {
    return fluid_.density.at(p_.inlet_c) * fluid_.specific_heat * p_.flow_lpm / 60e3 * around.pump;
  }

  StreamParameters p_;
  const Fluid& fluid_;
  double reference_, heat_ = 1, coolant_c_ = 0, sink_factor_ = 1;
};

void check(const StreamParameters& p, const config::Complain& complain) {
  if (!find_fluid(p.fluid))
    complain("fluid", fmt::format("there is no fluid '{}'{}; there are {}", p.fluid,
                                  did_you_mean(p.fluid, fluid_names()), join(fluid_names(), ", ")));
}

template <class P>
config::Section stream_section() {
  using config::Range;
  return config::Schema<P>()
      .field(of<P>(&StreamParameters::fluid), "fluid", "What flows: air, water, novec-649, fc-72 or hfe-7100")
      .field(of<P>(&StreamParameters::flow_lpm), "flow_lpm", "How much of it, l/min",
             Range<double>{0.01, 1e9})
      .field(of<P>(&StreamParameters::inlet_c), "inlet_c", "Temperature at which it comes in, C",
             Range<double>{0, 90})
      .field(of<P>(&StreamParameters::coolant_litres), "coolant_litres",
             "What is in the machine at a time, l", Range<double>{0.01, 1e7})
      .field(of<P>(&StreamParameters::pump_watts), "pump_watts", "Electricity of pumps or fans, W",
             Range<double>{0, 1e6})
      .field(of<P>(&StreamParameters::channel_mm), "channel_mm",
             "Width of the channels of plates or sinks, mm", Range<double>{0.01, 100})
      .field(of<P>(&StreamParameters::channel_speed), "channel_speed", "Speed in them at full flow, m/s",
             Range<double>{0.001, 100})
      .field(of<P>(&StreamParameters::ambient_c), "ambient_c", "Temperature of the room, C",
             Range<double>{-20, 60})
      .field(of<P>(&StreamParameters::room_watts_per_kelvin), "room_watts_per_kelvin",
             "From the coolant to the room, W/K", Range<double>{0, 1e5})
      .field(of<P>(&StreamParameters::facility_cop), "facility_cop",
             "Heat that the building moves for each unit of electricity; 0: it needs none",
             Range<double>{0, 100})
      .check([](const P& p, const config::Complain& complain) { check(p, complain); })
      .section();
}

WEFT_REGISTER(CoolingKind,
              {"cold-plate", "water through a plate on every chip", stream_section<StreamParameters>(),
               [](const void* parameters) -> std::shared_ptr<Medium> {
                 return std::make_shared<Stream>(*static_cast<const StreamParameters*>(parameters),
                                                 *find_fluid("water"));
               }});

WEFT_REGISTER(CoolingKind, {"air", "air through a heat sink on every chip", stream_section<AirParameters>(),
                            [](const void* parameters) -> std::shared_ptr<Medium> {
                              return std::make_shared<Stream>(*static_cast<const AirParameters*>(parameters),
                                                              *find_fluid("air"));
                            }});

}  // namespace

}  // namespace weft::power::thermal
