// `weft run --collectives`: which collectives of a program the interfaces run.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "host/run.hpp"
#include "machine/machine.hpp"

namespace weft::app {

void declare_collectives(CommandLine& app, std::string& how, std::string& table);

/// Throws UserError where the machine's interfaces cannot run any, and where the table cannot be read.
void choose_collectives(const machine::Machine& machine, const network::Network& network,
                        const std::string& how, const std::string& table, host::RunOptions& run);

}  // namespace weft::app
