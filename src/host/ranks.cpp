// The ranks' turn: starting processes, waiting until all of them wait, and reading what they ask for.
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/virtual_time.hpp"
#include "host/simulation.hpp"

namespace weft::host {

namespace {

constexpr Time kNever{kNoDeadline};
constexpr long kWatchNanoseconds = 20'000'000;  // how often processes and pipes are looked at meanwhile
constexpr long kLookNanoseconds = 50'000;       // how soon threads are, first

volatile sig_atomic_t child_ended = 0;

}  // namespace

/// Ranks that mostly wait for each other are served fastest on one core: waking a sleeper there costs a
/// fifth.
void Simulation::choose_cores() {
  bool one = options_.cores == Cores::One ||
             (options_.cores == Cores::Auto && machine_.description.host.compute == machine::Compute::None);
  if (!one) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &set);
  sched_setaffinity(0, sizeof set, &set);
}

void Simulation::start_all() {
  std::string program = find_program(options_.command.front());
  struct sigaction action {};
  action.sa_handler = [](int) { child_ended = 1; };
  sigaction(SIGCHLD, &action, nullptr);  // without SA_RESTART: it ends a wait
  choose_cores();
  bell_->running.store(options_.ranks);
  result_.ranks.resize(options_.ranks);
  for (unsigned rank = 0; rank < options_.ranks; ++rank) {
    Process& p = processes_[rank];
    Launch launch{options_.command,
                  options_.library,
                  p.segment->file(),
                  bell_memory_.file(),
                  call_logs_ ? call_logs_->file(rank) : -1,
                  output_->out(rank),
                  output_->error(rank),
                  mpi_ ? mpi_->file(rank) : -1,
                  rank,
                  options_.ranks,
                  mpi_ ? mpi_->environment(rank) : libfabric_environment(library_folder()),
                  &p.segment->header().owner};
    p.pid = p.owner = start(program, launch);
    output_->started(rank);
    if (mpi_) mpi_->started(rank);
    p.lanes[0].state = State::Running;
    running_.push_back({rank, 0});
    result_.ranks[rank].node = fabric_->node(p.nic);
    ++alive_;
  }
}

bool Simulation::all_stopped() {
  auto runs = [&](LaneRef r) {
    Process& p = processes_[r.rank];
    return !p.ended && p.segment->state(r.lane) == LaneState::Running;
  };
  if (std::any_of(running_.begin(), running_.end(), runs)) return false;
  if (std::any_of(outside_.begin(), outside_.end(), runs)) return false;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {  // threads that have just begun
    Process& p = processes_[rank];
    if (p.ended || p.segment->header().joins.load(std::memory_order_acquire) == p.joins) continue;
    for (std::uint32_t lane = 1; lane < kLanes; ++lane)
      if (p.lanes[lane].state == State::Absent && runs({rank, lane})) return false;
  }
  return true;
}

void Simulation::wait_for_ranks() {
  Stand stand;
  long patience = have_threads_ || have_spinners_ ? kLookNanoseconds : kWatchNanoseconds;
  for (;;) {
    std::uint32_t running = bell_->running.load(std::memory_order_acquire);
    if (running == 0 && all_stopped() && sleepers_still_sleep()) return;
    timespec most{0, running == 0 ? std::min(patience, 1'000'000l) : patience};
    long slept = syscall(SYS_futex, &bell_->running, FUTEX_WAIT, running, &most, nullptr, 0);
    if (slept == 0 && !child_ended) continue;
    if (slept < 0 && errno == EAGAIN) continue;
    // Something has ended, or time has passed.
    output_->gather();  // a thread may sleep before a full pipe
    leave_sleepers(stand.lasted());
    ask_computers(stand);
    if (patience < kWatchNanoseconds && !child_ended) {
      patience *= 2;
      continue;
    }
    if (interrupted()) {
      fail("interrupted");
      return;
    }
    if (!watch_processes()) return;
    if (all_stopped()) bell_->running.store(0);  // one that ended could not count itself out
    tell_progress();
    leave_real_waits(stand);
    tell_why_time_stands(stand);
  }
}

/// False where a rank failed.
bool Simulation::watch_processes() {
  if (std::string what = mpi_ ? mpi_->broken() : ""; !what.empty()) return fail(what);
  child_ended = 0;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    Process& p = processes_[rank];
    if (p.ended) continue;
    auto ending = ending_of(p.pid);
    if (!ending) continue;
    end_rank(rank, *ending);
    if (!ended_well(rank)) return false;
  }
  return true;
}

