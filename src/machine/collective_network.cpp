#include "machine/collective_network.hpp"

namespace weft::machine {

std::optional<Description> collective_network(const Description& machine) {
  const std::string prefix = std::string(kCollectiveNetwork) + ".";
  std::vector<std::string> settings;
  for (const config::Setting& s : machine.settings)
    if (s.key.starts_with(prefix)) settings.push_back(s.key.substr(prefix.size()) + "=" + s.value);
  if (settings.empty()) return std::nullopt;
  const std::string source = machine.files.empty() ? "" : machine.files.front();
  Description out = describe_text("", source, settings);
  out.identity.name = machine.identity.name + ", network for collectives";
  out.nic = machine.nic;
  out.host = machine.host;
  return out;
}

}  // namespace weft::machine
