// How much memory there is for what somebody asks for. With it, what cannot fit is refused with its size
// before it is begun: a system that promises more memory than it has would end the process in the middle
// instead.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Nobody need ask about less.
inline constexpr double kSurelyThere = 64 << 20;

/// Bytes this process may still take: what the system has available, or less where a control group or
/// `ulimit -v` allows less.
std::uint64_t memory_left();

/// "41.2 GiB".
std::string memory_text(double bytes);

/// Throws UserError where `bytes` are more than is left: "WHAT takes about 41.2 GiB of memory, and 7.5 GiB
/// are left; INSTEAD".
void require_memory(double bytes, const std::string& what, const std::string& instead);

}  // namespace weft
