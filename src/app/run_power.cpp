#include "app/run_power.hpp"

#include <fmt/format.h>

namespace weft::app {

void RunPowerOptions::declare(CommandLine& app) {
  app.add_flag("--power", wanted,
               "Power and heat of the job: its energy by part, power and temperatures over time; chips that "
               "become too warm slow its ranks down");
  app.add_option(
         "--power-after", after,
         "With --power: how long the machine has been in operation when the job starts, from cold: 1min "
         "is hardly warm, 1h is as warm as it gets")
      .option_text("TIME [1h]");
  app.add_option("--power-load", load,
                 "With --power: load of all nodes until then, and of those without the job meanwhile, 0 to 1")
      .option_text("SHARE [1]");
  app.add_option(
         "--power-fault", fault,
         "With --power: what happens to the machine, as for `weft power --fault`; times count from when "
         "it was switched on, or from the job's start: \"at job+2s set pump 50%\"")
      .option_text("SCRIPT");
  app.add_option("--power-step", step,
                 "With --power: how often temperatures and the speed of processors follow the job")
      .option_text("TIME [100ms]");
}

std::string RunPowerOptions::text() const {
  std::string out;
  if (any()) out += " --power";
  if (!after.empty()) out += " --power-after " + after;
  if (load != 1) out += fmt::format(" --power-load {:g}", load);
  if (!fault.empty()) out += fmt::format(" --power-fault '{}'", fault);
  if (step != "100ms") out += " --power-step " + step;
  return out;
}

std::unique_ptr<measure::JobHeat> heat_of_job(const RunPowerOptions& options, const machine::Machine& machine,
                                              const host::RunOptions& run) {
  if (!options.any()) return nullptr;
  const power::Body& body = *machine.description.body;
  Diagnostics problems;
  if (!body.described())
    problems.add({}, "--power",
                 fmt::format("{} describes no power and cooling: it needs sections [rack.NAME], "
                             "[power.part.NAME] and [cooling]; `weft show greenice --rack` shows a machine "
                             "that has them",
                             machine.description.identity.name));
  measure::HeatOptions heat;
  std::string error;
  if (!options.after.empty()) {
    auto after = power::operate::parse_duration(options.after, error);
    constexpr Time kMost{5 * 86'400'000'000'000'000};  // all times of a run are to fit
    if (after && *after > kMost) error = fmt::format("{} is more than 5d", options.after);
    if (after && *after <= kMost)
      heat.before = *after;
    else
      problems.add({}, "--power-after", error);
  }
  auto step = power::operate::parse_duration(options.step, error);
  if (!step || step->value < 1'000'000'000 || step->value > 60'000'000'000'000)
    problems.add({}, "--power-step", fmt::format("expected a time from 1ms to 1min, got '{}'", options.step));
  else
    heat.interval = *step;
  if (!(options.load >= 0 && options.load <= 1))
    problems.add({}, "--power-load", fmt::format("{:g} is outside 0 to 1", options.load));
  if (!options.fault.empty() && body.described()) {
    power::operate::Names names = power::operate::Operation::names(body);
    names.job = heat.before;
    heat.events = power::operate::read_script(options.fault, names, "--power-fault", problems);
  }
  problems.throw_if_any();
  heat.load = options.load;
  std::vector<unsigned> nodes;
  for (unsigned rank = 0; rank < run.ranks; ++rank)
    nodes.push_back(static_cast<unsigned>(run.place.empty() ? rank / run.per_node : run.place[rank]));
  return std::make_unique<measure::JobHeat>(body, heat, std::move(nodes));
}

}  // namespace weft::app
