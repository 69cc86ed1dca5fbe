// Frames behind registered pages, against a plain table of pages.
#include "nic/physical_memory.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"

namespace weft::nic {
namespace {

constexpr unsigned kBits = 20, kPageBits = 12;  // 256 frames

TEST(PhysicalMemory, AgreesWithATableOfPages) {
  PhysicalMemory memory(kBits, kPageBits);
  struct Pin {
    std::uint32_t owner;
    std::uint64_t address, length;
  };
  std::vector<Pin> pins;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint64_t, unsigned>>
      table;  // frame, users
  unsigned refused = 0, in_pieces = 0;
  for (std::uint64_t step = 0; step < 4000; ++step) {
    if (!pins.empty() && random_below(9, 1, step, 2)) {
      std::size_t at = random_below(9, 2, step, static_cast<std::uint32_t>(pins.size()));
      Pin p = pins[at];
      pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(at));
      memory.unpin(p.owner, p.address, p.length, 0);
      for (std::uint64_t page = p.address >> kPageBits; page <= (p.address + p.length - 1) >> kPageBits;
           ++page)
        if (--table.at({p.owner, page}).second == 0) table.erase({p.owner, page});
    } else {
      Pin p{random_below(9, 3, step, 3),
            (std::uint64_t{1} << 40) + random_below(9, 4, step, 300 << kPageBits),
            1 + random_below(9, 5, step, 60 << kPageBits)};
      std::set<std::uint64_t> fresh;
      for (std::uint64_t page = p.address >> kPageBits; page <= (p.address + p.length - 1) >> kPageBits;
           ++page)
        if (!table.count({p.owner, page})) fresh.insert(page);
      bool pinned = memory.pin(p.owner, p.address, p.length, 0, false);
      ASSERT_EQ(pinned, table.size() + fresh.size() <= 256u) << "refused only where frames run out";
      if (!pinned) {
        ++refused;
      } else {
        pins.push_back(p);
        in_pieces += memory.contiguous(p.owner, p.address, p.length) < p.length;
        for (std::uint64_t page = p.address >> kPageBits; page <= (p.address + p.length - 1) >> kPageBits;
             ++page) {
          auto physical = memory.translate(p.owner, page << kPageBits);
          ASSERT_TRUE(physical);
          ASSERT_LT(*physical, std::uint64_t{1} << kBits) << "no more bits than there are";
          auto [at, is_new] = table.try_emplace({p.owner, page}, *physical >> kPageBits, 0);
          ASSERT_EQ(at->second.first, *physical >> kPageBits) << "a page keeps its frame";
          ++at->second.second;
        }
      }
    }
    std::set<std::uint64_t> frames;
    for (const auto& [key, value] : table) {
      ASSERT_EQ(memory.translate(key.first, (key.second << kPageBits) + 17), (value.first << kPageBits) + 17);
      ASSERT_TRUE(frames.insert(value.first).second) << "two pages in one frame";
      auto behind = memory.behind((value.first << kPageBits) + 17);
      ASSERT_TRUE(behind);
      ASSERT_EQ(behind->owner, key.first);
      ASSERT_EQ(behind->address, (key.second << kPageBits) + 17);
    }
  }
  EXPECT_GT(refused, 20u);
  EXPECT_GT(in_pieces, 20u);
  for (const Pin& p : pins) memory.unpin(p.owner, p.address, p.length, 0);
  EXPECT_FALSE(memory.translate(0, std::uint64_t{1} << 40));
  EXPECT_TRUE(memory.pin(7, 0, std::uint64_t{1} << kBits, 0, true))
      << "all frames are free again, in one piece";
}

TEST(PhysicalMemory, TheStagesAreDifferentMaps) {
  PhysicalMemory memory(kBits, kPageBits);
  ASSERT_TRUE(memory.pin(1, 0x5000, 0x2000, 0, false));
  ASSERT_TRUE(memory.pin(2, 0x5000, 0x1000, 0, false));
  EXPECT_EQ(memory.translate(1, 0x5123), 0xfe123u) << "the first frames from the top";
  EXPECT_EQ(memory.translate(1, 0x6000), 0xff000u);
  EXPECT_EQ(memory.translate(2, 0x5123), 0xfd123u) << "another process, the same address";
  EXPECT_FALSE(memory.translate(1, 0x7000));
  EXPECT_FALSE(memory.behind(0x1000));
  EXPECT_EQ(memory.behind(0xff800)->length, 0x800u);
}

TEST(PhysicalMemory, TogetherOrNotAtAll) {
  PhysicalMemory memory(kBits, kPageBits);
  std::uint64_t all = std::uint64_t{1} << kBits;
  ASSERT_TRUE(memory.pin(1, 0, all, 0, true));
  memory.unpin(1, 0x3000, 0x1000, 0);  // two holes that do not touch
  memory.unpin(1, 0x8000, 0x1000, 0);
  EXPECT_FALSE(memory.pin(2, 0x10000, 0x2000, 0, true));
  EXPECT_FALSE(memory.translate(2, 0x10000)) << "nothing has changed";
  EXPECT_TRUE(memory.pin(2, 0x10000, 0x2000, 0, false));
  EXPECT_EQ(memory.contiguous(2, 0x10000, 0x2000), 0x1000u);
}

TEST(PhysicalMemory, ATerabyteIsOneEntry) {
  PhysicalMemory memory(40, kPageBits);
  EXPECT_TRUE(memory.pin(1, 0, std::uint64_t{1} << 40, 0, true));
  EXPECT_FALSE(memory.pin(2, 0, 1, 0, false)) << "40 bits are used up";
  EXPECT_EQ(memory.translate(1, (std::uint64_t{1} << 40) - 1), (std::uint64_t{1} << 40) - 1);
}

}  // namespace
}  // namespace weft::nic
