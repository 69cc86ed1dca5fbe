// Counter-based randomness: a draw depends on (seed, who, step) and on nothing else, so results do not
// change with the order or the thread that asks.
#pragma once

#include <cstdint>

namespace weft {

/// Philox4x32 with seven rounds, the fewest that pass every known test (Salmon, Moraes, Dror, Shaw: Parallel
/// random numbers: as easy as 1, 2, 3; SC 2011). Written out, because the authors' header takes a second to
/// read in every file that draws; a test compares the two.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t who, std::uint64_t step) {
  auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  std::uint32_t c0 = low(who), c1 = high(who), c2 = low(step), c3 = high(step), k0 = low(seed),
                k1 = high(seed);
  for (int round = 0; round < 7; ++round) {
    std::uint64_t a = std::uint64_t{0xd2511f53u} * c0, b = std::uint64_t{0xcd9e8d57u} * c2;
    c0 = high(b) ^ c1 ^ k0;
    c1 = low(b);
    c2 = high(a) ^ c3 ^ k1;
    c3 = low(a);
    k0 += 0x9e3779b9u;  // the golden ratio
    k1 += 0xbb67ae85u;  // sqrt(3) - 1
  }
  return (std::uint64_t{c1} << 32) | c0;
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
