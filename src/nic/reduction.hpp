// Numbers of control packets combined by an interface's units (abi/counted.hpp).
#pragma once

#include <cstdint>

#include "abi/counted.hpp"

namespace weft::nic {

/// The data of a packet as something to combine; false where it is none.
bool read_reduction(const std::uint8_t* data, std::uint64_t length, ReduceData& out);
/// Of the same operation, width and count?
bool alike(const ReduceData& a, const ReduceData& b);
/// Into the first.
void combine(ReduceData& into, const ReduceData& from);

}  // namespace weft::nic
