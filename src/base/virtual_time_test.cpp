#include "base/virtual_time.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Time kDay{86'400'000'000'000'000};

TEST(VirtualTime, AddsUpToItsEndAndNoFurther) {
  EXPECT_EQ(later(kDay, kDay), kDay * 2);
  EXPECT_EQ(later(kDay * 99, kDay), kEndOfTime);
  EXPECT_EQ(later(kDay * 99, kDay + Time{1}), kPastTheEnd);
  EXPECT_EQ(later(kDay, Time{INT64_MAX}), kPastTheEnd);
  EXPECT_EQ(later(kPastTheEnd, kPastTheEnd), kPastTheEnd);
  EXPECT_EQ(later(kPastTheEnd, Time{0}), kPastTheEnd);
  static_assert(kPastTheEnd.value < INT64_MAX - 6 * kDay.value, "room for single costs");
}

TEST(VirtualTime, TransfersAreRoundedUpAndStopAtTheEnd) {
  EXPECT_EQ(transfer_time(1, 8'000'000'000'000), Time{1});
  EXPECT_EQ(transfer_time(1, 8'000'000'000'001), Time{1});
  EXPECT_EQ(transfer_time(1, 7'999'999'999'999), Time{2});
  EXPECT_EQ(transfer_time(0, 1), Time{0});
  EXPECT_EQ(transfer_time(UINT64_MAX, 1), kPastTheEnd);
  EXPECT_EQ(scaled(kDay, 0.5), Time{kDay.value / 2});
  EXPECT_EQ(scaled(kDay, 1e300), kPastTheEnd);
}

TEST(VirtualTime, ItsEndIsAnError) {
  EXPECT_NO_THROW(check_time(kEndOfTime));
  EXPECT_THROW(check_time(kPastTheEnd), OutOfTime);
}

TEST(VirtualTime, SumsDoNotWrap) {
  TimeSum sum;
  for (int i = 0; i < 1'000'000; ++i) sum += kEndOfTime;
  EXPECT_DOUBLE_EQ(sum.picoseconds(), 8.64e24);
  EXPECT_EQ(sum.mean(1'000'000), kEndOfTime);
  EXPECT_EQ(sum.mean(0), Time{0});
}

}  // namespace
}  // namespace weft
