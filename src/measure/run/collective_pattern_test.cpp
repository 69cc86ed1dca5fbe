#include "measure/run/collective_pattern.hpp"

#include <gtest/gtest.h>

namespace weft::measure {
namespace {

TEST(CollectivePattern, IsNamedByWhoSendsToWhom) {
  Pairs ring, doubling, dissemination, flat, chain, binomial, pairwise;
  for (std::uint32_t i = 0; i < 8; ++i) {
    ring.emplace_back(i, (i + 1) % 8);
    for (std::uint32_t d : {1u, 2u, 4u}) {
      doubling.emplace_back(i, i ^ d);
      dissemination.emplace_back(i, (i + d) % 8);
      if (i < d) binomial.emplace_back(i, i + d);
    }
    if (i) flat.emplace_back(i, 0), flat.emplace_back(0, i), chain.emplace_back(i - 1, i);
    for (std::uint32_t j = 0; j < 8; ++j)
      if (i != j) pairwise.emplace_back(i, j);
  }
  EXPECT_EQ(pattern_of(ring, 8), "ring");
  EXPECT_EQ(pattern_of(doubling, 8), "recursive doubling");
  EXPECT_EQ(pattern_of(dissemination, 8), "dissemination");
  EXPECT_EQ(pattern_of(flat, 8), "flat tree");
  EXPECT_EQ(pattern_of(chain, 8), "chain");
  EXPECT_EQ(pattern_of(binomial, 8), "binomial tree");
  EXPECT_EQ(pattern_of(pairwise, 8), "all pairs");
  EXPECT_EQ(pattern_of({{0, 1}, {1, 0}}, 2), "exchange");
  EXPECT_EQ(pattern_of({}, 8), "");
  ring.pop_back();
  ring.emplace_back(3, 5);
  EXPECT_EQ(pattern_of(ring, 8), "other") << "a ring that is broken and has a chord";
}

TEST(CollectivePattern, TakesNoNoticeOfRepetitionsAndStrangers) {
  EXPECT_EQ(pattern_of({{0, 1}, {1, 2}, {2, 0}, {0, 1}, {7, 1}}, 3), "ring");
}

}  // namespace
}  // namespace weft::measure
