// Machines for tests, put together from registered kinds and their example settings.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/networks.hpp"
#include "machine/profiles.hpp"

namespace weft::test {

using Settings = std::vector<std::string>;

/// A machine of the given kinds; settings are `key=value` within each section.
inline machine::Machine make_machine(const std::string& topology, const Settings& topology_settings,
                                     const std::string& routing, const Settings& routing_settings,
                                     unsigned channels = 64, const Settings& more = {}) {
  Settings all;
  for (const std::string& s : topology_settings) all.push_back("topology." + s);
  for (const std::string& s : routing_settings) all.push_back("routing." + s);
  all.insert(all.end(), more.begin(), more.end());
  std::string text = "[topology]\nkind = \"" + topology + "\"\n[routing]\nkind = \"" + routing +
                     "\"\n[router]\nchannels = " + std::to_string(channels) + "\n";
  return machine::build(machine::describe_text(text, "test", all));
}

/// The machines of all profiles, by name; of those that have several networks, each network.
inline std::vector<std::string> single_networks() {
  std::vector<std::string> out;
  for (const std::string& name : machine::profile_names()) {
    const machine::Description d = machine::describe(name, {});
    const machine::Networks* networks = machine::networks_of(d);
    if (!networks) out.push_back(name);
    for (std::size_t p = 0; networks && p < networks->parts.size(); ++p)
      out.push_back(name + ":" + networks->parts[p].name);
  }
  return out;
}

/// One line that names a machine in a failure.
inline std::string name_of(const std::string& topology, const Settings& topology_settings,
                           const std::string& routing, const Settings& routing_settings) {
  return topology + " {" + join(topology_settings, ", ") + "} with " + routing + " {" +
         join(routing_settings, ", ") + "}";
}

/// Calls `use(topology, its settings, routing, its settings)` for every registered pair that fits together,
/// over all example sizes and variants.
template <class Use>
void for_every_machine(Use use) {
  for (const auto& [topology, kind] : topology::Topologies::all())
    for (const Settings& size : kind.examples)
      for (const auto& [routing, routing_kind] : routing::Routings::all()) {
        std::vector<Settings> variants{{}};
        variants.insert(variants.end(), routing_kind.variants.begin(), routing_kind.variants.end());
        for (const Settings& variant : variants) use(topology, size, routing, variant);
      }
}

}  // namespace weft::test
