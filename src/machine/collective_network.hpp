// A second network of its own topology beside the machine's, for the control packets of collectives:
// [collective_network.topology], [collective_network.routing], [collective_network.router] and
// [collective_network.cable.NAME]. Endpoint i of it is on node i. Its parameters are among the machine's
// settings, under that name.
#pragma once

#include <optional>

#include "machine/collective_section.hpp"
#include "machine/description.hpp"

namespace weft::machine {

/// What that network is described as; nothing where the machine has none.
std::optional<Description> collective_network(const Description& machine);

}  // namespace weft::machine
