// `weft run --place`: which node each rank runs on.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace weft::app {

/// `how`: a placement's name, or nodes such as "0,4,8-11"; each takes `per_node` ranks, in order. Throws
/// UserError.
std::vector<topology::EndpointId> place_ranks(const machine::Machine& machine, unsigned ranks,
                                              unsigned per_node, const std::string& how, std::uint64_t seed);

}  // namespace weft::app