/// Fails the run where a rank's end is a mistake.
bool Simulation::ended_well(std::uint32_t rank) {
  Process& p = processes_[rank];
  const Ending& ending = result_.ranks[rank].ending;
  std::string who = fmt::format("rank {} on node {}", rank, fabric_->node(p.nic));
  if (mpi_) {
    if (std::string what = mpi_->broken(); !what.empty()) return fail(what);
    MpiLauncher::Abort abort = mpi_->aborted();
    if (abort.rank >= 0) {
      Process& caller = processes_[static_cast<std::size_t>(abort.rank)];
      return fail(fmt::format("rank {} on node {} called MPI_Abort with code {}", abort.rank,
                              fabric_->node(caller.nic), abort.code));
    }
  }
  if (!ending.fine()) return fail(fmt::format("{} {}{}", who, ending.text(), last_call(rank)));
  if (!mpi_) return true;
  MpiPhase phase = p.segment->header().phase.load();
  if (phase == MpiPhase::None || phase == MpiPhase::Ended) return !left_behind();
  return fail(fmt::format("{} ended without MPI_Finalize{}", who, last_call(rank)));
}

/// " in MPI_Recv", or after the call it had come back from; nothing where it has called none.
std::string Simulation::last_call(std::uint32_t rank) const {
  Doing doing = doing_of(processes_[rank].segment->lane(0));
  if (!doing.call()) return "";
  return fmt::format(" {} {}", doing.inside() ? "in" : "after", call_facts(doing.call()).name);
}

/// Ranks that start MPI wait for all others; one that ended before will never come. True where that is so.
bool Simulation::left_behind() {
  if (!mpi_) return false;
  auto in = [&](std::uint32_t rank, MpiPhase phase) {
    return processes_[rank].segment->header().phase.load() == phase;
  };
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    if (!processes_[rank].ended || !in(rank, MpiPhase::None)) continue;
    for (std::uint32_t other = 0; other < processes_.size(); ++other)
      if (in(other, MpiPhase::Starting)) {
        fail(fmt::format("rank {} on node {} ended without MPI_Init, and rank {} waits for it there", rank,
                         fabric_->node(processes_[rank].nic), other));
        return true;
      }
  }
  return false;
}

/// What a rank slept or computed last, before it went, counts as well.
void Simulation::lived_until(std::uint32_t rank, Time last) {
  result_.ranks[rank].end = std::max(result_.ranks[rank].end, last);
  result_.end = std::max(result_.end, last);
  if (talks(rank)) talked_until_ = std::max(talked_until_, last);
  if (last > kEndOfTime) fail(OutOfTime().what());
}

void Simulation::end_rank(std::uint32_t rank, Ending ending) {
  Process& p = processes_[rank];
  p.ended = true;
  --alive_;
  RankResult& result = result_.ranks[rank];
  result.ended = true;
  result.ending = ending;
  for (std::uint32_t i = 0; i < kLanes; ++i)
    if (p.lanes[i].state == State::Running) {
      p.lanes[i].request = p.segment->request(i, p.lanes[i].granted);
      lived_until(rank, p.lanes[i].request.clock);
    }
  for (LaneBook& lane : p.lanes) {
    if (lane.leaving) --leaving_;
    if (lane.meeting) --meeting_;
    lane.leaving = lane.meeting = false;
    lane.state = State::Gone;
    ++lane.turn;
  }
  for (auto* list : {&outside_, &asleep_}) std::erase_if(*list, [&](LaneRef r) { return r.rank == rank; });
  for (std::uint32_t i = 0; !files_.empty() && i < kLanes; ++i)
    files_.give_back(std::uint64_t{rank} << 8 | i);
  close_ports(p);
  p.left = true;
  answer_lookups(rank);
  fell_silent_.push_back(rank);
}

bool Simulation::fail(std::string what) {
  if (failed_) return false;
  failed_ = true;
  Time now = fabric_->now();
  result_.failure = fmt::format("{}, at {}", what, time_text(now));
  result_.end = now;
  describe_waits();
  return false;
}

