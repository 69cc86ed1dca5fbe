#include "storage/node_cache.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/random.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kFile = 7, kPage = NodeCache::kPage;

std::string seen(const NodeCache& cache, const std::string& servers, std::uint64_t offset,
                 std::uint64_t bytes) {
  std::string out = servers.substr(offset, bytes);
  cache.overlay(kFile, offset, out);
  return out;
}

TEST(NodeCache, AsksForWholePagesThatAreNotThere) {
  NodeCache cache(64 * kPage);
  const std::uint64_t size = 10 * kPage + 100;
  auto missing = cache.missing(kFile, kPage + 5, kPage + 10, size);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].begin, kPage);
  EXPECT_EQ(missing[0].end, 2 * kPage);
  cache.fill(kFile, kPage, 2 * kPage);
  EXPECT_TRUE(cache.missing(kFile, kPage, 2 * kPage, size).empty());
  missing = cache.missing(kFile, 0, size, size);
  ASSERT_EQ(missing.size(), 2u) << "around the page that is there";
  EXPECT_EQ(missing[1].end, size) << "none behind the end";
  EXPECT_EQ(cache.hits, 1u);
  EXPECT_EQ(cache.misses, 2u);
}

TEST(NodeCache, TheLeastRecentlyUsedPageGoesThatTheServersHave) {
  NodeCache cache(4 * kPage);
  cache.write(kFile, 0, std::string(10, 'x'), true);
  for (std::uint64_t i = 1; i < 4; ++i) cache.fill(kFile, i * kPage, (i + 1) * kPage);
  cache.missing(kFile, kPage, kPage + 1, 9 * kPage);  // used again
  cache.fill(kFile, 4 * kPage, 5 * kPage);
  EXPECT_TRUE(cache.missing(kFile, kPage, 2 * kPage, 9 * kPage).empty());
  EXPECT_FALSE(cache.missing(kFile, 2 * kPage, 3 * kPage, 9 * kPage).empty()) << "that one";
  EXPECT_TRUE(cache.is_dirty(kFile)) << "what only this node has stays";
}

TEST(NodeCache, SeesWhatItHadUntilItLooksAgain) {
  NodeCache cache(64 * kPage);
  std::string servers(2 * kPage, 'a');
  cache.check_version(kFile, 1);
  cache.fill(kFile, 0, kPage);
  cache.keep_old(kFile, 0, 2 * kPage, [&](std::uint64_t offset, std::span<char> out) {
    std::copy_n(servers.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  });
  servers.assign(2 * kPage, 'b');
  EXPECT_EQ(seen(cache, servers, 0, 2), "aa");
  EXPECT_EQ(seen(cache, servers, kPage, 2), "bb") << "it had none of that";
  cache.check_version(kFile, 2);
  EXPECT_EQ(seen(cache, servers, 0, 2), "bb");
  EXPECT_FALSE(cache.missing(kFile, 0, 1, 2 * kPage).empty());
}

/// Writes here and flushes, at random: the node always sees what it has written, and in the end all has it.
TEST(NodeCache, WhatIsWrittenIsSeenAndComesToTheServers) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    NodeCache cache(8 * kPage);
    std::string servers(20 * kPage, '.'), expected = servers;
    std::vector<Extents::Range> under_way;
    auto flush = [&] {
      for (const Extents::Range& range : under_way)
        servers.replace(range.begin, range.end - range.begin,
                        seen(cache, servers, range.begin, range.end - range.begin));
      cache.cleaned(kFile, under_way);
    };
    for (std::uint64_t step = 0; step < 200; ++step) {
      auto draw = [&](std::uint64_t what, std::uint64_t below) {
        return random_bits(seed, what, step) % below;
      };
      if (draw(0, 4) == 0) {
        flush();
        under_way = cache.take_dirty(kFile);
        continue;
      }
      const std::uint64_t offset = draw(1, 18 * kPage);
      const std::string data(1 + draw(2, 2 * kPage - 1), static_cast<char>('a' + draw(3, 26)));
      cache.write(kFile, offset, data, true);
      expected.replace(offset, data.size(), data);
      ASSERT_EQ(seen(cache, servers, 0, servers.size()), expected) << "seed " << seed << ", step " << step;
    }
    for (int i = 0; i < 2; ++i) {
      flush();
      under_way = cache.take_dirty(kFile);
    }
    EXPECT_EQ(servers, expected) << "seed " << seed;
    EXPECT_FALSE(cache.has_dirty());
  }
}

}  // namespace
}  // namespace weft::storage
