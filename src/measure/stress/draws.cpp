#include "measure/stress/draws.hpp"

#include <fmt/format.h>

#include "machine/machine.hpp"

namespace weft::measure {

std::string DrawnMachine::text() const {
  return fmt::format("[topology]\nkind = \"{}\"\n[routing]\nkind = \"{}\"\n", topology, routing);
}

DrawnMachine draw_machine(Draws& draw) {
  static const std::vector<std::string> topologies = topology::Topologies::names(),
                                        routings = routing::Routings::names();
  for (;;) {
    DrawnMachine out{draw.of(topologies), draw.of(routings), {}};
    for (const std::string& s : draw.of(topology::Topologies::find(out.topology)->examples))
      out.settings.push_back("topology." + s);
    const auto& variants = routing::Routings::find(out.routing)->variants;
    if (auto variant = draw.below(static_cast<std::uint32_t>(variants.size()) + 1); variant > 0)
      for (const std::string& s : variants[variant - 1]) out.settings.push_back("routing." + s);
    try {
      machine::build_graph(machine::describe_text(out.text(), "scenario", out.settings));
      return out;
    } catch (const UserError&) {
      // That routing refuses that topology: another draw.
    }
  }
}

}  // namespace weft::measure