void Simulation::collect() {
  if (child_ended && !watch_processes()) return;
  std::vector<LaneRef> ran;
  std::swap(ran, running_);
  auto is_back = [&](LaneRef r) {
    LaneState state = processes_[r.rank].segment->state(r.lane);
    return state == LaneState::Blocked || state == LaneState::Left;
  };
  for (LaneRef r : std::exchange(outside_, {})) (is_back(r) ? ran : outside_).push_back(r);
  std::vector<LaneRef> woken;
  for (LaneRef r : std::exchange(asleep_, {})) (is_back(r) ? woken : asleep_).push_back(r);
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    Process& p = processes_[rank];
    std::uint32_t joins = p.segment->header().joins.load(std::memory_order_acquire);
    if (p.segment->header().shares.load(std::memory_order_relaxed) && !std::exchange(p.shares, true))
      take_turns_by_node(rank);
    if (joins == p.joins || p.ended) continue;
    p.joins = joins;
    have_threads_ = true;
    for (std::uint32_t lane = 1; lane < kLanes; ++lane)
      if (p.lanes[lane].state == State::Absent && p.segment->state(lane) != LaneState::Free)
        ran.push_back({rank, lane});
  }
  std::sort(ran.begin(), ran.end());
  for (LaneRef r : ran)
    if (!processes_[r.rank].ended) collect_lane(r.rank, r.lane);
  for (LaneRef r : woken) {
    Process& p = processes_[r.rank];
    if (p.ended) continue;
    // Whoever woke it had its turn: it goes on no earlier than that one is now.
    Time& granted = p.lanes[r.lane].granted;
    for (LaneRef other : ran)
      if (other.rank == r.rank) granted = std::max(granted, p.lanes[other.lane].request.clock);
    collect_lane(r.rank, r.lane);
  }
  ran.insert(ran.end(), woken.begin(), woken.end());
  std::sort(ran.begin(), ran.end());
  std::uint32_t last = kNoRank;
  for (LaneRef r : ran)
    if (r.rank != last && !processes_[r.rank].ended) collect_ports(processes_[last = r.rank]);
  for (LaneRef r : ran) {
    LaneBook& lane = processes_[r.rank].lanes[r.lane];
    if (lane.state != State::Waiting) continue;
    if (lane.acting) {
      plan(r.rank, r.lane, lane.request.clock);
    } else {
      plan_wait(r.rank, r.lane);
    }
  }
  Time latest{0};
  for (LaneRef r : ran) {
    const Time clock = processes_[r.rank].lanes[r.lane].request.clock;
    latest = std::max(latest, clock);
    if (talks(r.rank)) talked_until_ = std::max(talked_until_, clock);
    if (processes_[r.rank].ended) continue;
    nudge_others(r.rank, r.lane);
    if (have_spinners_ && processes_[r.rank].shares) nudge_node(r.rank, r.lane);
  }
  see_files(ran.empty() ? talked_until_ : latest, 0);
}

void Simulation::collect_lane(std::uint32_t rank, std::uint32_t index) {
  Process& p = processes_[rank];
  LaneBook& lane = p.lanes[index];
  ++lane.turn;
  lane.wake = kNever;
  lane.request = p.segment->request(index, lane.granted);  // also of one that left: its work carries its time
  switch (p.segment->state(index)) {
    case LaneState::Blocked:
      lane.state = State::Waiting;
      lane.result = 0;
      lane.acting = !asks_for_nothing(lane.request.call);
      have_spinners_ |= lane.request.call == Call::Pause;
      result_.end = std::max(result_.end, lane.request.clock);
      break;
    case LaneState::External:
      lane.state = State::Outside;
      outside_.push_back({rank, index});
      break;
    case LaneState::Asleep:
      lane.state = State::Asleep;
      asleep_.push_back({rank, index});
      break;
    default: {  // it left; a thread's lane may be taken again
      lived_until(rank, lane.request.clock);
      lane.state = index == 0 ? State::Gone : State::Absent;
      if (index == 0) {
        p.left = true;
        close_ports(p);
        answer_lookups(rank);
        // Its end comes at once; ranks then end in an order that does not depend on the system.
        for (int i = 0; i < 1000 && !p.ended; ++i) {
          if (auto ending = ending_of(p.pid)) {
            end_rank(rank, *ending);
            ended_well(rank);
          } else {
            output_->gather();
            usleep(i < 10 ? 100 : 1000);
          }
        }
      } else {
        p.segment->lane(index).state.store(static_cast<std::uint32_t>(LaneState::Free));
      }
    }
  }
}

void Simulation::collect_ports(Process& p) {
  for (unsigned i = 0; i < kPortsPerProcess; ++i) {
    if (!p.ports[i].open) continue;
    nic::PortRef ref{p.nic, p.ports[i].number};
    posted_.clear();
    p.segment->take_posted(i, posted_);
    Time earliest = p.lanes[0].granted - look_ahead_, latest{0};
    for (const LaneBook& lane : p.lanes)
      latest = std::max(latest, std::max(lane.request.clock, lane.granted));
    for (nic::Descriptor& d : posted_) {
      d.posted = std::clamp(d.posted, std::max<std::int64_t>(0, earliest.value), latest.value);
      fabric_->post(ref, d);
    }
    unsigned messages = 0, events = 0;
    p.segment->take_consumed(i, messages, events);
    if (messages || events) fabric_->consumed(ref, messages, events);
    if (!posted_.empty()) last_activity_ = fabric_->now();
  }
}

}  // namespace weft::host
