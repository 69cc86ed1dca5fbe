#include "host/supervisor.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::host {

namespace {

constexpr long kWatchNanoseconds = 20'000'000;  // how often processes and pipes are looked at meanwhile
constexpr long kLookNanoseconds = 50'000;       // how soon threads are, first

volatile sig_atomic_t child_has_ended = 0;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// As many open files as the system lets us have; throws UserError where they are too few for the ranks.
void raise_file_limit(const RunOptions& options) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  // Two pipes and a segment for each rank; where they are asked for, files, a log of calls, and MPI's
  // sockets.
  const rlim_t each =
      5 + (options.output.folder.empty() ? 0 : 2) + (options.log_calls ? 1 : 0) + (options.mpi ? 4 : 0);
  const rlim_t needed = 64 + each * options.ranks;
  if (limit.rlim_cur < needed)
    throw UserError(fmt::format("{} take about {} open files, and {} are allowed; `ulimit -n` allows more",
                                count_of(options.ranks, "rank"), with_commas(needed),
                                with_commas(limit.rlim_cur)));
}

/// Ranks that mostly wait for each other are served fastest on one core: waking a sleeper there costs a
/// fifth.
void stay_on_this_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

Supervisor::Supervisor(const RunOptions& options, const Segments& segments)
    : options_(options), segments_(segments), processes_(options.ranks) {
  raise_file_limit(options_);
  if (options_.mpi)  // before files are opened for every rank: the library cannot use high numbers
    mpi_ = std::make_unique<MpiLauncher>(std::vector<unsigned>(options_.place.begin(), options_.place.end()),
                                         folder_of(options_.library), options_.mpi_windows);
  bell_memory_ = SharedMemory("weft-bell", 4096);
  bell_ = new (bell_memory_.at()) Bell;
  output_ = std::make_unique<Output>(options_.ranks, options_.output);
  for (Process& p : processes_) {
    p.known.resize(kThreads);
    p.fell_asleep.resize(kThreads);
  }
  other_children_ = adopt_orphans();
  if (options_.log_calls) call_logs_ = std::make_unique<CallLogs>(options_.ranks);
}

Supervisor::~Supervisor() {
  for (Process& p : processes_)
    if (p.pid > 0 && !p.ended) kill(p);
  for (Process& p : processes_)
    while (p.pid > 0 && !p.ended && !ending_of(p.pid)) usleep(1000);
}

void Supervisor::start_all(bool on_one_core) {
  std::string program = find_program(options_.command.front());
  struct sigaction action {};
  action.sa_handler = [](int) { child_has_ended = 1; };
  sigaction(SIGCHLD, &action, nullptr);  // without SA_RESTART: it ends a wait
  if (on_one_core) stay_on_this_core();
  bell_->running.store(options_.ranks);
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) start(rank, program);
}

void Supervisor::start(std::uint32_t rank, const std::string& program) {
  Process& p = processes_[rank];
  Launch launch;
  launch.command = options_.command;
  launch.library = options_.library;
  launch.segment = segments_[rank]->file();
  launch.bell = bell_memory_.file();
  launch.calls = call_logs_ ? call_logs_->file(rank) : -1;
  launch.out = output_->out(rank);
  launch.error = output_->error(rank);
  launch.kept = mpi_ ? mpi_->file(rank) : -1;
  launch.rank = rank;
  launch.ranks = options_.ranks;
  launch.environment = mpi_ ? mpi_->environment(rank) : libfabric_environment(folder_of(options_.library));
  if (!options_.tree_order.empty())
    launch.environment.emplace_back(kTreeOrderVariable,
                                    fmt::format("{}", fmt::join(options_.tree_order, ",")));
  if (!options_.tree_groups.empty())
    launch.environment.emplace_back(kTreeGroupsVariable,
                                    fmt::format("{}", fmt::join(options_.tree_groups, ",")));
  launch.owner = &segments_[rank]->header().owner;
  p.pid = p.owner = host::start(program, launch);
  output_->started(rank);
  if (mpi_) mpi_->started(rank);
  p.known[0] = true;
  running_.push_back({rank, 0});
  ++alive_;
}

bool Supervisor::follow_owner(std::uint32_t rank) {
  Process& p = processes_[rank];
  const pid_t owner = segments_[rank]->header().owner.load();
  if (owner != p.owner && !belongs_to(owner, p.pid)) return false;
  p.owner = owner;
  return true;
}

pid_t Supervisor::tid(ThreadRef r) const {
  return r.thread == 0 ? processes_[r.rank].owner : segments_[r.rank]->thread(r.thread).tid.load();
}

bool Supervisor::has_thread(std::uint32_t rank, pid_t thread) const {
  if (thread == processes_[rank].owner) return true;
  for (std::uint32_t i = 1; i < kThreads; ++i)
    if (segments_[rank]->thread(i).tid.load() == thread) return true;
  return false;
}

bool Supervisor::child_ended() const { return child_has_ended; }
void Supervisor::forget_child_ended() { child_has_ended = 0; }

std::optional<Ending> Supervisor::reap(std::uint32_t rank) {
  Process& p = processes_[rank];
  if (p.ended) return std::nullopt;
  auto ending = ending_of(p.pid);
  if (!ending) return std::nullopt;
  p.ended = true;
  p.ending = *ending;
  --alive_;
  return ending;
}

