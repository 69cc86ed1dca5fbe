// Maps of files of the machine's file system.
#pragma once

#include <cstddef>

namespace weft::lib {

/// Shared maps of such files in this memory are written back; `gone`: they are about to be taken away.
void write_maps_back(void* base, std::size_t length, bool gone);

}  // namespace weft::lib
