// While virtual time waits for ranks: what their threads do meanwhile, as far as the system shows it.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "host/supervisor.hpp"

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

nanoseconds Supervisor::Stand::still_for(ThreadRef thread, const SystemThread& now) {
  const auto time = std::chrono::steady_clock::now();
  auto known =
      std::find_if(still.begin(), still.end(), [&](const Still& other) { return other.thread == thread; });
  if (known == still.end()) known = still.insert(still.end(), {thread, {}, time});
  if (!now.asleep || known->state != now) *known = {thread, now, time};
  return time - known->since;
}

/// Threads may wait for each other in ways nobody sees: at a barrier of OpenMP, or for their next task. Where
/// all threads of a process sleep, virtual time goes on without those of them that are not in a call, until
/// one that has its turn wakes them. A thread that is not in virtual time might wake them too; after a second
/// in which none of them has run, none does.
void Supervisor::leave_sleepers(Stand& stand) {
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank)
    if (!processes_[rank].ended && segments_[rank]->header().joins.load() != 0) leave_sleepers(rank, stand);
}

void Supervisor::leave_sleepers(std::uint32_t rank, Stand& stand) {
  const Process& p = processes_[rank];
  const Segment& segment = *segments_[rank];
  std::vector<std::uint32_t> sleepers;
  std::vector<pid_t> in_virtual_time;
  bool others_wait = false;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    ThreadState state = segment.state(i);
    if (state != ThreadState::Free) in_virtual_time.push_back(tid({rank, i}));
    others_wait |= state == ThreadState::Blocked;
    if (state != ThreadState::Running) continue;
    if (segment.thread(i).awaited.load()) return;
    sleepers.push_back(i);
  }
  if (sleepers.empty()) return;
  nanoseconds idle = nanoseconds::max();
  for (std::uint32_t i : sleepers)
    idle = std::min(idle, stand.still_for({rank, i}, system_thread(p.owner, tid({rank, i}))));
  auto look = [&] {
    auto threads = system_threads(p.owner);
    if (idle > seconds(1))
      std::erase_if(threads, [&](const auto& t) {
        return std::find(in_virtual_time.begin(), in_virtual_time.end(), t.first) == in_virtual_time.end();
      });
    return threads;
  };
  // A thread seen asleep may be woken by one that is looked at next, and sleeps by then. Not so where none
  // has run between two looks.
  auto threads = look();
  if (std::any_of(threads.begin(), threads.end(), [](const auto& t) { return !t.second.asleep; })) return;
  if (look() != threads) return;
  for (std::uint32_t i : sleepers) {
    const pid_t number = tid({rank, i});
    auto found =
        std::find_if(threads.begin(), threads.end(), [&](const auto& t) { return t.first == number; });
    if (found == threads.end() || segment.thread(i).awaited.load()) continue;
    // Who sleeps for something real is outside, after a while; the first thread of a program is waited for.
    const bool for_memory = waits_for_memory(p.owner, number);
    if (i == 0 ? !for_memory || !others_wait : !for_memory && idle < kAWhile) continue;
    processes_[rank].fell_asleep[i] = found->second;
    leave({rank, i}, for_memory ? ThreadState::Asleep : ThreadState::External);
  }
}

/// Virtual time goes on without a thread, unless it has stopped by itself meanwhile.
void Supervisor::leave(ThreadRef r, ThreadState state) {
  auto running = static_cast<std::uint32_t>(ThreadState::Running);
  if (segments_[r.rank]->thread(r.thread).state.compare_exchange_strong(running,
                                                                        static_cast<std::uint32_t>(state)))
    bell_->running.fetch_sub(1);
}

/// Of processes that had their turn.
std::vector<Supervisor::Sleeper> Supervisor::look_at_sleepers() const {
  std::vector<Sleeper> out;
  for (ThreadRef r : asleep_) {
    auto of_rank = [&](ThreadRef other) { return other.rank == r.rank; };
    if (processes_[r.rank].ended || std::none_of(running_.begin(), running_.end(), of_rank)) continue;
    ThreadState state = segments_[r.rank]->state(r.thread);
    out.push_back({r, state, system_thread(processes_[r.rank].owner, tid(r))});
  }
  return out;
}

