// How ranks stand in trees: what the launcher says of the world, and the tree of a communicator.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/mpi_layout.hpp"
#include "collective/tree.hpp"

namespace weft::offload {

/// Ranks of the world in the order of trees; empty: by number.
const std::vector<std::uint32_t>& world_order();
/// The group of each rank of the world in trees of two levels; empty: trees have one.
const std::vector<std::uint32_t>& world_groups();

collective::Tree tree_of(const abi::CollectiveModel& model, collective::Place members);
/// Of two levels.
collective::Tree tree_of(const abi::CollectiveModel& model, const std::vector<collective::Place>& sizes);

}  // namespace weft::offload
