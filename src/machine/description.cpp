#include "machine/description.hpp"

#include <algorithm>

namespace weft::machine {

Description::Description() = default;
Description::Description(const Description& other) = default;
Description::Description(Description&& other) noexcept = default;
Description& Description::operator=(const Description& other) = default;
Description& Description::operator=(Description&& other) noexcept = default;
Description::~Description() = default;

Origin Description::origin(std::string_view key) const {
  for (const config::Setting& setting : settings)
    if (setting.key == key && !setting.origin.source.empty()) return setting.origin;
  return {files.empty() ? "" : files.front()};
}

const ProcessorParameters& Description::processor_of(std::uint32_t node) const {
  for (const NodeProcessor& one : node_processors)
    if (std::find(one.nodes.begin(), one.nodes.end(), node) != one.nodes.end()) return one.processor;
  return processor;
}

double Description::slowness_of(std::uint32_t node) const {
  auto of = [](const ProcessorParameters& p) {
    const bool follows = p.clock.value > 0 && p.nominal_clock.value > 0;
    return follows ? static_cast<double>(p.nominal_clock.value) / static_cast<double>(p.pace().value) : 1.0;
  };
  return of(processor_of(node)) / of(processor);
}

}  // namespace weft::machine
