// The simulator's side of a segment, as a reader of its rings sees it.
#include "host/segment.hpp"

#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::host {
namespace {

using nic::test::Bench;
using nic::test::torus;

TEST(Mailboxes, ASlotIsValidUntilItsReaderClearsIt) {
  // VELO: the first word of a message is never 0, and the reader sets it to 0 for the slot's next use.
  Bench b(torus("message_slots = 8"), 1);
  Segment segment(b.machine, 0, 1, 0);
  segment.open(0, 3);
  Layout layout = segment.header();
  nic::Message* ring = messages_of(port_at(&segment.header(), layout, 0), layout);
  PortArea& area = *port_at(&segment.header(), layout, 0);
  std::uint32_t read = 0, written = 0;
  auto push = [&] {
    nic::Message m;
    m.time = 1000 + written;
    m.tag = written++;
    segment.push(0, m);
  };
  for (int lap = 0; lap < 5; ++lap) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ring[written % 3].time, 0) << "nothing is here yet";
      push();
    }
    EXPECT_EQ(ring[3].time, 0) << "a ring of three slots has no fourth";
    for (int i = 0; i < 3; ++i, ++read) {
      nic::Message& slot = ring[read % 3];
      ASSERT_EQ(slot.time, 1000 + read) << "valid, with all that belongs to it";
      ASSERT_EQ(slot.tag, read);
      slot.time = 0;
      area.messages_taken.store(read + 1);
    }
    unsigned messages = 0, events = 0;
    segment.take_consumed(0, messages, events);
    EXPECT_EQ(messages, 3u);
  }
  push();
  segment.close(0);
  segment.open(0, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ring[i].time, 0) << "what the last user left is gone";
}

}  // namespace
}  // namespace weft::host
