#include "lib/offload/trees.hpp"

#include <stdlib.h>

namespace weft::offload {

namespace {

/// A variable that holds a number for each rank of the world; empty: there is none.
std::vector<std::uint32_t> numbers_in(const char* variable) {
  std::vector<std::uint32_t> out;
  const char* text = getenv(variable);
  while (text && *text) {
    char* end = nullptr;
    out.push_back(static_cast<std::uint32_t>(strtoul(text, &end, 10)));
    text = *end ? end + 1 : end;
  }
  return out;
}

}  // namespace

const std::vector<std::uint32_t>& world_order() {
  static const std::vector<std::uint32_t> order = numbers_in(abi::kTreeOrderVariable);
  return order;
}

const std::vector<std::uint32_t>& world_groups() {
  static const std::vector<std::uint32_t> groups_of_ranks = numbers_in(abi::kTreeGroupsVariable);
  return groups_of_ranks;
}

collective::Tree tree_of(const abi::CollectiveModel& model, collective::Place members) {
  const auto shape = static_cast<collective::Shape>(model.tree);
  const unsigned arity =
      model.arity ? model.arity : collective::arity_of_fewest_levels(shape, members, model.inputs - 1);
  return collective::Tree(shape, arity, members);
}

collective::Tree tree_of(const abi::CollectiveModel& model, const std::vector<collective::Place>& sizes) {
  const auto shape = static_cast<collective::Shape>(model.tree);
  collective::Arities arities{model.arity, model.arity};
  if (!model.arity) arities = collective::arities_of_fewest_levels(shape, sizes, model.inputs - 1);
  return collective::Tree(shape, arities.within, arities.across, sizes);
}

}  // namespace weft::offload
