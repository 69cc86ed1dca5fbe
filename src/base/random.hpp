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

/// The same at a fifth of the cost, for what is drawn for every packet: a SplitMix64 stream for each `who`,
/// of which this is word number `step`.
inline std::uint64_t quick_random_bits(std::uint64_t seed, std::uint64_t who, std::uint64_t step) {
  constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;
  const auto mix = [](std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  };
  return mix(mix(seed + (who + 1) * kGamma) + (step + 1) * kGamma);
}

/// Uniform in [0, bound) from the high half of 64 random bits, by multiplication (bias below bound / 2^32).
inline std::uint32_t below(std::uint32_t bound, std::uint64_t bits) {
  return static_cast<std::uint32_t>((bits >> 32) * bound >> 32);
}

inline std::uint32_t random_below(std::uint64_t seed, std::uint64_t who, std::uint64_t step,
                                  std::uint32_t bound) {
  return below(bound, random_bits(seed, who, step));
}

}  // namespace weft