std::optional<Ending> Supervisor::reap_soon(std::uint32_t rank) {
  for (int i = 0; i < 1000 && !processes_[rank].ended; ++i) {
    if (auto ending = reap(rank)) return ending;
    output_->gather();
    usleep(i < 10 ? 100 : 1000);
  }
  return std::nullopt;
}

void Supervisor::kill(const Process& process) {
  kill_rank(process.pid);
  if (mpi_) mpi_->killed();
}

void Supervisor::end_all() {
  for (Process& p : processes_)
    if (!p.ended) kill(p);
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    while (!processes_[rank].ended)
      if (!reap(rank)) usleep(1000);
    output_->finish(rank);
    output_->close(rank);
  }
  kill_orphans(other_children_);
}

bool Supervisor::runs(ThreadRef r) const {
  return !processes_[r.rank].ended && segments_[r.rank]->state(r.thread) == ThreadState::Running;
}

bool Supervisor::all_stopped() const {
  auto is_running = [&](ThreadRef r) { return runs(r); };
  if (std::any_of(running_.begin(), running_.end(), is_running)) return false;
  if (std::any_of(outside_.begin(), outside_.end(), is_running)) return false;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {  // threads that have just begun
    const Process& p = processes_[rank];
    if (p.ended || segments_[rank]->header().joins.load(std::memory_order_acquire) == p.joins) continue;
    for (std::uint32_t i = 1; i < kThreads; ++i)
      if (!p.known[i] && runs({rank, i})) return false;
  }
  return true;
}

void Supervisor::wait_until_stopped(bool closely, const std::function<bool()>& meanwhile) {
  Stand stand;
  long patience = closely ? kLookNanoseconds : kWatchNanoseconds;
  for (;;) {
    std::uint32_t running = bell_->running.load(std::memory_order_acquire);
    if (running == 0 && all_stopped() && sleepers_still_sleep()) return;
    timespec most{0, running == 0 ? std::min(patience, 1'000'000l) : patience};
    long slept = syscall(SYS_futex, &bell_->running, FUTEX_WAIT, running, &most, nullptr, 0);
    if (slept == 0 && !child_has_ended) continue;
    if (slept < 0 && errno == EAGAIN) continue;
    // Something has ended, or time has passed.
    output_->gather();  // a thread may sleep before a full pipe
    leave_sleepers(stand);
    ask_computers(stand);
    if (patience < kWatchNanoseconds && !child_has_ended) {
      patience *= 2;
      continue;
    }
    if (!meanwhile()) return;
    if (all_stopped()) bell_->running.store(0);  // one that ended could not count itself out
    leave_real_waits(stand);
    tell_why_time_stands(stand);
  }
}

Supervisor::Stopped Supervisor::take_stopped() {
  Stopped out;
  std::swap(out.ran, running_);
  auto is_back = [&](ThreadRef r) {
    ThreadState state = segments_[r.rank]->state(r.thread);
    return state == ThreadState::Blocked || state == ThreadState::Left;
  };
  for (ThreadRef r : std::exchange(outside_, {})) (is_back(r) ? out.ran : outside_).push_back(r);
  for (ThreadRef r : std::exchange(asleep_, {})) (is_back(r) ? out.woken : asleep_).push_back(r);
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    Process& p = processes_[rank];
    std::uint32_t joins = segments_[rank]->header().joins.load(std::memory_order_acquire);
    if (joins == p.joins || p.ended) continue;
    p.joins = joins;
    have_threads_ = true;
    for (std::uint32_t i = 1; i < kThreads; ++i)
      if (!p.known[i] && segments_[rank]->state(i) != ThreadState::Free) out.ran.push_back({rank, i});
  }
  std::sort(out.ran.begin(), out.ran.end());
  return out;
}

ThreadState Supervisor::stopped(ThreadRef r) {
  ThreadState state = segments_[r.rank]->state(r.thread);
  processes_[r.rank].known[r.thread] = true;
  if (state == ThreadState::External) outside_.push_back(r);
  if (state == ThreadState::Asleep) asleep_.push_back(r);
  if (state == ThreadState::Blocked || state == ThreadState::External || state == ThreadState::Asleep)
    return state;
  if (r.thread != 0) {  // another thread may take its place
    processes_[r.rank].known[r.thread] = false;
    segments_[r.rank]->thread(r.thread).state.store(static_cast<std::uint32_t>(ThreadState::Free));
  }
  return ThreadState::Left;
}

void Supervisor::forget(std::uint32_t rank) {
  for (auto* list : {&outside_, &asleep_}) std::erase_if(*list, [&](ThreadRef r) { return r.rank == rank; });
}

void Supervisor::let_run(const std::vector<ThreadRef>& threads) {
  bell_->running.fetch_add(static_cast<std::uint32_t>(threads.size()), std::memory_order_acq_rel);
  running_.insert(running_.end(), threads.begin(), threads.end());
}

void Supervisor::wait_a_little() {
  timespec most{0, 5'000'000};
  syscall(SYS_futex, &bell_->running, FUTEX_WAIT, 0, &most, nullptr, 0);
}

bool Supervisor::anyone_is_back() const {
  auto any_is_not = [&](const std::vector<ThreadRef>& threads, ThreadState state) {
    return std::any_of(threads.begin(), threads.end(),
                       [&](ThreadRef r) { return segments_[r.rank]->state(r.thread) != state; });
  };
  if (any_is_not(outside_, ThreadState::External) || any_is_not(asleep_, ThreadState::Asleep)) return true;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank)
    if (segments_[rank]->header().joins.load() != processes_[rank].joins) return true;
  return false;
}

}  // namespace weft::host