/// Have the threads of a process that had its turn woken none of those that slept? Virtual time waits for one
/// that is awake, until it asks for something or sleeps again.
bool Supervisor::sleepers_still_sleep() {
  if (asleep_.empty()) return true;
  // Here too, one may be woken by one that is looked at next.
  std::vector<Sleeper> sleepers = look_at_sleepers();
  bool still = sleepers.empty() || look_at_sleepers() == sleepers;
  for (const Sleeper& s : sleepers) {
    SystemThread& was = processes_[s.thread.rank].fell_asleep[s.thread.thread];
    if (s.state != ThreadState::Asleep || s.seen == was) continue;  // it has asked, or has not run
    still = false;
    if (s.seen.asleep) was = s.seen;
  }
  return still;
}

/// Threads that compute for long may be in a loop that waits for memory to change: those are asked, and one
/// that finds itself in such a loop waits in virtual time instead (lib/spin.cpp). Threads that are not in
/// virtual time may be what it waits for: virtual time waits for them, too.
void Supervisor::ask_computers(Stand& stand) {
  for (ThreadRef r : running_) ask_computer(stand, r);
  for (ThreadRef r : outside_) ask_computer(stand, r);
}

void Supervisor::ask_computer(Stand& stand, ThreadRef r) {
  constexpr std::uint64_t kFirst = 1'000'000, kHard = 250'000'000;  // nanoseconds
  const pid_t owner = processes_[r.rank].owner;
  const Segment& segment = *segments_[r.rank];
  if (!runs(r)) return;
  if (segment.header().poked.load() != owner || segment.thread(r.thread).awaited.load()) return;
  const pid_t number = tid(r);
  const std::uint64_t used = processor_time(owner, number);
  auto known = std::find_if(stand.computers.begin(), stand.computers.end(),
                            [&](const Stand::Computer& c) { return c.thread == r; });
  if (known == stand.computers.end()) {
    stand.computers.push_back({r, used, used + kFirst});
    return;
  }
  if (used < known->next) return;
  for (const auto& [other, state] : system_threads(owner))
    if (!state.asleep && !has_thread(r.rank, other)) return;
  const std::uint64_t so_far = used - known->begun;
  known->next = used + std::min(so_far, kHard);
  poke(owner, number, so_far >= kHard);
}

/// The first thread of a program may wait for something real by a call that nobody sees: of the C library
/// itself, or around it. Virtual time goes on without it after about a second. A process it has started works
/// for it, though, and is waited for.
void Supervisor::leave_real_waits(Stand& stand) {
  if (stand.lasted() < seconds(1)) return;
  for (ThreadRef r : running_) {
    if (r.thread != 0 || !runs(r)) continue;
    const pid_t owner = processes_[r.rank].owner;
    Activity activity = activity_of(owner, owner);
    if (stand.still_for(r, system_thread(owner, owner)) < 10 * kAWhile) continue;
    if (segments_[r.rank]->thread(0).awaited.load() || activity.kind != Activity::Sleeps ||
        !waits_for_somebody(activity.call))
      continue;
    leave(r, ThreadState::External);
  }
}

void Supervisor::tell_why_time_stands(Stand& stand) const {
  const nanoseconds lasted = stand.lasted();
  if (stand.told || lasted < seconds(2)) return;
  auto tells = [&](ThreadRef r) { return tell_why_time_stands_for(r, lasted); };
  stand.told = std::any_of(running_.begin(), running_.end(), tells) ||
               std::any_of(asleep_.begin(), asleep_.end(), tells);
}

bool Supervisor::tell_why_time_stands_for(ThreadRef r, nanoseconds lasted) const {
  const Process& p = processes_[r.rank];
  const ThreadState state = segments_[r.rank]->state(r.thread);
  const Activity activity = activity_of(p.owner, tid(r));
  const bool awake = state == ThreadState::Asleep && activity.kind != Activity::Sleeps;
  if (p.ended || (state != ThreadState::Running && !awake)) return false;
  const bool halted = activity.kind == Activity::Stopped || activity.kind == Activity::Stuck;
  if (!halted && lasted < seconds(10)) return false;
  std::string what = activity.kind == Activity::Computes ? "has computed for 10 s without asking for anything"
                                                         : activity_text(activity);
  std::string advice = activity.kind == Activity::Stopped
                           ? fmt::format("; `kill -CONT {}` lets it go on", p.owner)
                           : std::string();
  fmt::print(stderr, "weft: rank {} (process {}) {}{}; the others wait for it\n", r.rank, p.owner, what,
             advice);
  return true;
}

}  // namespace weft::host
