// Fences behind operations whose end nobody tells.
#include "nic/fences.hpp"

#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

/// When the second of two messages is there, and how many packets each end sent for both.
struct Pair {
  std::int64_t first, second;
  std::uint64_t sent, answered;
};

Pair two_messages(std::uint16_t first, std::uint16_t second, unsigned target = 1) {
  Bench b(torus(), 3);
  b.post(0, b.to(target, Operation::Message, 8, first));
  b.post(0, b.to(1, Operation::Message, 8, second));
  EXPECT_TRUE(b.settle());
  const auto& there = target == 1 ? b.messages(1) : b.messages(target);
  return {there.front().time, b.messages(1).back().time, b.fabric->counters(0).packets_sent,
          b.fabric->counters(target).packets_sent};
}

TEST(Fences, WaitForTheWordOfTheTarget) {
  Pair plain = two_messages(0, 0), fenced = two_messages(0, kFence),
       answered = two_messages(kNotifyDone, kFence);
  EXPECT_EQ(plain.sent, 2u);
  EXPECT_EQ(plain.answered, 0u) << "nobody answers what nobody wants answered";
  EXPECT_EQ(fenced.sent, 3u) << "and a flush";
  EXPECT_EQ(fenced.answered, 1u);
  EXPECT_EQ(answered.sent, 2u) << "the answer that was wanted will do";
  EXPECT_GT(fenced.second, plain.second + 500'000) << "there and back";
  EXPECT_GT(fenced.second, fenced.first);
  EXPECT_NEAR(static_cast<double>(fenced.second), static_cast<double>(answered.second), 500'000);
}

TEST(Fences, ConcernAllTargets) {
  Pair plain = two_messages(0, 0, 2), fenced = two_messages(0, kFence, 2);
  EXPECT_GT(fenced.second, plain.second + 500'000);
  EXPECT_GT(fenced.second, fenced.first) << "the other target's message was there before";
  EXPECT_EQ(fenced.answered, 1u);
}

TEST(Fences, WhatIsRefusedHasEndedToo) {
  Bench b(torus(), 2);
  Descriptor d = b.to(1, Operation::Message, 8);
  d.port = 40;  // nobody has it open
  b.post(0, d);
  b.post(0, b.to(1, Operation::Message, 8, kFence));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(1).size(), 1u);
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Failed);
}

}  // namespace
}  // namespace weft::nic
