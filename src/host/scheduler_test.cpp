// The turn rules, with threads that are only what they say they wait for.
#include "host/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::host {
namespace {

using Step = Scheduler::Step;
using State = Scheduler::State;
using Stage = Scheduler::Stage;

constexpr Time kLookAhead{100};

Request asks(Call call, std::int64_t clock, Time deadline = kNever) {
  Request r;
  r.call = call;
  r.clock = Time{clock};
  r.deadline = deadline;
  return r;
}

/// A scheduler over a network in which nothing happens: it comes as far as it may.
struct Rounds {
  explicit Rounds(std::uint32_t ranks) : scheduler(ranks, kLookAhead) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) scheduler.starts({rank, 0});
  }

  void sleeps(ThreadRef thread, std::int64_t clock, std::int64_t until) {
    scheduler.waits(thread, asks(Call::Sleep, clock, Time{until}));
    scheduler.plan(thread, Time{until});
  }

  /// Who runs in the next round; calls are carried out for nothing.
  std::vector<ThreadRef> round() {
    scheduler.begin_round();
    for (;;) {
      Step step = scheduler.next(now);
      if (step.kind == Step::Done || (step.kind == Step::Advance && step.at == kNever)) break;
      if (step.kind == Step::Advance) now = step.at;
      if (step.kind == Step::Run) scheduler.run(step.thread, step.at);
      if (step.kind != Step::Act) continue;
      acted.push_back(step.thread);
      scheduler.set_stage(step.thread, Stage::Waits);
      scheduler.plan(step.thread, step.at + Time{10});
    }
    scheduler.end_round();
    std::vector<ThreadRef> out = scheduler.runnable();
    for (ThreadRef r : out) scheduler.grant(r);
    return out;
  }

  Scheduler scheduler;
  Time now{0};
  std::vector<ThreadRef> acted;
};

using Threads = std::vector<ThreadRef>;

TEST(Scheduler, TheEarliestRunsAndTheNetworkComesNoFurtherThanTheLookAhead) {
  Rounds r(3);
  r.sleeps({0, 0}, 0, 5000);
  r.sleeps({1, 0}, 0, 1000);
  r.sleeps({2, 0}, 0, 9000);
  EXPECT_EQ(r.round(), (Threads{{1, 0}}));
  EXPECT_EQ(r.now, Time{1000} + kLookAhead - Time{1});
  EXPECT_EQ(r.scheduler.thread({1, 0}).granted, Time{1000});
}

