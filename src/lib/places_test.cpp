#include "lib/places.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace weft::lib {
namespace {

constexpr std::uint64_t kPage = 4096;

const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

TEST(Places, MemoryKeepsItsPlaceUntilItIsGone) {
  const Place first = place_of(at(0x10'0000), 100, kPage);
  EXPECT_EQ(place_of(at(0x10'0000), 100, kPage).number, first.number);
  EXPECT_EQ(first.simulated % kPage, 0u) << "it begins with a page";
  EXPECT_NE(place_of(at(0x10'0000), 200, kPage).number, first.number) << "of another length";
  memory_gone(at(0x10'0000), 4096);
  const Place next = place_of(at(0x10'0000), 100, kPage);
  EXPECT_NE(next.number, first.number) << "other memory, at the same address";
  EXPECT_EQ(next.simulated, first.simulated) << "on the pages memory of its length gave up last";
  memory_gone(at(0x10'0000), 4096);
}

TEST(Places, WhatWasNeverRegisteredIsNotLookedFor) {
  place_of(at(0x7000'0000), 64, kPage);
  EXPECT_TRUE(may_have_places(at(0x7000'0000), 64));
  EXPECT_FALSE(may_have_places(at(0x7000'0000 - 8 * kPage), kPage));
  EXPECT_FALSE(may_have_places(at(~0ull << 48)));
  memory_gone(at(0x7000'0000), 64);
}

TEST(Places, NoTwoPiecesThatAreThereShareAPage) {
  const unsigned seed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::map<std::uint64_t, std::pair<std::uint64_t, Place>> there;  // by address: length, place
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t address = 0x5000'0000 + (random() % 64) * 0x10'0000;
    auto found = there.find(address);
    if (found != there.end() && random() % 2) {
      memory_gone(at(address), found->second.first);
      there.erase(found);
      continue;
    }
    const std::uint64_t length = found != there.end() ? found->second.first : 1 + random() % (5 * kPage);
    const Place place = place_of(at(address), length, kPage);
    if (found != there.end()) ASSERT_EQ(place.number, found->second.second.number);
    there[address] = {length, place};
    std::set<std::uint64_t> pages;
    for (const auto& [other, what] : there)
      for (std::uint64_t page = 0; page < (what.first + kPage - 1) / kPage; ++page)
        ASSERT_TRUE(pages.insert(what.second.simulated / kPage + page).second) << "step " << step;
  }
}

}  // namespace
}  // namespace weft::lib
