// While virtual time waits for ranks: what their threads do meanwhile, as far as the system shows it, and
// what is said when nothing goes on.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "host/simulation.hpp"

namespace weft::host {

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kAWhile{20'000'000};

/// System calls that end when somebody else does something, which another rank may have to.
bool waits_for_somebody(long call) {
  for (long one :
       {SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg,
        SYS_accept, SYS_accept4, SYS_connect, SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_flock,
#ifdef SYS_poll
        SYS_poll, SYS_select, SYS_epoll_wait,
#endif
        SYS_rt_sigtimedwait})
    if (call == one) return true;
  return false;
}

}  // namespace

/// Threads may wait for each other in ways nobody sees: at a barrier of OpenMP, or for their next task. Where
/// all threads of a process sleep, virtual time goes on without those of them that are not in a call, until
/// one that has its turn wakes them. A thread without a lane might wake them too; one that has not slept for
/// a second never does.
void Simulation::leave_sleepers(std::chrono::nanoseconds waited) {
  for (Process& p : processes_)
    if (!p.ended && p.segment->header().joins.load() != 0) leave_sleepers(p, waited);
}

void Simulation::leave_sleepers(Process& p, std::chrono::nanoseconds waited) {
  std::vector<std::uint32_t> sleepers;
  std::vector<pid_t> with_lanes;
  bool others_wait = false;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    LaneState state = p.segment->state(i);
    if (state != LaneState::Free) with_lanes.push_back(thread_of(p, i));
    others_wait |= state == LaneState::Blocked;
    if (state != LaneState::Running) continue;
    if (p.segment->lane(i).awaited.load()) return;
    sleepers.push_back(i);
  }
  if (sleepers.empty()) return;
  auto look = [&] {
    auto threads = thread_states(p.owner);
    if (waited > std::chrono::seconds(1))
      std::erase_if(threads, [&](const auto& t) {
        return std::find(with_lanes.begin(), with_lanes.end(), t.first) == with_lanes.end();
      });
    return threads;
  };
  // A thread seen asleep may be woken by one that is looked at next, and sleeps by then. Not so where none
  // has run between two looks.
  auto threads = look();
  if (std::any_of(threads.begin(), threads.end(), [](const auto& t) { return !t.second.asleep; })) return;
  if (look() != threads) return;
  for (std::uint32_t i : sleepers) {
    Lane& lane = p.segment->lane(i);
    pid_t thread = thread_of(p, i);
    auto found =
        std::find_if(threads.begin(), threads.end(), [&](const auto& t) { return t.first == thread; });
    if (found == threads.end() || lane.awaited.load()) continue;
    // Who sleeps for something real is outside, after a while; the first thread of a program is waited for.
    const bool for_memory = waits_for_memory(p.owner, thread);
    if (i == 0 ? !for_memory || !others_wait : !for_memory && waited < kAWhile) continue;
    auto running = static_cast<std::uint32_t>(LaneState::Running);
    p.lanes[i].asleep = found->second;
    if (lane.state.compare_exchange_strong(
            running, static_cast<std::uint32_t>(for_memory ? LaneState::Asleep : LaneState::External)))
      bell_->running.fetch_sub(1);
  }
}

pid_t Simulation::thread_of(const Process& p, std::uint32_t lane) {
  return lane == 0 ? p.owner : p.segment->lane(lane).thread.load();
}

/// Have the threads of a process that had its turn woken none of those that slept? Virtual time waits for one
/// that is awake, until it asks for something or sleeps again.
bool Simulation::sleepers_still_sleep() {
  auto look = [&] {
    std::vector<Sleeper> out;
    for (LaneRef r : asleep_) {
      Process& p = processes_[r.rank];
      auto of_rank = [&](LaneRef other) { return other.rank == r.rank; };
      if (p.ended || std::none_of(running_.begin(), running_.end(), of_rank)) continue;
      LaneState state = p.segment->state(r.lane);
      out.push_back({r, state, thread_state(p.owner, thread_of(p, r.lane))});
    }
    return out;
  };
  // Here too, one may be woken by one that is looked at next.
  std::vector<Sleeper> sleepers = look();
  bool still = sleepers.empty() || look() == sleepers;
  for (const Sleeper& s : sleepers) {
    ThreadState& was = processes_[s.lane.rank].lanes[s.lane.lane].asleep;
    if (s.state != LaneState::Asleep || s.thread == was) continue;  // it has asked, or has not run
    still = false;
    if (s.thread.asleep) was = s.thread;
  }
  return still;
}

