#include "measure/traffic/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace weft::measure {
namespace {

TEST(Histogram, BucketsCoverAllTimesWithoutGapAndWithinOnePercent) {
  for (std::size_t i = 0; i < 5000; ++i) {
    std::uint64_t start = bucket_start(i), end = bucket_start(i + 1);
    ASSERT_LT(start, end);
    EXPECT_EQ(bucket_of(start), i);
    EXPECT_EQ(bucket_of(end - 1), i);
    EXPECT_LE(static_cast<double>(end - 1 - start), 0.01 * static_cast<double>(start) + 0.5);
  }
}

TEST(Histogram, FewTimesAreExact) {
  Histogram h;
  for (std::uint64_t t : {5, 7, 7, 200}) h.add(t);
  Latency l = h.summary();
  EXPECT_EQ(l.packets, 4u);
  EXPECT_DOUBLE_EQ(l.mean, 54.75);
  EXPECT_DOUBLE_EQ(l.p50, 7);
  EXPECT_DOUBLE_EQ(l.p99, 200);
  EXPECT_DOUBLE_EQ(l.max, 200);
}

TEST(Histogram, QuantilesAreWithinOnePercentAndMergingChangesNothing) {
  std::vector<std::uint64_t> times;
  Histogram whole, even, odd;
  for (unsigned i = 0; i < 100'000; ++i) {
    std::uint64_t t = 1 + random_below(7, i, 0, 1000) * std::uint64_t{random_below(7, i, 1, 1000)};
    times.push_back(t);
    whole.add(t);
    (i % 2 ? odd : even).add(t);
  }
  std::sort(times.begin(), times.end());
  Latency l = whole.summary();
  auto exact = [&](double q) {
    return static_cast<double>(times[static_cast<std::size_t>(q * 100'000) - 1]);
  };
  EXPECT_NEAR(l.p50, exact(0.5), 0.01 * exact(0.5));
  EXPECT_NEAR(l.p99, exact(0.99), 0.01 * exact(0.99));
  EXPECT_NEAR(l.p999, exact(0.999), 0.01 * exact(0.999));
  odd.merge(even);
  EXPECT_EQ(odd.summary().histogram, l.histogram);
  EXPECT_EQ(odd.summary().mean, l.mean);
}

TEST(Histogram, NothingIsNoTime) { EXPECT_EQ(Histogram().summary().packets, 0u); }

}  // namespace
}  // namespace weft::measure
