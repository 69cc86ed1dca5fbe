// What `weft run`, and `weft boot` beside its nodes, need to know of a program that ranks run.
#pragma once

#include <string>
#include <vector>

#include "network/network.hpp"

namespace weft::app {

/// The library that programs are started with; it lies beside this program.
std::string library_path();

/// By its name; empty: the most exact there is. Throws UserError.
const network::EngineKind& engine_named(const std::string& name);

/// Whether ranks get what MPI needs; `mpi`: yes, no or auto. Refuses libraries and launchers that would run
/// around the simulated network; `instead`: the command that is the launcher itself.
bool wants_mpi(const std::vector<std::string>& command, const std::string& mpi, const std::string& instead);

/// The words of a command as a shell takes them apart: by blanks that are not quoted. Throws UserError where
/// a quote has no end.
std::vector<std::string> words_of(const std::string& command);

}  // namespace weft::app
