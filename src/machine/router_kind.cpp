#include "machine/router_kind.hpp"

#include <algorithm>

namespace weft::machine {

RouterKind::~RouterKind() = default;

std::vector<const RouterKind*> router_kinds() {
  std::vector<const RouterKind*> out;
  for (const auto& [name, kind] : config::Registry<RouterKind>::all()) out.push_back(&kind);
  std::stable_sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->order < b->order; });
  return out;
}

}  // namespace weft::machine

WEFT_REGISTRY(weft::machine::RouterKind);
