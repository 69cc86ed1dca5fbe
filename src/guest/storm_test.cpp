#include "guest/storm.hpp"

#include <gtest/gtest.h>

#include "guest/ethernet.hpp"

namespace weft::guest {
namespace {

/// A segment of TCP from port 80.
std::vector<std::uint8_t> segment(std::uint16_t to_port, bool fin, std::size_t bytes = 60) {
  std::vector<std::uint8_t> out(bytes);
  out[12] = 0x08;
  out[14] = 0x45;
  out[14 + 9] = 6;
  out[34 + 1] = 80;
  out[34 + 2] = static_cast<std::uint8_t>(to_port >> 8);
  out[34 + 3] = static_cast<std::uint8_t>(to_port);
  out[34 + 13] = fin ? 0x11 : 0x10;
  return out;
}

TEST(BootWatch, WaitsForTheEndOfTwoConnections) {
  BootWatch watch;
  watch.received({1}, segment(4000, false));
  watch.received({2}, segment(4000, true));
  watch.received({3}, segment(4000, true));  // sent again
  watch.received({4}, std::vector<std::uint8_t>(3));
  EXPECT_FALSE(watch.done());
  watch.received({5}, segment(4001, true));
  EXPECT_TRUE(watch.done());
  watch.received({6}, segment(4002, true));
  EXPECT_EQ(watch.at(), Time{5});
}

/// A question of 100 bytes, two answers, an acknowledgement, an answer: then the node has all.
Recording short_boot() {
  Recorder recorder;
  const std::vector<std::uint8_t> question(100), acknowledgement(54);
  recorder.client_frame(true, {1000}, question);
  recorder.server_frame(false, {1500}, question);
  recorder.server_frame(true, {1700}, segment(1, false, 1000));
  recorder.server_frame(true, {1800}, segment(1, true, 900));
  recorder.client_frame(false, {2200}, segment(1, false, 1000));
  recorder.client_frame(false, {2300}, segment(1, true, 900));
  recorder.client_frame(true, {2350}, acknowledgement);
  recorder.server_frame(false, {2850}, acknowledgement);
  recorder.server_frame(true, {3000}, segment(2, true, 800));
  EXPECT_FALSE(recorder.done());
  recorder.client_frame(false, {3500}, segment(2, true, 800));
  EXPECT_TRUE(recorder.done());
  recorder.client_frame(true, {9000}, acknowledgement);  // its job
  recorder.server_frame(true, {9500}, question);
  return recorder.finish();
}

TEST(Recorder, KeepsWhatEachFrameWaitedFor) {
  const Recording r = short_boot();
  ASSERT_EQ(r.client.size(), 2u);
  ASSERT_EQ(r.server.size(), 3u);
  EXPECT_EQ(r.client[0].gap, Time{1000});
  EXPECT_EQ(r.client[1].after, 2u);
  EXPECT_EQ(r.client[1].gap, Time{50});
  EXPECT_EQ(r.server[0].after, 1u);
  EXPECT_EQ(r.server[0].gap, Time{200});
  EXPECT_EQ(r.server[1].gap, Time{100});
  EXPECT_EQ(r.server[2].after, 2u);
  EXPECT_EQ(r.server[2].bytes, 800u);
}

TEST(Storm, PlaysEveryBootAgainOverAWireThatTakesItsTime) {
  // Alone on a wire as long as the recorded one, a skeleton has all at the recorded time; on a longer one
  // later, by as much for each frame that waited for another.
  for (std::int64_t longer : {0, 300}) {
    event::EventQueue queue;
    Storm storm(queue, short_boot(), 2);
    struct Wire : event::EventHandler {
      void handle(const event::Event& event) override { storm->heard(event.data, event.kind != 0); }
      Storm* storm = nullptr;
    } wire;
    wire.storm = &storm;
    const event::ComponentId component = queue.join(wire);
    storm.send = [&](std::size_t client, bool from_server, std::uint32_t, bool) {
      queue.at(queue.now() + Time{500 + longer}, component, from_server ? 0 : 1, client);
    };
    storm.begin();
    while (!queue.empty()) queue.step();
    EXPECT_TRUE(storm.done());
    for (Time end : storm.ends()) EXPECT_EQ(end, Time{3500 + 4 * longer});
  }
}

TEST(Storm, WhatFindsNoRoomIsSentAgain) {
  event::EventQueue queue;
  Storm storm(queue, short_boot(), 1);
  std::vector<std::pair<Time, std::uint32_t>> sent;
  unsigned left = 1;  // to be lost
  storm.send = [&](std::size_t client, bool from_server, std::uint32_t bytes, bool tcp) {
    sent.emplace_back(queue.now(), bytes);
    if (bytes == 800 && left-- == 1)
      storm.lost(client, false, bytes, tcp);
    else
      storm.heard(client, !from_server);
  };
  storm.begin();
  while (!queue.empty()) queue.step();
  EXPECT_TRUE(storm.done());
  ASSERT_EQ(sent.size(), 6u);
  EXPECT_EQ(sent[5].second, 800u);
  EXPECT_EQ(sent[5].first - sent[4].first, Time{200'000'000'000});  // what TCP waits at least
}

TEST(StormTimes, AreOfAllNodesTogether) {
  const StormTimes times = storm_times({{5}, {1}}, {{9}, {3}, {4}});
  EXPECT_EQ(times.nodes, 5u);
  EXPECT_EQ(times.skeletons, 3u);
  EXPECT_EQ(times.first, Time{1});
  EXPECT_EQ(times.median, Time{4});
  EXPECT_EQ(times.last, Time{9});
}

}  // namespace
}  // namespace weft::guest
