// Files that belong to the program, wherever it stands: in the build folder of a source tree, or installed.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

/// The program that runs.
std::filesystem::path own_program();

/// What was built beside it, such as "libweft.so" or "examples/halo"; in lib/weft of an installation.
/// Where there is none, the path at which it should be.
std::filesystem::path own_file(const std::string& name);

/// What is read, such as "profiles" or "examples/mpi_tour.c": in the source tree, in share/weft of an
/// installation. Empty where there is none.
std::filesystem::path own_data(const std::string& name);

}  // namespace weft
