#include "base/quantity.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft {
namespace {

template <class Q>
std::optional<std::int64_t> parse(std::string_view text) {
  std::string error;
  auto value = parse_quantity(quantity_kind<Q>(), text, error);
  EXPECT_EQ(value.has_value(), error.empty()) << text << ": " << error;
  return value;
}

template <class Q>
std::string complaint(std::string_view text) {
  std::string error;
  EXPECT_FALSE(parse_quantity(quantity_kind<Q>(), text, error)) << text;
  return error;
}

TEST(Quantity, FractionsAreExact) {
  EXPECT_EQ(parse<Time>("98.6ns"), 98'600);
  EXPECT_EQ(parse<Time>("0.001ns"), 1);
  EXPECT_EQ(parse<DataRate>("14Gbps"), 14'000'000'000);
  EXPECT_EQ(parse<DataRate>("12.544Gbps"), 12'544'000'000);
  EXPECT_EQ(parse<Length>("1.5m"), 1500);
  EXPECT_EQ(parse<Frequency>("156.25MHz"), 156'250'000);
}

TEST(Quantity, SizesKnowBothSortsOfPrefix) {
  EXPECT_EQ(parse<DataSize>("1kB"), 1000);
  EXPECT_EQ(parse<DataSize>("1KiB"), 1024);
  EXPECT_EQ(parse<DataSize>("1.5MiB"), 3 << 19);
}

TEST(Quantity, BlanksUnderscoresAndSignsAreRead) {
  EXPECT_EQ(parse<Time>(" 5 us "), 5'000'000);
  EXPECT_EQ(parse<DataSize>("1_000B"), 1000);
  EXPECT_EQ(parse<Time>("-3ns"), -3000);
  EXPECT_EQ(parse<Time>("0"), 0) << "nothing needs no unit";
}

TEST(Quantity, MistakesSayWhatWasExpected) {
  EXPECT_EQ(complaint<Time>("soon"), "expected a time such as \"98.6ns\"");
  EXPECT_EQ(complaint<Time>(""), "expected a time such as \"98.6ns\"");
  EXPECT_EQ(complaint<Time>("1.2.3ns"), "expected a time such as \"98.6ns\"");
  EXPECT_EQ(complaint<Length>("20"), "expected a length with its unit (mm, cm, m, km), such as \"20m\"");
  EXPECT_EQ(complaint<DataRate>("14Gbs"),
            "'Gbs' is not a unit of a data rate; expected one of bps, kbps, Mbps, Gbps, Tbps (did you mean "
            "'Gbps'?)");
}

TEST(Quantity, NothingIsRoundedAndNothingWrapsRound) {
  EXPECT_EQ(complaint<Time>("0.5ps"), "is finer than the smallest step, 1ps");
  EXPECT_EQ(complaint<Time>("10000000s"), "is larger than a time can be here");
  EXPECT_EQ(complaint<Time>("99999999999999999999999999999999999999s"), "expected a time such as \"98.6ns\"");
}

TEST(Quantity, PrintsTheShortestExactText) {
  EXPECT_EQ(to_text(Time{98'600}), "98.6ns");
  EXPECT_EQ(to_text(Time{0}), "0ps");
  EXPECT_EQ(to_text(Time{-1500}), "-1.5ns");
  EXPECT_EQ(to_text(DataSize{1 << 20}), "1MiB");
  EXPECT_EQ(to_text(DataSize{1'000'000}), "1MB");
  EXPECT_EQ(to_text(Length{20'000}), "20m");
}

TEST(Quantity, WhatIsPrintedReadsBackTheSame) {
  for (std::uint64_t step = 0; step < 2000; ++step) {
    // All magnitudes alike: draw the number of bits first.
    auto value = static_cast<std::int64_t>(random_bits(1, 0, step) >> (1 + random_below(1, 1, step, 62)));
    EXPECT_EQ(parse<Time>(to_text(Time{value})), value);
    EXPECT_EQ(parse<DataSize>(to_text(DataSize{value})), value);
    EXPECT_EQ(parse<DataRate>(to_text(DataRate{-value})), -value);
  }
}

}  // namespace
}  // namespace weft
