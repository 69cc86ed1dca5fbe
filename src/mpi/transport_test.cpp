// The protocol, over a fake interface: every choice a machine has, in order and out of order, against what
// MPI promises.
#include "mpi/transport.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "abi/mpi_calls.hpp"
#include "mpi/test_pair.hpp"

namespace weft::mpi {
namespace {

using test::Member;
using test::model;
using test::Net;

std::vector<char> data_of(std::size_t bytes, unsigned seed) {
  std::vector<char> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 7 + seed * 31 + 1);
  return out;
}

void post_receive(Member& member, std::vector<char>& into, std::uint64_t tag, std::uint64_t ignore = 0,
                  std::uint32_t peer = kAnyPeer, bool tagged = true) {
  Receive wanted;
  wanted.buffer = Buffer(into.data(), into.size());
  wanted.context = &into;
  wanted.tag = tag;
  wanted.ignore = ignore;
  wanted.peer = peer;
  wanted.tagged = tagged;
  member.receive(member, wanted);
}

struct Choice {
  std::uint32_t eager, rendezvous, ack, credits;
};

void PrintTo(const Choice& c, std::ostream* out) {
  *out << "eager " << c.eager << ", rendezvous " << c.rendezvous << ", ack " << c.ack << ", credits "
       << c.credits;
}

std::vector<Choice> all_choices() {
  std::vector<Choice> out;
  for (std::uint32_t eager : {0, 1, 2})
    for (std::uint32_t rendezvous : {0, 1})
      for (std::uint32_t ack : {0, 1})
        for (std::uint32_t credits : {0, 1, 3}) {
          if (eager == 1 && credits == 0) continue;  // the shared channel lends blocks by credit
          out.push_back({eager, rendezvous, ack, credits});
        }
  return out;
}

class EveryChoice : public testing::TestWithParam<Choice> {
 protected:
  abi::MpiModel chosen() const {
    const Choice& c = GetParam();
    return model(c.eager, c.rendezvous, c.ack, c.credits);
  }
};
INSTANTIATE_TEST_SUITE_P(Transport, EveryChoice, testing::ValuesIn(all_choices()));

TEST_P(EveryChoice, MessagesOfEveryLengthArriveWholeWhicheverSideIsFirst) {
  for (bool receive_first : {true, false})
    for (std::size_t bytes : {0, 1, 32, 33, 80, 200, 201, 250, 1000}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, receive first " << receive_first);
      Net net;
      Member &a = net.add(chosen()), &b = net.add(chosen());
      std::vector<char> from = data_of(bytes, 3), into(bytes);
      if (receive_first) post_receive(b, into, 5);
      a.send_to(1, from, 5);
      net.run();
      if (!receive_first) post_receive(b, into, 5);
      net.run();
      ASSERT_EQ(b.got.size(), 1u);
      EXPECT_EQ(b.got[0].length, bytes);
      EXPECT_EQ(b.got[0].error, 0);
      EXPECT_EQ(into, from);
      EXPECT_EQ(a.sent, 1u);
      EXPECT_FALSE(net.broken);
      EXPECT_FALSE(a.under_way());
      EXPECT_FALSE(b.under_way());
      EXPECT_EQ(receive_first ? b.sums.expected : b.sums.unexpected, 1u);
    }
}

/// Many messages in both directions over a network that keeps no order: each pair's messages of a tag are
/// received in the order in which they were sent, whole, and nothing is left behind.
TEST_P(EveryChoice, RandomMessagesKeepTheOrderOfTheirPair) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    Net net(seed);
    for (int i = 0; i < 3; ++i) net.add(chosen());
    struct Pending {
      std::vector<char> data;
    };
    // By receiver, sender and tag: what was sent, and what was received, in order.
    std::map<std::tuple<unsigned, unsigned, std::uint64_t>, std::vector<std::vector<char>>> sent, received;
    std::deque<std::vector<char>> kept;  // buffers stay where they are
    std::deque<std::vector<char>> rooms;
    std::map<const void*, std::tuple<unsigned, unsigned, std::uint64_t>> room_of;
    for (int step = 0; step < 60; ++step) {
      unsigned from = random() % 3, to = (from + 1 + random() % 2) % 3;
      std::uint64_t tag = random() % 3;
      std::size_t bytes = random() % 3 ? random() % 260 : random() % 40;
      auto send = [&] {
        kept.push_back(data_of(bytes, static_cast<unsigned>(step)));
        sent[{to, from, tag}].push_back(kept.back());
        net.members[from]->send_to(to, kept.back(), tag);
      };
      auto receive = [&] {
        rooms.emplace_back(300);
        room_of[&rooms.back()] = {to, from, tag};
        post_receive(*net.members[to], rooms.back(), tag, 0, net.members[to]->peer_of(from));
      };
      if (random() % 2) {
        send();
        if (random() % 2) net.run();
        receive();
      } else {
        receive();
        if (random() % 2) net.run();
        send();
      }
    }
    net.run();
    ASSERT_FALSE(net.broken);
    for (auto& member : net.members) {
      for (const test::Received& r : member->got) {
        EXPECT_EQ(r.error, 0);
        auto& room = *static_cast<std::vector<char>*>(r.context);
        received[room_of.at(&room)].push_back({room.begin(), room.begin() + static_cast<long>(r.length)});
      }
      EXPECT_FALSE(member->under_way()) << "node " << member->node;
    }
    // Receives of one pair and tag are posted in order too, and completions of long ones may overtake: so
    // what is compared is what each receive got.
    std::map<std::tuple<unsigned, unsigned, std::uint64_t>, std::vector<std::vector<char>>> by_receive;
    std::map<const void*, std::size_t> length;
    for (auto& member : net.members)
      for (const test::Received& r : member->got) length[r.context] = r.length;
    for (auto& room : rooms)
      by_receive[room_of.at(&room)].push_back(
          {room.begin(), room.begin() + static_cast<long>(length.at(&room))});
    EXPECT_EQ(by_receive, sent);
  }
}

