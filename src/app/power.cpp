// `weft power`: hours of a machine's supplies, cooling and controller in seconds.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/power_ipmi.hpp"
#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "power/operate/operation.hpp"
#include "report/power_report.hpp"

namespace weft::app {

namespace {

struct Options {
  MachineOptions machine;
  std::string time = "1h", fault, out;
  double load = 1;
  bool json = false;
  unsigned ipmi_port = 0;
  double pace = 1;
};

std::string command_line(const Options& o) {
  auto quoted = [](const std::string& text) {
    const bool plain = text.find_first_of(" '\"[](){}*?$&;|<>#\\") == std::string::npos;
    return plain ? text : fmt::format("'{}'", text);
  };
  std::string out = "weft power " + quoted(o.machine.machine);
  for (const std::string& setting : o.machine.settings) out += " --set " + quoted(setting);
  out += fmt::format(" --time {} --load {:g}", o.time, o.load);
  if (!o.fault.empty()) out += " --fault " + quoted(o.fault);
  return out;
}

void write_results(const Options& o, const power::operate::OperationResult& result,
                   const machine::Description& machine, const std::string& command) {
  std::error_code failed;
  std::filesystem::create_directories(o.out, failed);
  if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", o.out, failed.message()));
  write_file(o.out + "/result.json", report::power_json(result, machine, command).dump(1) + "\n");
  write_file(o.out + "/samples.csv", report::power_csv(result));
  write_file(o.out + "/report.html", report::power_page(result, machine, command));
}

int operate(const Options& o) {
  const machine::Description machine = o.machine.describe();
  if (!machine.body->described())
    throw UserError(
        fmt::format("{} describes no power and cooling: it needs sections [rack.NAME], [power.part.NAME] and "
                    "[cooling]; `weft show greenice --rack` shows a machine that has them",
                    machine.identity.name));
  Diagnostics problems;
  std::string error;
  auto duration = power::operate::parse_duration(o.time, error);
  if (!duration || duration->value <= 0)
    problems.add({}, "--time", error.empty() ? "expected some time, such as 1h" : error);
  if (!(o.load >= 0 && o.load <= 1))
    problems.add({}, "--load", fmt::format("{:g} is outside 0 to 1", o.load));
  power::operate::OperationOptions options;
  if (!o.fault.empty())
    options.events = power::operate::read_script(o.fault, power::operate::Operation::names(*machine.body),
                                                 "--fault", problems);
  problems.throw_if_any();
  options.duration = *duration;
  options.load = o.load;
  power::operate::Operation operation(*machine.body, options);
  const power::operate::OperationResult result =
      o.ipmi_port ? serve_ipmi(operation, options.duration, o.ipmi_port, o.pace) : operation.run();
  const std::string command = command_line(o);
  if (!o.out.empty()) write_results(o, result, machine, command);
  if (o.json)
    fmt::print("{}\n", report::power_json(result, machine, command).dump(1));
  else
    fmt::print("{}", report::power_text(result, machine));
  return 0;
}

std::function<int()> declare_power(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("--time", o->time, "How long it is in operation, from cold: 90s, 20min, 1h, 2d")
      .option_text("TIME [1h]");
  app.add_option("--load", o->load, "Load of processors and accelerators, 0 to 1").option_text("SHARE [1]");
  app.add_option(
         "--fault", o->fault,
         "What happens meanwhile: \"at 20min stop pump; at 30min start pump\"; or a file with such "
         "statements. "
         "Pump: stop, start, set 50%. Coil: wet 50%, dry. leak 1l/h, mend leak. Tank: open, close. "
         "Valve: block, "
         "free. Supply N and phase N: fail, restore. Controller: hang, restart. Watchdog: disable, "
         "enable. Sensor "
         "NAME: stick, lie VALUE, mend. Reset NODE or NODE.PART: hold, release. warm inlet K, warm room K. "
         "load 50%. power on, power off")
      .option_text("SCRIPT");
  app.add_option("--out", o->out, "Folder for the results: report.html, result.json and samples.csv")
      .option_text("DIR");
  app.add_flag("--json", o->json, "Print result.json");
  app.add_option("--ipmi", o->ipmi_port,
                 "Answer IPMI over LAN at this port of 127.0.0.1 meanwhile, in real time (user admin, "
                 "password weft): "
                 "ipmitool reads sensors and events, and switches power")
      .option_text("PORT")
      .range(1024, 65535);
  app.add_option("--pace", o->pace, "With --ipmi: seconds of the machine in a second")
      .option_text("X [1]")
      .positive();
  return [o] { return operate(*o); };
}

WEFT_REGISTER(Verb, {"power", "hours of supplies, cooling and board controller in seconds, with faults", 12,
                     declare_power});

}  // namespace

}  // namespace weft::app
