// Counter-based randomness: a draw depends on (seed, who, step) and on nothing else, so results do not
// change with the order or the thread that asks.
#pragma once

#include <Random123/philox.h>

#include <cstdint>

namespace weft {

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t who, std::uint64_t step) {
  using Generator = r123::Philox4x32_R<7>;  // the fewest rounds that pass every known test
  Generator::ctr_type counter{{static_cast<std::uint32_t>(who), static_cast<std::uint32_t>(who >> 32),
                               static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32)}};
  Generator::key_type key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  auto out = Generator{}(counter, key);
  return (std::uint64_t{out[1]} << 32) | out[0];
}

/// Uniform in [0, bound) by multiplication (bias below bound / 2^32).
inline std::uint32_t random_below(std::uint64_t seed, std::uint64_t who, std::uint64_t step,
                                  std::uint32_t bound) {
  auto bits = static_cast<std::uint32_t>(random_bits(seed, who, step) >> 32);
  return static_cast<std::uint32_t>((std::uint64_t{bits} * bound) >> 32);
}

}  // namespace weft
