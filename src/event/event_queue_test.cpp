#include "event/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <tuple>

#include "base/random.hpp"

namespace weft::event {
namespace {

struct Recorder : EventHandler {
  explicit Recorder(EventQueue& q) : queue(q), id(q.join(*this)) {}
  void handle(const Event& event) override {
    EXPECT_EQ(event.at, queue.now());
    EXPECT_EQ(event.component, id);
    seen.push_back(event);
  }
  EventQueue& queue;
  ComponentId id;
  std::vector<Event> seen;
};

TEST(EventQueue, OrderIsTimeThenComponentThenTheOrderOfAsking) {
  std::vector<std::uint64_t> order;
  struct Note : EventHandler {
    Note(EventQueue& q, std::vector<std::uint64_t>& o) : id(q.join(*this)), order(o) {}
    void handle(const Event& event) override { order.push_back(event.data); }
    ComponentId id;
    std::vector<std::uint64_t>& order;
  };
  EventQueue queue;
  Note first(queue, order), second(queue, order);
  queue.at(Time{7}, second.id, 0, 5);
  queue.at(Time{5}, second.id, 0, 3);
  queue.at(Time{5}, second.id, 0, 4);
  queue.at(Time{5}, first.id, 0, 2);
  queue.at(Time{3}, second.id, 0, 1);
  while (!queue.empty()) queue.step();
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(queue.now(), Time{7});
  EXPECT_EQ(queue.next(), kNever);
}

TEST(EventQueue, RandomEventsComeAsASortWouldHaveThem) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE("seed 20");
  for (std::uint64_t round = 0; round < 50; ++round) {
    EventQueue queue;
    std::vector<Recorder> components;
    components.reserve(3);
    for (int i = 0; i < 3; ++i) components.emplace_back(queue);
    using Key = std::tuple<std::int64_t, ComponentId, std::uint64_t>;
    std::vector<Key> expected;
    std::uint64_t asked = 0;
    // Some before and some while others have already happened.
    for (std::uint64_t step = 0; step < 300; ++step) {
      auto draw = [&](std::uint64_t what, unsigned below) {
        return random_below(kSeed, round * 10 + what, step, below);
      };
      Time when = queue.now() + Time{draw(0, 20)};
      ComponentId who = draw(1, 3);
      queue.at(when, who, 0, asked);
      expected.push_back({when.value, who, asked++});
      if (draw(2, 3) == 0) {
        auto least = std::min_element(expected.begin(), expected.end());
        queue.step();
        const Event& got = components[std::get<1>(*least)].seen.back();
        EXPECT_EQ((Key{got.at.value, got.component, got.data}), *least);
        expected.erase(least);
      }
    }
    std::sort(expected.begin(), expected.end());
    for (const Key& key : expected) {
      queue.step();
      const Event& got = components[std::get<1>(key)].seen.back();
      EXPECT_EQ((Key{got.at.value, got.component, got.data}), key);
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(EventQueue, TheClockPassesNoEventAndNothingHappensInThePast) {
  EventQueue queue;
  Recorder one(queue);
  queue.at(Time{10}, one.id, 0, 0);
  queue.advance_to(Time{10});
  EXPECT_EQ(queue.now(), Time{10});
  EXPECT_THROW(queue.advance_to(Time{11}), Defect);
  EXPECT_THROW(queue.at(Time{9}, one.id, 0, 0), Defect);
}

}  // namespace
}  // namespace weft::event
