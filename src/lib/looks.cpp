// Looks that found nothing: at queues, at memory and at files.
//
// How often a program looks says nothing about a machine. After a few looks in vain it waits for what comes
// next, at most for a time that grows, so that one that has other things to do comes to them.
#include <errno.h>

#include "lib/rank_thread.hpp"

namespace weft::lib {

using abi::Call;
using abi::Thread;

namespace {

thread_local unsigned empty_looks = 0;
thread_local unsigned calls_in_vain = 0;  // of MPI, since something was found
thread_local unsigned file_looks = 0;     // as empty_looks, at files
thread_local std::int64_t quantum = 0;    // its last wait for something
thread_local std::int64_t aside = 0;      // its last moment out of the way of others
constexpr std::size_t kWatched = 8;
thread_local pollfd watched[kWatched];  // looked at in vain since something was found
thread_local std::size_t watched_count = 0;

constexpr unsigned kFreeLooks = 3;      // that find nothing and cost no visit to the simulator
constexpr unsigned kIdleLooks = 64;     // where nothing is under way, before they take longer
constexpr unsigned kFreshCalls = 1000;  // in a row, before their looks add up
constexpr std::int64_t kFirstQuantum = 1'000'000, kLastQuantum = 100'000'000'000;
constexpr std::int64_t kFirstInWait = 128'000'000;  // of a call that has nothing else to do

}  // namespace

bool found_nothing(Thread& l, std::uint32_t port) {
  move_on(l, run()->costs.poll);
  return look_again(l, port, abi::kNoRank);
}

namespace {

/// MPI_Test and its like: a program that calls them has other work in between, which costs nothing where
/// computing is not counted. So time must not run ahead of it: for a thousand looks it moves on by what a
/// look costs, then by more and more, so that a program that only waits gets there.
bool test_again(Thread& l, std::uint32_t port, std::uint32_t for_rank) {
  constexpr unsigned kLooksOfAStage = 1024;
  unsigned stage = ++empty_looks / kLooksOfAStage;
  if (stage == 0) {
    move_on(l, run()->costs.poll);
    if (now(l) <= l.safe_until) return false;
    ask(l, Call::Wait, port, now(l), for_rank);
    return true;
  }
  l.argument[0] = 0;
  std::int64_t step = kFirstQuantum;
  for (unsigned i = 1; i < stage && step < kLastQuantum; ++i) step *= 10;
  ask(l, Call::Spin, port, now(l) + step, for_rank);
  return true;
}

}  // namespace

bool look_again(Thread& l, std::uint32_t port, std::uint32_t for_rank, bool expects) {
  if (l.doing.inside() && abi::call_facts(l.doing.call()).only_looks) return test_again(l, port, for_rank);
  if (++empty_looks > kFreeLooks) {
    l.argument[0] = quantum == 0;
    bool first = quantum == 0 || (!expects && empty_looks <= kIdleLooks);
    const bool waits = l.doing.inside() && abi::call_facts(l.doing.call()).waits && !has_threads();
    quantum = first ? waits ? kFirstInWait : kFirstQuantum : quantum < kLastQuantum ? quantum * 2 : quantum;
    ask(l, Call::Spin, port, now(l) + quantum, for_rank);
    return true;
  }
  if (now(l) <= l.safe_until) return false;
  ask(l, Call::Wait, port, now(l), for_rank);
  return true;
}

void begin_call() {
  if (calls_in_vain >= kFreshCalls) return;
  ++calls_in_vain;
  empty_looks = 0;
  quantum = 0;
}

void pause(Thread& l) {
  move_on(l, run()->costs.poll);
  l.argument[0] = quantum == 0;  // it may have done something since it looked last
  l.argument[1] = 0;
  quantum = quantum == 0 ? kFirstQuantum : quantum < kLastQuantum ? quantum * 2 : quantum;
  std::int64_t until = now(l) + quantum;
  ask(l, Call::Pause, abi::kAnyPort, until, abi::kNoRank);
  if (now(l) < until) quantum = 0;  // something came
}

void wait_for_memory(Thread& l, unsigned times) {
  constexpr unsigned kMostDoublings = 17;
  l.argument[0] = times == 0;
  l.argument[1] = 1;
  std::int64_t most = kFirstQuantum << (times < kMostDoublings ? times : kMostDoublings);
  // What lies in the rings is for those who call; memory itself changes by puts, and by others who run.
  ask(l, Call::Pause, abi::kNoPort, now(l) + most, abi::kNoRank);
  leave();  // looking is not computing
}

int ask_for_files(Thread& l, const pollfd* files, std::size_t count, std::int64_t deadline, long call,
                  std::uint32_t port) {
  l.argument[0] = 1;
  l.argument[1] = reinterpret_cast<std::uint64_t>(files);
  l.argument[2] = count;
  l.argument[3] = static_cast<std::uint64_t>(call);
  return ask(l, Call::Files, port, deadline, abi::kNoRank);
}

bool look_again_at_files(Thread& l, const pollfd* files, std::size_t count, long call) {
  constexpr unsigned kLooksOfAStage = 1024;
  for (std::size_t i = 0; i < count; ++i) {
    bool known = files[i].fd < 0;
    for (std::size_t j = 0; j < watched_count && !known; ++j)
      known = watched[j].fd == files[i].fd && watched[j].events == files[i].events;
    if (!known && watched_count < kWatched) watched[watched_count++] = files[i];
  }
  unsigned stage = ++file_looks / kLooksOfAStage;
  if (stage == 0) return false;
  std::int64_t step = kFirstQuantum;
  for (unsigned i = 1; i < stage && step < kLastQuantum; ++i) step *= 10;
  const std::int64_t begun = now(l), until = begun + step;
  int asked = ask_for_files(l, files, count, until, call, abi::kAnyPort);
  // What lay in the rings before is nothing this thread takes, or it would have: not again for that.
  if (asked == 0 && now(l) == begun) asked = ask_for_files(l, files, count, until, call, abi::kNoPort);
  if (asked == -ENOSYS) ask(l, Call::Sleep, abi::kNoPort, until, abi::kNoRank);
  return true;
}

void name_watched_files(Thread& l) {
  l.argument[1] = reinterpret_cast<std::uint64_t>(watched);
  l.argument[2] = watched_count;
}

void found_file() {
  file_looks = 0;
  watched_count = 0;
}

void found_something() {
  empty_looks = 0;
  calls_in_vain = 0;
  watched_count = 0;
  quantum = 0;
  aside = 0;
}

void let_others_go_first(Thread& l) {
  constexpr std::int64_t kFirst = 1'000, kLast = 128'000;
  aside = aside == 0 ? kFirst : aside < kLast ? aside * 2 : aside;
  ask(l, Call::Sleep, abi::kNoPort, now(l) + aside, abi::kNoRank);
}

}  // namespace weft::lib
