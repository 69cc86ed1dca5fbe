// Which ports of a process a request is about: one, all, or some of them.
#pragma once

#include "abi/port_layout.hpp"

namespace weft::abi {

static_assert(kPortsPerProcess <= 16);
inline constexpr std::uint32_t kPortSet = 0x40000000;  // with a bit for each port of it, from the lowest

inline std::uint32_t with_port(std::uint32_t set, std::uint32_t index) {
  return set | kPortSet | 1u << index;
}

inline bool names_port(std::uint32_t named, std::uint32_t index) {
  if (named >> 16 == kPortSet >> 16) return named >> index & 1;
  return named == kAnyPort || named == index;
}

}  // namespace weft::abi
