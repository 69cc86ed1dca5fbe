#include "base/part_array.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace weft {
namespace {

struct Item {
  std::uint64_t value = 7;
};

TEST(PartArray, HasItsOwnRunsAlone) {
  const std::size_t many = std::size_t{1} << 33;  // 64 GiB, were all of it here
  PartArray<Item> items(many, {{10, 20}, {15, 15}, {many - 5, many}});
  EXPECT_EQ(items.size(), many);
  EXPECT_EQ(items.own_bytes(), 15 * sizeof(Item));
  std::uint64_t sum = 0;
  for (Item& item : items) sum += item.value++;
  EXPECT_EQ(sum, 15u * 7u);
  EXPECT_EQ(items[10].value, 8u);
  EXPECT_EQ(items[many - 1].value, 8u);
  EXPECT_TRUE(items.has(19) && items.has(many - 5));
  EXPECT_FALSE(items.has(9) || items.has(20) || items.has(many));
  PartArray<Item> moved = std::move(items);
  EXPECT_EQ(moved[19].value, 8u);
  EXPECT_TRUE(items.empty());
}

TEST(PartArray, WholeAndEmptyOnesAreArraysLikeOthers) {
  PartArray<Item> whole(1000, {{0, 1000}}), none(1000, {{3, 3}}), nothing;
  std::size_t seen = 0;
  for (const Item& item : whole) seen += item.value == 7;
  EXPECT_EQ(seen, 1000u);
  for (const Item& item : none) FAIL() << item.value;
  for (const Item& item : nothing) FAIL() << item.value;
}

TEST(PartArrayDeathTest, WhatIsNotHereIsNotTouchedUnnoticed) {
  const std::size_t many = std::size_t{1} << 24;
  PartArray<Item> items(many, {{0, 10}});
  EXPECT_EXIT(items[many / 2].value = 1, testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace weft
