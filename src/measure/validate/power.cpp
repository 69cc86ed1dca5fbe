// Figures of power and cooling: GreenICE's tank, its chips and its density; QUOnG's rack.
#include <fmt/format.h>

#include "measure/validate/figure.hpp"
#include "power/operate/operation.hpp"
#include "power/thermal/correlations.hpp"

namespace weft::measure {

namespace {

using power::operate::OperationResult;

machine::Description with(const Trial& trial, std::vector<std::string> settings) {
  settings.insert(settings.end(), trial.settings().begin(), trial.settings().end());
  return machine::describe(trial.machine_name(), settings);
}

/// An hour at full load, from cold: long enough for a steady state.
OperationResult an_hour(const machine::Description& machine) {
  return power::operate::Operation(*machine.body, {}).run();
}

/// Heat that leaves with the stream at the end, W: what the stream carries of all that is drawn then.
double heat_removed(const OperationResult& half, const OperationResult& whole) {
  return (whole.energy.stream - half.energy.stream - (whole.energy.pump - half.energy.pump)) /
         (whole.seconds - half.seconds);
}

/// The heat removed in the second half hour.
double removed(const machine::Description& machine, OperationResult& end) {
  power::operate::Operation operation(*machine.body, {});
  operation.advance(Time{1'800'000'000'000'000});
  const OperationResult half = operation.result();
  operation.advance(Time{3'600'000'000'000'000});
  end = operation.result();
  return heat_removed(half, end);
}

double node_volume(const power::Level& level) { return level.litres() / level.count; }

void greenice_power(Trial& trial) {
  const machine::Description machine = trial.description();
  OperationResult end;
  const double heat = removed(machine, end);
  trial.give("V-NAA-03", "", end.pue, "equipment with its supplies, and the pump");
  trial.give("V-NAA-04", "", end.energy.pump / end.seconds);
  trial.give("V-NAA-06", "at full load", heat * 1e-3,
             "10.4 kW of parts and what supplies lose; the paper says 10 kW and 12 kW");
  OperationResult most;
  const double design = removed(with(trial, {"power.part.knc.busy_watts=219"}), most);
  trial.give(
      "V-NAA-06", "as designed", design * 1e-3,
      fmt::format("accelerators of 319 W; {:.2f} l of coolant lost in an hour", most.coolant_lost_litres));
  trial.give("V-NAA-08", "coated", an_hour(with(trial, {"power.part.knc.surface=coated"})).hottest_c);
  trial.give("V-NAA-08", "bare", an_hour(with(trial, {"power.part.knc.surface=bare"})).hottest_c);
  trial.give("V-NAA-09", "package", end.highest_flux * 1e-3,
             "300 W over 16 cm2 are 187.5 kW/m2; the paper rounds");
  const power::Fluid& fluid = *power::find_fluid("novec-649");
  trial.give(
      "V-NAA-09", "critical", power::thermal::critical_flux(fluid, power::kAtmosphere, 0) * 1e-3,
      fmt::format("from the table of the fluid; Zuber's correlation gives {:.0f}",
                  power::thermal::zuber_critical_flux(fluid, fluid.boiling_c, power::kAtmosphere) * 1e-3));
  const power::Level& backplane = *machine.body->level("backplane");
  // An air-cooled card of the same kind covers four slots of 9 mm, section 6.2.2.
  const double air_width = 4 * 9;
  trial.give("V-NAA-07", "over air",
             air_width / (static_cast<double>(backplane.width.value) / backplane.count));
  const machine::Description deep = machine::describe("deep-booster", {});
  trial.give("V-NAA-07", "over water", node_volume(*deep.body->level("card")) / node_volume(backplane));
}

WEFT_REGISTER(ExperimentKind, {"greenice/power",
                               43,
                               "greenice",
                               {{"V-NAA-03",
                                 "",
                                 "power usage effectiveness",
                                 "",
                                 1.01,
                                 points_off(0.01),
                                 Basis::Derived,
                                 true,
                                 "003 chapter 7",
                                 {"V-NAA-04"}},
                                {"V-NAA-04", "", "power of the cooling", "W", 50, percent_off(1),
                                 Basis::Structure, true, "003 section 6.2.3"},
                                {"V-NAA-06",
                                 "at full load",
                                 "heat removed",
                                 "kW",
                                 10,
                                 percent_off(15),
                                 Basis::Derived,
                                 true,
                                 "003 section 6.2.1",
                                 {"V-NAA-08"}},
                                {"V-NAA-06",
                                 "as designed",
                                 "heat removed",
                                 "kW",
                                 12,
                                 percent_off(3),
                                 Basis::Derived,
                                 true,
                                 "003 abstract",
                                 {"V-NAA-08"}},
                                {"V-NAA-07", "over air", "packing density", "times", 2, percent_off(1),
                                 Basis::Structure, true, "003 section 6.2.2"},
                                {"V-NAA-07", "over water", "packing density", "times", 3.4, percent_off(2),
                                 Basis::Calibrated, true, "003 section 6.2.2"},
                                {"V-NAA-08", "coated", "temperature of a chip", "C", 80, points_off(2),
                                 Basis::Calibrated, true, "003 section 5.4.8"},
                                {"V-NAA-08", "bare", "temperature of a chip", "C", 100, points_off(2),
                                 Basis::Calibrated, true, "003 section 5.4.8"},
                                {"V-NAA-09", "package", "heat flux of the accelerator's package", "kW/m2",
                                 180, percent_off(5), Basis::Structure, true, "003 section 2.5.3"},
                                {"V-NAA-09", "critical", "critical heat flux of the coolant", "kW/m2", 200,
                                 percent_off(1), Basis::Structure, true, "003 table 2.1"}},
                               greenice_power});

void quong(Trial& trial) {
  const machine::Description machine = trial.description();
  const OperationResult hour = an_hour(machine);
  trial.give("V-APE-08", "peak", machine.body->nodes() * machine.processor.peak_gflops() * 1e-3,
             "GPUs in single precision");
  // The building's cooling is not the rack's.
  const power::operate::Sample& last = hour.samples.back();
  double watts = last.conversion_watts + last.pump_watts + machine.body->controller.watts;
  for (double role : last.role_watts) watts += role;
  trial.give("V-APE-08", "power", watts * 1e-3, "published as less than 26 kW");
}

WEFT_REGISTER(ExperimentKind, {"quong/power",
                               36,
                               "quong",
                               {{"V-APE-08", "peak", "peak of a rack", "TFLOP/s", 60, at_least(),
                                 Basis::Structure, true, "section 5"},
                                {"V-APE-08", "power", "power of a rack", "kW", 26, percent_off(10),
                                 Basis::Structure, true, "section 5"}},
                               quong});

}  // namespace

}  // namespace weft::measure