TEST(Scheduler, AllWithinTheLookAheadRunAtOnceAndNobodyAfterIt) {
  Rounds r(4);
  r.sleeps({3, 0}, 0, 1000);
  r.sleeps({1, 0}, 0, 1099);
  r.sleeps({0, 0}, 0, 1050);
  r.sleeps({2, 0}, 0, 1100);
  EXPECT_EQ(r.round(), (Threads{{0, 0}, {1, 0}, {3, 0}})) << "by rank, whoever was first";
  r.sleeps({3, 0}, 1000, 20'000);
  r.sleeps({1, 0}, 1099, 20'000);
  r.sleeps({0, 0}, 1050, 20'000);
  EXPECT_EQ(r.round(), (Threads{{2, 0}}));
}

TEST(Scheduler, ThreadsOfARankRunOneAfterTheOther) {
  Rounds r(2);
  r.scheduler.starts({0, 1});
  r.sleeps({0, 0}, 0, 1010);
  r.sleeps({0, 1}, 0, 1000);
  r.sleeps({1, 0}, 0, 1020);
  EXPECT_EQ(r.round(), (Threads{{0, 1}, {1, 0}}));
  r.sleeps({0, 1}, 1000, 9000);
  r.sleeps({1, 0}, 1020, 9000);
  EXPECT_EQ(r.round(), (Threads{{0, 0}})) << "it is not forgotten";
  EXPECT_EQ(r.scheduler.thread({0, 0}).granted, Time{1010}) << "and goes on at its own time";
}

TEST(Scheduler, RanksOfAGroupRunOneAfterTheOther) {
  Rounds r(4);
  const std::uint32_t some[] = {1, 2}, more[] = {2, 3};
  r.scheduler.take_turns(some);
  r.scheduler.take_turns(more);
  EXPECT_EQ(r.scheduler.group(3), 1u) << "who takes turns with one takes turns with all";
  EXPECT_EQ(r.scheduler.group(0), 0u);
  for (std::uint32_t rank = 0; rank < 4; ++rank) r.sleeps({rank, 0}, 0, 1000);
  EXPECT_EQ(r.round(), (Threads{{0, 0}, {1, 0}}));
  EXPECT_EQ(r.round(), (Threads{{2, 0}}));
  EXPECT_EQ(r.round(), (Threads{{3, 0}}));
}

TEST(Scheduler, CallsAreCarriedOutInOrderOfTimeAndEvenWhileTheirGroupRuns) {
  Rounds r(2);
  r.scheduler.starts({0, 1});
  r.sleeps({0, 0}, 0, 1000);
  r.scheduler.waits({0, 1}, asks(Call::Open, 1050));
  r.scheduler.plan({0, 1}, Time{1050});
  r.scheduler.waits({1, 0}, asks(Call::Open, 980));
  r.scheduler.plan({1, 0}, Time{980});
  EXPECT_EQ(r.round(), (Threads{{0, 0}, {1, 0}}));
  EXPECT_EQ(r.acted, (Threads{{1, 0}, {0, 1}}));
  r.sleeps({0, 0}, 1000, 9000);
  r.sleeps({1, 0}, 990, 9000);
  EXPECT_EQ(r.round(), (Threads{{0, 1}})) << "its call is over, and now it has its turn";
  EXPECT_EQ(r.scheduler.thread({0, 1}).granted, Time{1060});
}

TEST(Scheduler, AnArrivalEndsAWaitForThatPortAlone) {
  Rounds r(2);
  Request wait = asks(Call::Wait, 100, Time{50'000});
  wait.port = 3;
  for (std::uint32_t rank : {0u, 1u}) {
    r.scheduler.waits({rank, 0}, wait);
    r.scheduler.plan({rank, 0}, wait.deadline);
  }
  r.scheduler.arrived(0, 2, Time{700});
  r.scheduler.arrived(1, 3, Time{800});
  EXPECT_EQ(r.round(), (Threads{{1, 0}}));
  EXPECT_EQ(r.scheduler.thread({1, 0}).granted, Time{800});
  r.sleeps({1, 0}, 800, 90'000);
  EXPECT_EQ(r.round(), (Threads{{0, 0}}));
  EXPECT_EQ(r.scheduler.thread({0, 0}).granted, Time{50'000}) << "its deadline";
}

TEST(Scheduler, NobodyGoesOnBeforeItsOwnClock) {
  Rounds r(1);
  r.scheduler.waits({0, 0}, asks(Call::Wait, 2000));
  r.scheduler.arrived(0, 0, Time{500});
  EXPECT_EQ(r.round(), (Threads{{0, 0}}));
  EXPECT_EQ(r.scheduler.thread({0, 0}).granted, Time{2000});
}

TEST(Scheduler, RoomEndsAWaitForRoomAndAnArrivalDoesNot) {
  Rounds r(1);
  r.scheduler.waits({0, 0}, asks(Call::Stall, 100));
  r.scheduler.arrived(0, 0, Time{300});
  EXPECT_TRUE(r.round().empty());
  r.scheduler.has_room(0, 0, Time{400});
  EXPECT_EQ(r.round(), (Threads{{0, 0}}));
}

TEST(Scheduler, PlansOfAnEarlierWaitAreForgotten) {
  Rounds r(1);
  r.sleeps({0, 0}, 0, 1000);
  r.scheduler.plan({0, 0}, Time{500});
  EXPECT_EQ(r.round(), (Threads{{0, 0}}));
  r.sleeps({0, 0}, 500, 3000);
  EXPECT_EQ(r.round(), (Threads{{0, 0}}));
  EXPECT_EQ(r.scheduler.thread({0, 0}).granted, Time{3000}) << "not at 1000";
}

TEST(Scheduler, WhoLooksForWhatAnotherThreadMayDoLooksAgain) {
  Rounds r(1);
  r.scheduler.starts({0, 1});
  r.scheduler.waits({0, 0}, asks(Call::Yield, 100));
  r.scheduler.waits({0, 1}, asks(Call::Sleep, 400, Time{9000}));  // it worked, then sleeps
  r.scheduler.has_run({0, 1});
  EXPECT_EQ(r.round(), (Threads{{0, 0}}));
  EXPECT_EQ(r.scheduler.thread({0, 0}).granted, Time{400}) << "no earlier than the other one is";
}

TEST(Scheduler, TwoThatFindNothingDoNotWakeEachOtherForEver) {
  Rounds r(1);
  r.scheduler.starts({0, 1});
  ThreadRef turn{0, 0}, other{0, 1};
  r.scheduler.waits(other, asks(Call::Yield, 0));
  r.scheduler.waits(turn, asks(Call::Yield, 0));
  unsigned rounds = 0;
  for (std::int64_t clock = 1; rounds < 100; ++rounds, ++clock) {
    r.scheduler.has_run(turn);
    Threads next = r.round();
    if (next.empty()) break;
    turn = next.front();
    r.scheduler.waits(turn, asks(Call::Yield, clock));
  }
  EXPECT_EQ(rounds, 4u) << "twice each";
  // One that has found something counts anew.
  Request found = asks(Call::Yield, 500);
  found.argument[0] = 1;
  r.scheduler.waits(turn, found);
  r.scheduler.has_run(turn);
  EXPECT_FALSE(r.round().empty());
}

TEST(Scheduler, RanksOfANodeThatLookAtMemoryLookAgainWhenOneOfThemHasRun) {
  Rounds r(3);
  const std::uint32_t node[] = {0, 1};
  r.scheduler.take_turns(node);
  for (std::uint32_t rank : node) r.scheduler.share_memory(rank);
  Request pause = asks(Call::Pause, 100);
  pause.argument[1] = 1;
  r.scheduler.waits({1, 0}, pause);
  r.scheduler.waits({2, 0}, pause);
  r.scheduler.waits({0, 0}, asks(Call::Sleep, 700, Time{90'000}));
  r.scheduler.has_run({0, 0});
  EXPECT_EQ(r.round(), (Threads{{1, 0}})) << "rank 2 is on another node";
  EXPECT_EQ(r.scheduler.thread({1, 0}).granted, Time{700});
}

TEST(Scheduler, OnlyLookingIsToldFromWorking) {
  Rounds r(2);
  EXPECT_FALSE(r.scheduler.all_look()) << "they run";
  r.scheduler.waits({0, 0}, asks(Call::Spin, 0, Time{100}));
  r.scheduler.waits({1, 0}, asks(Call::Wait, 0));
  EXPECT_TRUE(r.scheduler.all_look());
  r.scheduler.waits({1, 0}, asks(Call::Wait, 0, Time{700}));
  EXPECT_FALSE(r.scheduler.all_look()) << "its deadline is its own";
  r.scheduler.waits({1, 0}, asks(Call::LookUp, 0, Time{0}));
  EXPECT_FALSE(r.scheduler.all_look()) << "it has not been carried out";
  r.scheduler.set_stage({1, 0}, Stage::LooksUp);
  EXPECT_TRUE(r.scheduler.all_look());
}

TEST(Scheduler, ARankThatEndedNeverRuns) {
  Rounds r(2);
  r.sleeps({0, 0}, 0, 100);
  r.sleeps({1, 0}, 0, 5000);
  r.scheduler.rank_ended(0);
  EXPECT_EQ(r.round(), (Threads{{1, 0}}));
}

/// Random sleeps of many threads: all of them run, in windows no longer than the look-ahead, one of a group
/// at a time, at the time they asked for, and no order of asking changes that.
TEST(Scheduler, RandomSleepsKeepTheRules) {
  const unsigned seed = 20'240'117;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int turn = 0; turn < 50; ++turn) {
    const auto ranks = static_cast<std::uint32_t>(1 + random() % 6);
    Threads threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t i = 0; i <= random() % 3; ++i) threads.push_back({rank, i});
    std::vector<std::int64_t> until;
    for (std::size_t i = 0; i < threads.size(); ++i)
      until.push_back(static_cast<std::int64_t>(random() % 500));
    auto play = [&](bool backwards) {
      Rounds r(ranks);
      for (std::size_t i = 0; i < threads.size(); ++i) {
        std::size_t at = backwards ? threads.size() - 1 - i : i;
        r.scheduler.starts(threads[at]);
        r.sleeps(threads[at], 0, until[at]);
      }
      std::vector<Threads> rounds;
      for (Threads ran = r.round(); !ran.empty(); ran = r.round()) {
        Time first = kNever, last{0};
        std::vector<bool> seen(ranks, false);
        for (ThreadRef t : ran) {
          auto place = std::find(threads.begin(), threads.end(), t) - threads.begin();
          const Time granted = r.scheduler.thread(t).granted;
          EXPECT_EQ(granted, Time{until[static_cast<std::size_t>(place)]});
          first = std::min(first, granted);
          last = std::max(last, granted);
          EXPECT_FALSE(seen[t.rank]) << "two threads of rank " << t.rank << " in one round";
          seen[t.rank] = true;
        }
        EXPECT_LT(last, first + kLookAhead);
        for (ThreadRef t : ran) r.scheduler.stops(t, asks(Call::Leave, 0), State::Gone);
        rounds.push_back(ran);
      }
      std::size_t sum = 0;
      for (const Threads& ran : rounds) sum += ran.size();
      EXPECT_EQ(sum, threads.size());
      return rounds;
    };
    EXPECT_EQ(play(false), play(true));
  }
}

}  // namespace
}  // namespace weft::host
