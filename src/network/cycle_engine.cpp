#include "network/cycle_engine.hpp"

#include <fmt/format.h>

#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::network {

const CycleEngineKind& cycle_engine(const std::string& name) {
  using Kinds = config::Registry<CycleEngineKind>;
  const CycleEngineKind* kind = Kinds::find(name);
  if (!kind)
    throw UserError(fmt::format("there is no cycle engine '{}'{}; there are {}", name,
                                did_you_mean(name, Kinds::names()), join(Kinds::names(), ", ")));
  return *kind;
}

}  // namespace weft::network