TEST(Transport, AReceiveTakesTheFirstMessageItFits) {
  Net net;
  Member &a = net.add(model(0, 0, 0, 0)), &b = net.add(model(0, 0, 0, 0)), &c = net.add(model(0, 0, 0, 0));
  std::vector<char> one = data_of(4, 1), two = data_of(5, 2), three = data_of(6, 3);
  a.send_to(2, one, 0x11);
  b.send_to(2, two, 0x22);
  a.send_to(2, three, 0x21);
  net.run();
  std::vector<char> into(16), other(16), rest(16);
  post_receive(c, into, 0x20, 0x0f);  // any tag 0x2x: the first that came
  EXPECT_EQ(c.got.at(0).tag, 0x22u);
  post_receive(c, other, 0, ~0ull, c.peer_of(0));  // any tag, of node 0
  EXPECT_EQ(c.got.at(1).tag, 0x11u);
  post_receive(c, rest, 0x33, 0);
  EXPECT_EQ(c.got.size(), 2u) << "none of that tag";
  Receive gone;
  EXPECT_FALSE(c.cancel(&into, gone));
  EXPECT_TRUE(c.cancel(&rest, gone));
  EXPECT_EQ(gone.tag, 0x33u);
  EXPECT_FALSE(c.cancel(&rest, gone)) << "once";
}

TEST(Transport, PlainAndTaggedMessagesDoNotMeet) {
  Net net;
  Member &a = net.add(model(0, 0, 0, 0)), &b = net.add(model(0, 0, 0, 0));
  std::vector<char> plain = data_of(4, 1), tagged = data_of(5, 2), into(8), other(8);
  a.send_to(1, plain, 0, false);
  a.send_to(1, tagged, 0, true);
  net.run();
  post_receive(b, into, 0, ~0ull, kAnyPeer, true);
  ASSERT_EQ(b.got.size(), 1u);
  EXPECT_EQ(b.got[0].length, 5u);
  post_receive(b, other, 0, 0, kAnyPeer, false);
  EXPECT_EQ(b.got.at(1).length, 4u);
}

TEST(Transport, EveryComparisonIsPaidForWhereTheProcessorMatches) {
  for (std::uint32_t matching : {0u, 1u}) {
    abi::MpiModel m = model(0, 0, 0, 0);
    m.matching = matching;
    m.match_cost = 1000;
    Net net;
    Member &a = net.add(m), &b = net.add(m);
    std::vector<char> data = data_of(4, 1), into(8);
    for (std::uint64_t tag = 1; tag <= 5; ++tag) post_receive(b, into, tag);
    const std::uint64_t before = b.sums.compared;
    const std::int64_t clock = b.clock;
    a.send_to(1, data, 5);
    net.run();
    EXPECT_EQ(b.sums.compared - before, 5u);
    EXPECT_EQ((b.clock - clock) / 1000, matching == 0 ? 5 : 0);
  }
}

