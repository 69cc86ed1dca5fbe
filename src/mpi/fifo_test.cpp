#include "mpi/fifo.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace weft::mpi {
namespace {

TEST(Fifo, IsADequeThatKeepsItsPlaces) {
  const unsigned seed = 4711;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Fifo<int> fifo;
  std::deque<int> model;
  for (int i = 0; i < 20'000; ++i) {
    const unsigned what = random() % 100;
    if (what == 0) {
      fifo.clear();
      model.clear();
    } else if (what < 55) {
      fifo.push_back(i);
      model.push_back(i);
    } else if (!model.empty()) {
      ASSERT_EQ(fifo.front(), model.front());
      fifo.pop_front();
      model.pop_front();
    }
    ASSERT_EQ(fifo.size(), model.size());
    ASSERT_EQ(fifo.empty(), model.empty());
    if (model.empty()) continue;
    ASSERT_EQ(fifo.back(), model.back());
    const std::size_t at = random() % model.size();
    ASSERT_EQ(fifo[at], model[at]);
  }
}

TEST(Fifo, APlaceKeepsTheMemoryOfWhoHadIt) {
  Fifo<std::vector<char>> fifo;
  for (int i = 0; i < 8; ++i) fifo.push().resize(1000);
  while (!fifo.empty()) fifo.pop_front();
  for (int i = 0; i < 8; ++i) EXPECT_GE(fifo.push().capacity(), 1000u);
}

struct Entry {
  int value = 0;
  Entry *next = nullptr, *before = nullptr;
};

TEST(Queue, EntriesLeaveFromAnywhere) {
  Queue<Entry> queue;
  Entry entries[5];
  for (int i = 0; i < 5; ++i) {
    entries[i].value = i;
    queue.push_back(&entries[i]);
  }
  auto values = [&] {
    std::vector<int> out;
    for (const Entry* e = queue.first(); e; e = e->next) out.push_back(e->value);
    return out;
  };
  queue.erase(&entries[2]);
  queue.erase(&entries[4]);
  queue.erase(&entries[0]);
  EXPECT_EQ(values(), (std::vector<int>{1, 3}));
  EXPECT_EQ(queue.size(), 2u);
  queue.push_back(&entries[0]);
  EXPECT_EQ(values(), (std::vector<int>{1, 3, 0}));
  for (int i : {1, 3, 0}) queue.erase(&entries[i]);
  EXPECT_TRUE(queue.empty());
}

TEST(Pool, GivesOutWhatCameBack) {
  Pool<int> pool;
  int *a = pool.take(), *b = pool.take();
  EXPECT_NE(a, b);
  pool.give(a);
  EXPECT_EQ(pool.take(), a);
  EXPECT_NE(pool.take(), b);
}

}  // namespace
}  // namespace weft::mpi
