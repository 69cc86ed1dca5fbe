#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace weft {
namespace {

// The published test vectors of Philox 4x32-7 (Random123, kat_vectors).
TEST(Random, IsPhiloxAsPublished) {
  EXPECT_EQ(random_bits(0, 0, 0), 0x0d893f64'5f6fb709);
  EXPECT_EQ(random_bits(~0ull, ~0ull, ~0ull), 0x45165e59'5207ddc2);
}

TEST(Random, EveryPartOfTheKeyMatters) {
  std::set<std::uint64_t> drawn;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t who : {0ull, 1ull, 2ull, 1ull << 32})
      for (std::uint64_t step : {0ull, 1ull, 2ull, 1ull << 32}) drawn.insert(random_bits(seed, who, step));
  EXPECT_EQ(drawn.size(), 8u * 4 * 4);
}

TEST(Random, BoundedDrawsAreEven) {
  constexpr std::uint32_t kBound = 6;
  constexpr unsigned kDraws = 60'000;
  std::array<unsigned, kBound> counts{};
  for (unsigned step = 0; step < kDraws; ++step) ++counts[random_below(7, 3, step, kBound)];
  // The seed is fixed, so this cannot fail by chance; 5 standard deviations would be 456.
  for (unsigned count : counts) EXPECT_NEAR(count, kDraws / kBound, 456);
  EXPECT_EQ(random_below(7, 3, 0, 1), 0u);
}

}  // namespace
}  // namespace weft
