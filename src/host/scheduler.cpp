#include "host/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "abi/port_set.hpp"

namespace weft::host {

Scheduler::Scheduler(std::uint32_t ranks, Time look_ahead)
    : look_ahead_(look_ahead),
      ranks_(ranks),
      threads_(std::size_t{ranks} * kThreads),
      group_runs_(ranks, false) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) ranks_[rank].group = rank;
}

Scheduler::Thread& Scheduler::change(ThreadRef r) {
  ranks_[r.rank].threads = std::max(ranks_[r.rank].threads, r.thread + 1);
  return threads_[r.rank * kThreads + r.thread];
}

void Scheduler::waits(ThreadRef r, const Request& request) {
  stops(r, request, State::Waiting);
  change(r).stage = only_waits(request.call) ? Stage::Waits : Stage::Acts;
  have_spinners_ |= request.call == Call::Pause;
}

void Scheduler::stops(ThreadRef r, const Request& request, State state) {
  Thread& t = change(r);
  ++t.wait;
  t.wake = kNever;
  t.request = request;
  t.state = state;
  t.stage = Stage::Waits;
}

void Scheduler::hold_until(ThreadRef r, Time at) {
  Thread& t = change(r);
  t.granted = std::max(t.granted, at);
}

void Scheduler::rank_ended(std::uint32_t rank) {
  for (std::uint32_t i = 0; i < ranks_[rank].threads; ++i) {
    Thread& t = change({rank, i});
    t.state = State::Gone;
    t.stage = Stage::Waits;
    ++t.wait;
  }
}

void Scheduler::push(const Plan& plan) {
  plans_.push_back(plan);
  std::push_heap(plans_.begin(), plans_.end());
}

Scheduler::Plan Scheduler::pop() {
  Plan plan = plans_.front();
  std::pop_heap(plans_.begin(), plans_.end());
  plans_.pop_back();
  return plan;
}

void Scheduler::plan(ThreadRef r, Time at) {
  Thread& t = change(r);
  if (at >= t.wake) return;
  t.wake = at;
  push({at, r, t.wait});
}

void Scheduler::arrived(std::uint32_t rank, unsigned port, Time at) {
  last_activity_ = at;
  for (std::uint32_t i = 0; i < ranks_[rank].threads; ++i) {
    Thread& t = change({rank, i});
    if (t.state != State::Waiting || t.acts()) continue;
    const Call call = t.request.call;
    const bool hears = call == Call::Wait || call == Call::Spin || call == Call::Pause ||
                       call == Call::Files || t.stage == Stage::Meets;
    if (!hears || !names_port(t.request.port, port)) continue;
    t.looked_again = 0;
    plan({rank, i}, std::max(t.request.clock, at));
  }
}

void Scheduler::has_room(std::uint32_t rank, unsigned port, Time at) {
  arrived(rank, port, at);
  for (std::uint32_t i = 0; i < ranks_[rank].threads; ++i) {
    Thread& t = change({rank, i});
    if (t.state != State::Waiting || t.acts() || !names_port(t.request.port, port)) continue;
    if (t.request.call != Call::Room && t.request.call != Call::Stall) continue;
    t.looked_again = 0;
    plan({rank, i}, std::max(t.request.clock, at));
  }
}

void Scheduler::has_run(ThreadRef r) {
  const Thread& ran = thread(r);
  const Rank& rank = ranks_[r.rank];
  for (std::uint32_t i = 0; i < rank.threads; ++i)
    if (i != r.thread && looks(thread({r.rank, i}).request.call)) look_again({r.rank, i}, ran);
  if (!have_spinners_ || !rank.shares_memory) return;
  for (std::uint32_t other = rank.group; other < ranks_.size(); ++other) {
    if (other == r.rank || ranks_[other].group != rank.group) continue;
    for (std::uint32_t i = 0; i < ranks_[other].threads; ++i) {
      const Request& request = thread({other, i}).request;
      if (request.call == Call::Pause && request.argument[1]) look_again({other, i}, ran);
    }
  }
}

void Scheduler::look_again(ThreadRef r, const Thread& ran) {
  constexpr unsigned kMost = 2;
  Thread& other = change(r);
  if (other.state != State::Waiting || other.acts()) return;
  const bool only_looked = ran.state == State::Waiting && looks(ran.request.call) && !ran.request.argument[0];
  if (!only_looked) {
    other.looked_again = 0;
  } else if (other.looked_again++ >= kMost) {
    return;
  }
  plan(r, std::max(other.request.clock, ran.request.clock));
}

void Scheduler::take_turns(std::span<const std::uint32_t> ranks) {
  if (ranks.empty()) return;
  std::vector<bool> together(ranks_.size(), false);
  std::uint32_t first = ranks_[ranks.front()].group;
  for (std::uint32_t rank : ranks) {
    together[ranks_[rank].group] = true;
    first = std::min(first, ranks_[rank].group);
  }
  for (Rank& rank : ranks_)
    if (together[rank.group]) rank.group = first;
}

void Scheduler::begin_round() {
  horizon_ = kNever;
  runnable_.clear();
  group_runs_.assign(ranks_.size(), false);
}

void Scheduler::end_round() {
  for (const Plan& plan : deferred_) push(plan);
  deferred_.clear();
}

void Scheduler::drop_old_plans() {
  while (!plans_.empty()) {
    const Plan& top = plans_.front();
    const Thread& t = thread(top.thread);
    if (t.wait == top.wait && t.state == State::Waiting && t.wake == top.at) return;
    pop();
  }
}

void Scheduler::bound(Time at) { horizon_ = std::min(horizon_, at + look_ahead_); }

Scheduler::Step Scheduler::next(Time now) {
  for (;;) {
    drop_old_plans();
    const Time first = plans_.empty() ? kNever : plans_.front().at;
    const Time last = horizon_ == kNever ? kNever : horizon_ - Time{1};
    if (now < std::min(first, last)) return {Step::Advance, {}, std::min(first, last)};
    if (first > last || first > now) return {};
    const Plan plan = pop();
    Thread& t = change(plan.thread);
    if (!t.acts() && group_runs_[ranks_[plan.thread.rank].group]) {
      deferred_.push_back(plan);
      bound(plan.at);
      continue;
    }
    t.wake = kNever;
    return {t.acts() ? Step::Act : Step::Run, plan.thread, plan.at};
  }
}

void Scheduler::run(ThreadRef r, Time at) {
  Thread& t = change(r);
  ++t.wait;
  t.wake = at;
  runnable_.push_back(r);
  group_runs_[ranks_[r.rank].group] = true;
  bound(at);
}

const std::vector<ThreadRef>& Scheduler::runnable() {
  std::sort(runnable_.begin(), runnable_.end());
  return runnable_;
}

Time Scheduler::grant(ThreadRef r) {
  Thread& t = change(r);
  t.state = State::Running;
  return t.granted = std::max(t.wake, t.request.clock);
}

bool Scheduler::all_look() const {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    for (std::uint32_t i = 0; i < ranks_[rank].threads; ++i) {
      const Thread& t = thread({rank, i});
      if (t.state == State::Running) return false;
      if (t.state != State::Waiting || t.stage == Stage::LooksUp) continue;
      const bool only_looks =
          (looks(t.request.call) && t.request.call != Call::YieldUntil) || t.request.deadline == kNever;
      if (t.stage == Stage::Acts || !only_looks) return false;
    }
  return true;
}

}  // namespace weft::host