/// Threads that compute for long may be in a loop that waits for memory to change: those are asked, and one
/// that finds itself in such a loop waits in virtual time instead (lib/spin.cpp). Threads without a lane may
/// be what it waits for: virtual time waits for them, too.
void Simulation::ask_computers(Stand& stand) {
  constexpr std::uint64_t kFirst = 1'000'000, kHard = 250'000'000;  // nanoseconds
  auto look = [&](LaneRef r) {
    Process& p = processes_[r.rank];
    if (p.ended || p.segment->state(r.lane) != LaneState::Running) return;
    if (p.segment->header().poked.load() != p.owner || p.segment->lane(r.lane).awaited.load()) return;
    pid_t thread = thread_of(p, r.lane);
    std::uint64_t used = processor_time(p.owner, thread);
    auto known = std::find_if(stand.computers.begin(), stand.computers.end(),
                              [&](const Stand::Computer& c) { return c.lane == r; });
    if (known == stand.computers.end()) {
      stand.computers.push_back({r, used, used + kFirst});
      return;
    }
    if (used < known->next) return;
    for (const auto& [other, state] : thread_states(p.owner))
      if (!state.asleep && !p.has_lane(other)) return;
    std::uint64_t so_far = used - known->begun;
    known->next = used + std::min(so_far, kHard);
    poke(p.owner, thread, so_far >= kHard);
  };
  for (LaneRef r : running_) look(r);
  for (LaneRef r : outside_) look(r);
}

/// The first thread of a program may wait for something real by a call that nobody sees: of the C library
/// itself, or around it. Virtual time goes on without it after a second. A process it has started works for
/// it, though, and is waited for.
void Simulation::leave_real_waits(Stand& stand) {
  if (stand.lasted() < seconds(1)) return;
  for (LaneRef r : running_) {
    Process& p = processes_[r.rank];
    if (r.lane != 0 || p.ended || p.segment->state(0) != LaneState::Running) continue;
    Lane& lane = p.segment->lane(0);
    Activity activity = activity_of(p.owner, p.owner);
    if (lane.awaited.load() || activity.kind != Activity::Sleeps || !waits_for_somebody(activity.call))
      continue;
    auto running = static_cast<std::uint32_t>(LaneState::Running);
    if (lane.state.compare_exchange_strong(running, static_cast<std::uint32_t>(LaneState::External)))
      bell_->running.fetch_sub(1);
  }
}

void Simulation::tell_why_time_stands(Stand& stand) {
  nanoseconds lasted = stand.lasted();
  if (stand.told || lasted < seconds(2)) return;
  std::vector<LaneRef> all = running_;
  all.insert(all.end(), asleep_.begin(), asleep_.end());
  for (LaneRef r : all) {
    const Process& p = processes_[r.rank];
    LaneState state = p.segment->state(r.lane);
    Activity activity = activity_of(p.owner, thread_of(p, r.lane));
    bool awake = state == LaneState::Asleep && activity.kind != Activity::Sleeps;
    if (p.ended || (state != LaneState::Running && !awake)) continue;
    const bool halted = activity.kind == Activity::Stopped || activity.kind == Activity::Stuck;
    if (!halted && lasted < seconds(10)) continue;
    stand.told = true;
    std::string what = activity.kind == Activity::Computes
                           ? "has computed for 10 s without asking for anything"
                           : activity_text(activity);
    std::string advice = activity.kind == Activity::Stopped
                             ? fmt::format("; `kill -CONT {}` lets it go on", p.owner)
                             : std::string();
    fmt::print(stderr, "weft: rank {} (process {}) {}{}; the others wait for it\n", r.rank, p.owner, what,
               advice);
    return;
  }
}

/// Now and then, while a run takes long: how far it has come.
void Simulation::tell_progress() {
  if (!on_progress) return;
  auto now = std::chrono::steady_clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + kProgressInterval;
  std::uint64_t reads = 0;
  for (const Process& p : processes_)
    reads += p.segment->header().clock_reads.load(std::memory_order_relaxed);
  Time latest = fabric_->now();
  for (const Process& p : processes_)
    if (!p.ended) latest = std::max(latest, Time{p.segment->lane(0).clock.load(std::memory_order_relaxed)});
  on_progress({latest, reads});
}

}  // namespace weft::host
