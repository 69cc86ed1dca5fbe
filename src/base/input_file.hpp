// Files that users name, read whole. One that never ends, or is larger than anything of its kind can be, is
// refused with its size instead of read until memory is gone.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Bytes that files of different kinds may have.
inline constexpr std::uint64_t kMostDescriptionBytes = 256ull << 20, kMostListBytes = 1ull << 30,
                               kMostTraceBytes = 64ull << 30;

/// Throws UserError with the path and the reason. Pipes and devices say no size: they may hold less.
std::string read_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace weft
