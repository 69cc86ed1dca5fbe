// `weft show --pcie`: the devices of nodes as their root ports see them.
#pragma once

#include <string>

#include "machine/machine.hpp"

namespace weft::app {

/// A tree for every node that has one, as `lspci -tv` prints it; `dump`: their configuration spaces, as
/// `lspci -F` reads them. The number of a node is its domain. Empty where no node has any.
std::string pcie_text(const machine::Machine& machine, bool dump);

/// Finds what is wrong with the trees of all nodes before anything runs. Throws UserError with all of it.
void check_pcie(const machine::Machine& machine);

}  // namespace weft::app
