// `weft show`: what a machine is made of, what it can do before anything runs on it, and what it looks like.
#include <fmt/format.h>

#include "app/show_networks.hpp"
#include "app/show_pcie.hpp"
#include "app/verb.hpp"
#include "base/json.hpp"
#include "base/output_file.hpp"
#include "base/stopwatch.hpp"
#include "machine/networks.hpp"
#include "report/machine_facts.hpp"
#include "report/picture.hpp"
#include "report/power_report.hpp"

namespace weft::app {

namespace {

struct Options {
  MachineOptions machine;
  std::string picture;
  bool sources = false, json = false, rack = false, pcie = false, pcie_dump = false;
};

void write_picture(const machine::Machine& machine, const std::string& path) {
  const machine::Description& d = machine.description;
  std::string about = d.identity.about + "\n" + report::topology_line(d);
  OutputFile file(path);  // before the work of drawing it
  file.write(report::draw_machine(*machine.graph, *machine.faults, d.identity.name, about));
  file.close();
}

int show_rack(const Options& options) {
  const machine::Description description = options.machine.describe();
  const std::string text = report::rack_text(description);
  if (text.empty())
    throw UserError(fmt::format("{} does not say how it is packed: it has no section [rack.NAME]",
                                description.identity.name));
  if (options.json)
    fmt::print("{}\n", report::rack_json(description).dump(2));
  else
    fmt::print("{}", text);
  return 0;
}

int show_pcie(const Options& options) {
  const machine::Machine machine = machine::build(options.machine.describe());
  const std::string text = pcie_text(machine, options.pcie_dump);
  if (text.empty())
    throw UserError(fmt::format("{} has no device on PCI Express, such as [node.device.disk] kind = \"nvme\"",
                                machine.description.identity.name));
  fmt::print("{}", text);
  return 0;
}

int show(const Options& options) {
  if (options.rack) return show_rack(options);
  if (options.pcie || options.pcie_dump) return show_pcie(options);
  if (const machine::Description d = options.machine.describe(); machine::networks_of(d)) {
    if (!options.picture.empty()) write_picture(machine::build_graph(d), options.picture);
    return show_networks(d, options.sources, options.json);
  }
  report::MachineFacts facts = report::examine(machine::build_graph(options.machine.describe()));
  if (!options.picture.empty()) {
    const Stopwatch start;
    write_picture(facts.machine, options.picture);
    facts.machine.stages.push_back({"draw picture", start.seconds()});
    facts.picture = options.picture;
  }
  if (options.json) {
    fmt::print("{}\n", report::facts_json(facts).dump(2));
    return 0;
  }
  fmt::print("{}", report::facts_text(facts));
  if (options.sources) fmt::print("\n{}", report::sources_text(facts.machine.description));
  return 0;
}

std::function<int()> declare_show(CommandLine& app) {
  auto options = std::make_shared<Options>();
  options->machine.declare(app);
  app.add_option("--picture", options->picture, "Draw the machine into this file").option_text("FILE.svg");
  app.add_flag("--sources", options->sources, "Also list every parameter and where its value comes from");
  app.add_flag("--rack", options->rack,
               "How it is packed and what it draws instead: boards, chassis, rack; performance per watt, "
               "litre and unit");
  app.add_flag("--pcie", options->pcie,
               "The devices of nodes on PCI Express instead, as `lspci -tv` prints them; a node is a domain");
  app.add_flag("--pcie-dump", options->pcie_dump,
               "Their configuration spaces instead, in the form that `lspci -F` reads");
  app.add_flag("--json", options->json, "Machine-readable: one object, sources included");
  return [options] { return show(*options); };
}

WEFT_REGISTER(Verb,
              {"show", "describe a machine: parts, distances, bisection, sources; draw it", 3, declare_show});

}  // namespace

}  // namespace weft::app