TEST(Transport, WhatDoesNotFitIsCutAndTold) {
  for (std::uint32_t rendezvous : {0u, 1u})
    for (std::size_t bytes : {20, 190, 400}) {
      Net net;
      Member &a = net.add(model(0, rendezvous, 1, 0)), &b = net.add(model(0, rendezvous, 1, 0));
      std::vector<char> from = data_of(bytes, 1), into(16);
      post_receive(b, into, 0);
      a.send_to(1, from);
      net.run();
      ASSERT_EQ(b.got.size(), 1u);
      EXPECT_EQ(b.got[0].length, bytes);
      EXPECT_EQ(b.got[0].stored, 16u);
      EXPECT_TRUE(std::equal(into.begin(), into.end(), from.begin()));
      EXPECT_EQ(a.sent, 1u) << "the sender is done all the same";
      EXPECT_FALSE(net.broken);
    }
}

TEST(Transport, ScatteredBuffersAreGatheredAndFilledInOrder) {
  for (std::size_t bytes : {30, 190, 400}) {
    Net net;
    Member &a = net.add(model(0, 0, 0, 0)), &b = net.add(model(0, 0, 0, 0));
    std::vector<char> from = data_of(bytes, 1), into(bytes);
    auto halves = [](std::vector<char>& v) {
      const std::size_t half = v.size() / 3;
      return std::array<iovec, 2>{iovec{v.data(), half}, iovec{v.data() + half, v.size() - half}};
    };
    auto source = halves(from), target = halves(into);
    Receive wanted;
    wanted.buffer = Buffer(target.data(), 2);
    wanted.tagged = true;
    b.receive(b, wanted);
    Outgoing out;
    out.buffer = Buffer(source.data(), 2);
    out.tagged = true;
    std::uint32_t request = 0;
    EXPECT_EQ(a.send(a, a.peer_of(1), out, request), 0);
    net.run();
    EXPECT_EQ(into, from) << bytes;
  }
}

TEST(Transport, SeveralMessagesShareOneBufferUntilItIsFull) {
  Net net;
  Member &a = net.add(model(0, 0, 0, 0)), &b = net.add(model(0, 0, 0, 0));
  std::vector<char> into(100);
  std::vector<std::vector<char>> sent;
  for (unsigned i = 0; i < 4; ++i) sent.push_back(data_of(30, i));
  a.send_to(1, sent[0]);
  net.run();  // one is there before its buffer is
  Receive wanted;
  wanted.buffer = Buffer(into.data(), into.size());
  wanted.tagged = wanted.multi = true;
  wanted.ignore = ~0ull;
  b.receive(b, wanted);
  for (unsigned i = 1; i < 4; ++i) a.send_to(1, sent[i]);
  net.run();
  ASSERT_EQ(b.got.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end(), into.begin() + static_cast<long>(30 * i)));
  EXPECT_EQ(b.got[3].stored, 10u) << "what was left of it";
}

TEST(Transport, SendersWithoutCreditWaitAndGetMore) {
  Net net;
  Member &a = net.add(model(0, 0, 0, 2)), &b = net.add(model(0, 0, 0, 2));
  std::vector<char> data = data_of(8, 1);
  for (int i = 0; i < 20; ++i) a.send_to(1, data);
  EXPECT_EQ(a.waiting(), 18u);
  EXPECT_EQ(a.sent, 2u);
  EXPECT_EQ(a.sums.stalls, 1u);
  net.run();
  EXPECT_EQ(a.waiting(), 0u);
  EXPECT_EQ(a.sent, 20u);
  EXPECT_GT(b.sums.credits_grown, 0u);
  EXPECT_EQ(b.sums.unexpected, 20u);
}

TEST(Transport, WhoGetsNoBlocksSendsFragments) {
  abi::MpiModel m = model(1, 0, 0, 4);
  m.blocks = 4;  // all of them lent to the first who asks
  Net net;
  Member &a = net.add(m), &b = net.add(m), &c = net.add(m);
  std::vector<char> data = data_of(150, 1), first(150), second(150);
  post_receive(c, first, 1);
  post_receive(c, second, 2);
  a.send_to(2, data, 1);
  net.run();
  b.send_to(2, data, 2);
  net.run();
  EXPECT_EQ(first, data);
  EXPECT_EQ(second, data);
  EXPECT_GT(net.carried[nic::Operation::Put], 0u);
  EXPECT_FALSE(net.broken);
  EXPECT_EQ(b.sent, 1u);
  EXPECT_FALSE(b.under_way());
}

