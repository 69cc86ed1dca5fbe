#include "base/text.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Words = std::vector<std::string>;

TEST(Text, SplitTrimsAndJoinPutsTogether) {
  EXPECT_EQ(split(" a, b ,,c", ','), (Words{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), Words{""});
  EXPECT_EQ(join(Words{"a", "b", "c"}, " -> "), "a -> b -> c");
  EXPECT_EQ(trim(" \t x y \n"), "x y");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, EditDistanceCountsASwapAsOneMistake) {
  EXPECT_EQ(edit_distance("torus", "torus"), 0u);
  EXPECT_EQ(edit_distance("tours", "torus"), 1u);
  EXPECT_EQ(edit_distance("torrus", "torus"), 1u);
  EXPECT_EQ(edit_distance("", "torus"), 5u);
  EXPECT_EQ(edit_distance("mesh", "torus"), 5u);
}

TEST(Text, HintsAreForTypingMistakesOnly) {
  Words known{"torus", "mesh", "dragonfly", "fat-tree"};
  EXPECT_EQ(nearest("tours", known), "torus");
  EXPECT_EQ(nearest("dragon", known), "dragonfly") << "the beginning of a word is enough";
  EXPECT_EQ(nearest("banana", known), "");
  EXPECT_EQ(nearest("torus", {}), "");
  EXPECT_EQ(did_you_mean("mseh", known), " (did you mean 'mesh'?)");
  EXPECT_EQ(did_you_mean("mesh", known), "") << "the word itself is no hint";
}

TEST(Text, NumbersAreReadable) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(18'432), "18,432");
  EXPECT_EQ(with_commas(1'000'000), "1,000,000");
  EXPECT_EQ(count_of(1, "router"), "1 router");
  EXPECT_EQ(count_of(1024, "router"), "1,024 routers");
  EXPECT_EQ(count_of(2, "class", "classes"), "2 classes");
}

TEST(Text, WrapIndentsEveryLineAfterTheFirst) {
  EXPECT_EQ(wrap("one two three", 11, 2), "one two\n  three");
  EXPECT_EQ(wrap("one two", 80, 2), "one two");
  EXPECT_EQ(wrap("unbreakable", 4, 0), "unbreakable") << "a long word is not cut";
}

}  // namespace
}  // namespace weft
