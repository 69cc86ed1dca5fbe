#include "machine/description.hpp"

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

}  // namespace weft::machine