TEST(Transport, AnEndpointThatTookThePlaceOfAnotherBeginsAnew) {
  Net net;
  Member &a = net.add(model(0, 0, 0, 0), 7), &b = net.add(model(0, 0, 0, 0), 9);
  std::vector<char> long_one = data_of(400, 1), into(400);
  a.send_to(1, long_one);  // waits for its receive
  b.send_to(0, data_of(4, 1));
  net.run();
  EXPECT_TRUE(a.under_way());
  // Another endpoint sends from b's port.
  a.know(a, a.peer_of(1), 10);
  EXPECT_EQ(a.failed_sends, 1u) << "what waited for the one before has failed";
  EXPECT_FALSE(a.requests_open());
  EXPECT_EQ(a.peer_at(a.peer_of(1)).expected, 0u);
}

TEST(Transport, MemoryThatCannotBeRegisteredFailsTheSendOrTheReceive) {
  Net net;
  Member &a = net.add(model(0, 0, 0, 0)), &b = net.add(model(0, 0, 0, 0));
  std::vector<char> data = data_of(400, 1), into(400);
  a.registration_error = -ENOSPC;
  Outgoing out;
  out.buffer = Buffer(data.data(), data.size());
  out.tagged = true;
  std::uint32_t request = 0;
  EXPECT_EQ(a.send(a, a.peer_of(1), out, request), -ENOSPC);
  EXPECT_FALSE(a.under_way());
  a.registration_error = 0;
  b.registration_error = -ENOSPC;
  post_receive(b, into, 0);
  a.send_to(1, data);
  net.run();
  ASSERT_EQ(b.got.size(), 1u);
  EXPECT_EQ(b.got[0].error, EIO);
  EXPECT_EQ(a.failed_sends, 1u) << "the sender hears of it";
  EXPECT_FALSE(a.under_way());
}

TEST(Transport, AnIdIsOfOneRequestAlone) {
  // Ids are used again with another number: an event of a request that has ended finds none.
  Net net;
  Member &a = net.add(model(0, 0, 0, 0)), &b = net.add(model(0, 0, 0, 0));
  std::vector<char> data = data_of(400, 1), into(400), again(400);
  post_receive(b, into, 0);
  a.send_to(1, data);
  net.run();
  nic::Event late;
  late.kind = nic::EventKind::Done;
  late.context = 1;
  a.take(a, late);
  b.take(b, late);
  post_receive(b, again, 0);
  a.send_to(1, data);
  b.take(b, late);
  net.run();
  EXPECT_EQ(again, data);
  EXPECT_EQ(a.sent, 2u);
}

/// What is sent is marked as its sender wants, whenever it leaves; what others need for it is not.
TEST(Transport, MarksStayWithWhatWaitsForCredit) {
  for (std::uint32_t eager : {0u, 1u, 2u}) {
    Net net;
    Member &a = net.add(model(eager, 0, 0, 2)), &b = net.add(model(eager, 0, 0, 2));
    std::vector<char> data = data_of(eager ? 100 : 20, 1), into(400);
    a.mark = 5;
    for (int i = 0; i < 6; ++i) a.send_to(1, data);
    a.mark = 0;
    for (int i = 0; i < 6; ++i) post_receive(b, into, 0);
    net.run();
    ASSERT_EQ(b.got.size(), 6u) << eager;
    EXPECT_GE(net.marked[5], 6u) << eager;
    EXPECT_EQ(net.marked.size(), 1u) << eager;
    EXPECT_GT(net.carried[nic::Operation::Message], 6u) << "credit or blocks, without a mark";
    a.mark = 6;
    post_receive(b, into, 0);
    std::vector<char> long_data = data_of(400, 1);
    a.send_to(1, long_data);
    a.mark = 0;
    net.run();
    EXPECT_EQ(net.marked[6 | abi::kOthersFollow], 1u) << "of a rendezvous the request alone";
    EXPECT_EQ(net.marked.count(6), 0u);
  }
}

TEST(Transport, GarbageInMessagesIsPassedOver) {
  const unsigned seed = 99;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Net net;
  Member& a = net.add(model(1, 1, 1, 2));
  net.add(model(1, 1, 1, 2));
  for (int i = 0; i < 20'000; ++i) {
    nic::Message m;
    m.node = random() % 2;
    m.length = static_cast<std::uint16_t>(random() % 48);
    m.tag = tag_word(static_cast<Kind>(random() % 16), random() % 8, random() % 3,
                     a.peer_at(a.peer_of(m.node)).expected);
    for (auto& byte : m.data) byte = static_cast<std::uint8_t>(random() % 4);
    m.data[2] = m.data[3] = 0;  // lengths that fit into memory
    a.take(a, m);
  }
}

}  // namespace
}  // namespace weft::mpi
