// What the operation units of an interface do with two vectors of numbers.
#pragma once

#include <cstddef>

#include "abi/triggered.hpp"

namespace weft::nic {

/// `into` = `into` op `from`, element by element. Whole numbers wrap; logical results are 0 or 1.
void combine(Combine operation, Element type, std::uint8_t* into, const std::uint8_t* from,
             std::size_t bytes);

}  // namespace weft::nic
