#include "network/link/scrambler.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/random.hpp"
#include "network/link/link_bench.hpp"

namespace weft::network::link {
namespace {

std::vector<std::uint8_t> random_bytes(std::uint64_t seed, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(random_bits(seed, 3, i));
  return out;
}

int bit(const std::vector<std::uint8_t>& bytes, std::size_t n) { return bytes[n / 8] >> n % 8 & 1; }

TEST(Scrambler, LineIsThePolynomialBitByBit) {
  std::vector<std::uint8_t> data = random_bytes(1, 200), line = data;
  Scrambler().scramble(line.data(), line.size());
  for (std::size_t n = 58; n < 8 * data.size(); ++n)
    ASSERT_EQ(bit(line, n), bit(data, n) ^ bit(line, n - 39) ^ bit(line, n - 58)) << n;
}

TEST(Scrambler, DescrambledBytesAreThoseSentAndLongRunsAreBroken) {
  std::vector<std::uint8_t> zeros(4000, 0), line = zeros;
  Scrambler sender, receiver;
  // In pieces: the register goes on from one to the next.
  for (std::size_t at = 0; at < line.size(); at += 40) sender.scramble(&line[at], 40);
  std::size_t ones = 0, run = 0, longest = 0;
  for (std::size_t n = 0; n < 8 * line.size(); ++n) {
    run = n > 0 && bit(line, n) == bit(line, n - 1) ? run + 1 : 1;
    longest = std::max(longest, run);
    ones += static_cast<std::size_t>(bit(line, n));
  }
  EXPECT_NEAR(static_cast<double>(ones), 16'000, 800) << "as many ones as zeros, within 9 deviations";
  EXPECT_LT(longest, 58u);
  receiver.descramble(line.data(), line.size());
  EXPECT_EQ(line, zeros);
}

TEST(Scrambler, AWireErrorDamagesItsBitAndThoseThirtyNineAndFiftyEightLater) {
  const std::vector<std::uint8_t> data = random_bytes(2, 64);
  for (std::size_t hit = 0; hit + 58 < 8 * data.size(); ++hit) {
    std::vector<std::uint8_t> line = data;
    Scrambler().scramble(line.data(), line.size());
    line[hit / 8] ^= static_cast<std::uint8_t>(1u << hit % 8);
    Scrambler().descramble(line.data(), line.size());
    std::set<std::size_t> wrong;
    for (std::size_t n = 0; n < 8 * data.size(); ++n)
      if (bit(line, n) != bit(data, n)) wrong.insert(n);
    ASSERT_EQ(wrong, (std::set<std::size_t>{hit, hit + 39, hit + 58}));
  }
}

TEST(Scrambler, FindsItsPlaceAfterFiftyEightBits) {
  const std::vector<std::uint8_t> data = random_bytes(4, 64);
  std::vector<std::uint8_t> line = random_bytes(5, 30);
  Scrambler sender;
  sender.scramble(line.data(), line.size());  // not heard by the receiver
  line = data;
  sender.scramble(line.data(), line.size());
  Scrambler().descramble(line.data(), line.size());
  EXPECT_TRUE(std::equal(line.begin() + 8, line.end(), data.begin() + 8));
  EXPECT_FALSE(std::equal(line.begin(), line.begin() + 8, data.begin()));
}

LinkSettings small() {
  LinkSettings s;
  s.flight = 10;
  s.timeout = 60;
  s.beat = 100;
  s.training = 200;
  return s;
}

WireSettings scrambled() {
  WireSettings wire;
  wire.scrambled = true;
  return wire;
}

TEST(Scrambler, WithoutErrorsALinkRunsAsWithoutOne) {
  Bench plain(small(), 0, 1, 1), with(small(), 0, 1, 1, 1'000'000, scrambled());
  for (Bench* bench : {&plain, &with}) {
    bench->a.packets_wanted = bench->b.packets_wanted = 1000;
    bench->run(3000);
    EXPECT_EQ(bench->problem(), "");
    EXPECT_EQ(bench->a.end.counters().refused + bench->b.end.counters().refused, 0u);
  }
  EXPECT_EQ(plain.b.flits_here, with.b.flits_here);
  EXPECT_GT(with.b.flits_here, 2000u);
}

TEST(Scrambler, WhatAnErrorSpreadsToIsFoundByTheCrc) {
  for (auto retry : {topology::Retry::Packet, topology::Retry::HeaderFooter})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      LinkSettings settings = small();
      settings.retry = retry;
      settings.max_retries = 1000;
      Bench bench(settings, 3e-5, seed % 2 ? 1 : 40, seed, 1'000'000, scrambled());
      bench.a.packets_wanted = bench.b.packets_wanted = 500;
      EXPECT_TRUE(bench.run_until_done(200'000));
      EXPECT_EQ(bench.problem(), "");
      EXPECT_GT(bench.a_to_b->bits_damaged() + bench.b_to_a->bits_damaged(), 0u);
      EXPECT_GT(bench.a.end.counters().refused + bench.b.end.counters().refused, 0u);
    }
}

}  // namespace
}  // namespace weft::network::link
