// Which code belongs to the libraries by which an MPI program talks to its launcher.
#pragma once

namespace weft::lib {

/// To be called once they are loaded.
void find_launcher_libraries();

/// What they wait for comes by itself, in real time and whatever other ranks do: virtual time waits for it.
bool of_launcher_library(const void* code);

/// Is this code of a library whose file's name begins so?
bool of_library(const char* name, const void* code);

}  // namespace weft::lib
