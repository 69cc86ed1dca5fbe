#include "mpi/registration_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weft::mpi {
namespace {

/// The cache's rules, in the plainest form: entries in order of their last use.
struct Model {
  struct Entry {
    Place place;
    std::uint64_t length, key;
    std::uint32_t rights, users;
  };
  std::size_t room;
  std::vector<Entry> entries;  // the last used at the end

  Entry* touch(std::size_t i) {
    Entry e = entries[i];
    entries.erase(entries.begin() + static_cast<long>(i));
    entries.push_back(e);
    return &entries.back();
  }
  Entry* find(std::uint64_t key) {
    for (Entry& e : entries)
      if (e.key == key) return &e;
    return nullptr;
  }
  std::uint64_t drop_idle() {
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].users == 0) {
        const std::uint64_t key = entries[i].key;
        entries.erase(entries.begin() + static_cast<long>(i));
        return key;
      }
    return 0;
  }
};

TEST(RegistrationCache, AgreesWithAModelOfItsRules) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    RegistrationCache cache;
    Model model{1 + random() % 6, {}};
    ASSERT_TRUE(cache.make_room(static_cast<std::uint32_t>(model.room)));
    std::uint64_t next_key = 1;
    for (int step = 0; step < 3000; ++step) {
      const Place place{random() % 5 * 4096, random() % 5};
      const std::uint64_t length = 64 * (1 + random() % 2);
      const std::uint32_t rights = random() % 2;
      if (random() % 3) {
        Registration* r = cache.take(place, length, rights, false);
        Model::Entry* expected = nullptr;
        for (std::size_t i = 0; i < model.entries.size() && !expected; ++i) {
          const Model::Entry& e = model.entries[i];
          if (e.place.number == place.number && e.length == length && e.rights == rights)
            expected = model.touch(i);
        }
        ASSERT_EQ(r != nullptr, expected != nullptr);
        if (r) {
          ++expected->users;
          EXPECT_EQ(r->key, expected->key);
          EXPECT_EQ(r->users, expected->users);
          continue;
        }
        const std::uint64_t key = next_key++;
        std::uint64_t dropped = 0;
        if (model.entries.size() == model.room) dropped = model.drop_idle();
        if (model.entries.size() < model.room) model.entries.push_back({place, length, key, rights, 1});
        EXPECT_EQ(cache.add(place, length, rights, key), dropped);
      } else if (!model.entries.empty()) {
        Model::Entry& e = model.entries[random() % model.entries.size()];
        Registration* r = cache.find(e.key);
        ASSERT_NE(r, nullptr);
        ASSERT_EQ(r->users, e.users);
        if (!e.users) continue;
        --e.users;
        --r->users;
      }
    }
    while (std::uint64_t key = model.drop_idle()) EXPECT_EQ(cache.drop_idle(), key);
    EXPECT_EQ(cache.drop_idle(), 0u);
    cache.give_room();
  }
}

TEST(RegistrationCache, OnlyWhatNobodyUsesMayServeOtherMemoryAtItsAddress) {
  RegistrationCache cache;
  cache.make_room(4);
  cache.add({4096, 1}, 64, 0, 7);
  EXPECT_EQ(cache.take({4096, 2}, 64, 0, true), nullptr) << "it is in use";
  --cache.find(7)->users;
  EXPECT_EQ(cache.take({4096, 2}, 64, 0, false), nullptr);
  EXPECT_EQ(cache.take({8192, 2}, 64, 0, true), nullptr) << "another address";
  Registration* moved = cache.take({4096, 2}, 64, 0, true);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->key, 7u);
  EXPECT_EQ(moved->place.number, 1u) << "the caller moves it";
  cache.give_room();
}

TEST(RegistrationCache, WithoutRoomIsOff) {
  RegistrationCache cache;
  EXPECT_TRUE(cache.make_room(0));
  EXPECT_FALSE(cache.on());
  EXPECT_EQ(cache.add({0, 1}, 64, 0, 3), 0u);
  EXPECT_EQ(cache.find(3), nullptr);
}

}  // namespace
}  // namespace weft::mpi
