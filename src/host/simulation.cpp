#include "host/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/stopwatch.hpp"
#include "base/virtual_time.hpp"
#include "host/call_handler.hpp"
#include "host/core_shares.hpp"
#include "host/neighbours.hpp"
#include "host/pacing.hpp"
#include "host/rank_ports.hpp"
#include "host/standstill.hpp"
#include "host/storage_host.hpp"
#include "host/storage_tiers.hpp"
#include "host/supervisor.hpp"
#include "host/tree_waits.hpp"
#include "host/wait_explainer.hpp"

namespace weft::host {

using State = Scheduler::State;

namespace {

// In which ranks only polled: a minute where a program may have its own reasons for it, a second where all of
// them are in calls of MPI that end only by what others do.
constexpr Time kQuietForever{60'000'000'000'000}, kQuietInCalls{1'000'000'000'000};

// How long others go on after a rank has died while interfaces run collectives: until they wait for it, in
// virtual time, so that it can be told which tree it has left; and no longer than this in real time.
constexpr Time kLastWords{1'000'000'000};
constexpr double kLastWordsReal = 10;

constexpr double kProgressInterval = 10;  // in real time

RunOptions placed(RunOptions options) {
  if (options.place.empty())
    for (unsigned rank = 0; rank < options.ranks; ++rank) options.place.push_back(rank / options.per_node);
  return options;
}

/// What a rank has counted of its MPI, to the sums of all.
void add_sums(const Header& header, RunResult& result) {
  const MpiSums& from = header.sums;
  MpiSums& to = result.mpi;
  for (unsigned i = 0; i < kProtocols; ++i) {
    to.protocol[i].count += from.protocol[i].count;
    to.protocol[i].bytes += from.protocol[i].bytes;
    result.mpi_cost[i] += std::clamp(Time{from.protocol[i].cost}, Time{0}, kEndOfTime);
    result.has_mpi |= from.protocol[i].count != 0;
  }
  to.most_unexpected = std::max(to.most_unexpected, from.most_unexpected);
  for (std::uint64_t MpiSums::*sum :
       {&MpiSums::expected, &MpiSums::unexpected, &MpiSums::compared, &MpiSums::copied, &MpiSums::reordered,
        &MpiSums::stalls, &MpiSums::credits_grown, &MpiSums::stalled_ps, &MpiSums::registrations})
    to.*sum += from.*sum;
  for (unsigned i = 0; i < kOffloaded; ++i) {
    to.collectives.offloaded[i] += from.collectives.offloaded[i];
    for (unsigned j = 0; j < kFallbacks; ++j)
      to.collectives.fallen_back[i][j] += from.collectives.fallen_back[i][j];
  }
  for (unsigned i = 0; i < kOffloaded; ++i) to.collectives.in_routers[i] += from.collectives.in_routers[i];
  for (unsigned i = 0; i < abi::kNotInRouters; ++i)
    to.collectives.not_in_routers[i] += from.collectives.not_in_routers[i];
  to.collectives.other += from.collectives.other;
}

/// Has time come as far as a power cut? `at`: where it was to come; never: to the end of all that happens.
bool reaches(Time cut, Time at, nic::Fabric& fabric) {
  if (at == kNever && cut != kNever && !fabric.idle()) fabric.advance(cut);
  return fabric.now() >= cut;
}

std::string unreachable(std::uint32_t rank, int error) {
  return fmt::format(
      "the system does not let the simulator reach the memory of rank {}: {} (process_vm_readv). The program "
      "has "
      "protected itself (PR_SET_DUMPABLE), runs as another user, or a container or kernel.yama.ptrace_scope "
      "forbids it",
      rank, std::strerror(error));
}

/// Those of ranks and neighbours, in order.
std::vector<network::EndpointId> nodes_of(const std::vector<network::EndpointId>& place,
                                          const Neighbours* neighbours) {
  std::vector<network::EndpointId> nodes = place;
  if (neighbours)
    for (network::EndpointId node : neighbours->nodes()) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

Simulation::Simulation(const machine::Machine& machine, network::Network& network, RunOptions options,
                       Neighbours* neighbours)
    : interrupted([] { return false; }),
      machine_(machine),
      network_(network),
      options_(placed(std::move(options))),
      neighbours_(neighbours),
      scheduler_(options_.ranks, machine.description.host.write_latency),
      next_progress_(real_seconds() + kProgressInterval) {
  const std::vector<network::EndpointId> nodes = nodes_of(options_.place, neighbours);
  nic::Host& own = *this;
  if (neighbours) shared_host_ = std::make_unique<SharedHost>(own, *neighbours, nodes, options_.ranks);
  storage_host_ = std::make_unique<StorageHost>(neighbours ? *shared_host_ : own);
  fabric_ = std::make_unique<nic::Fabric>(machine, network, queue_, *storage_host_, nodes, options_.seed);
  if (neighbours) neighbours->join(*fabric_, queue_, options_.ranks);
  supervisor_ = std::make_unique<Supervisor>(options_, segments_);
  std::vector<nic::NicId> nics;
  for (network::EndpointId node : options_.place)
    nics.push_back(
        static_cast<nic::NicId>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin()));
  ports_ = std::make_unique<RankPorts>(*fabric_, segments_, std::move(nics));
  calls_ = std::make_unique<CallHandler>(
      *fabric_, *ports_, scheduler_, *supervisor_,
      CallHandler::Costs{machine.description.host.write_latency, machine.description.host.system_call,
                         machine.description.host.post_cost});
  explainer_ = std::make_unique<WaitExplainer>(scheduler_, *supervisor_, segments_, *calls_);
  options_.slow = slowness_of_ranks(machine.description, options_.place, options_.slow);
  make_segments();
  if (!has_storage(options_.storage, neighbours)) return;
  storage_ = make_storage(machine_, *fabric_, queue_,
                          {options_.ranks, &scheduler_, supervisor_.get(), &segments_}, options_, neighbours);
  calls_->use_storage(*storage_);
  storage_host_->add(*storage_);
}

Simulation::~Simulation() = default;

std::uint32_t Simulation::rank_of(nic::PortRef port) const { return ports_->rank_of(port); }

bool Simulation::is_storage(nic::PortRef port) const { return storage_ && storage_->has_port(port); }

void Simulation::make_segments() {
  for (unsigned rank = 0; rank < options_.ranks; ++rank) {
    segments_.push_back(
        std::make_unique<Segment>(machine_, rank, options_.ranks, fabric_->node(ports_->nic(rank))));
    segments_.back()->header().mpi.collectives = options_.collectives;
    segments_.back()->header().disturbance = {rank < options_.slow.size() ? options_.slow[rank] : 1,
                                              kNoDeadline, options_.noise_length.value,
                                              options_.noise_interval.value, options_.seed};
  }
}

void Simulation::follow(Pace& pace) {
  pacing_ = std::make_unique<Pacing>(pace, segments_, scheduler_, options_.slow);
}

std::vector<CallRecord> Simulation::calls(unsigned rank) const {
  const CallLogs* logs = supervisor_->call_logs();
  return logs ? logs->read(rank) : std::vector<CallRecord>();
}

std::uint64_t Simulation::calls_left_out() const {
  const CallLogs* logs = supervisor_->call_logs();
  std::uint64_t sum = 0;
  for (unsigned rank = 0; logs && rank < options_.ranks; ++rank) sum += logs->left_out(rank);
  return sum;
}

RunResult Simulation::run() {
  start();
  try {
    take_turns();
    if (neighbours_ && !failed_) neighbours_->go_on_alone();
    if (storage_) end_storage(*storage_, *fabric_, failed_, result_);
  } catch (const UserError&) {
    throw;
  } catch (const std::runtime_error& error) {  // the network cannot go on
    fail(error.what());
  }
  if (neighbours_) neighbours_->end();
  finish();
  return result_;
}

void Simulation::start() {
  result_.ranks.resize(options_.ranks);
  if (storage_) stage_in(*storage_, *fabric_, segments_, scheduler_);
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    result_.ranks[rank].node = fabric_->node(ports_->nic(rank));
    scheduler_.starts({rank, 0});
  }
  core_shares_ = CoreShares::make(machine_.description, options_.place, options_.slow, scheduler_, segments_,
                                  pacing_.get());
  if (neighbours_) neighbours_->start();
  const bool compute_is_free = machine_.description.host.compute == machine::Compute::None;
  supervisor_->start_all(options_.cores == Cores::One || (options_.cores == Cores::Auto && compute_is_free));
}

void Simulation::take_turns() {
  constexpr unsigned kTurnsBetweenLooks = 1024;  // at the time of day
  while (!failed_) {
    supervisor_->wait_until_stopped(supervisor_->have_threads() || scheduler_.have_spinners(),
                                    [this] { return time_passes(); });
    if (result_.rounds % kTurnsBetweenLooks == 0) tell_progress();
    if (interrupted()) fail("interrupted");
    if (failed_) break;
    collect();
    supervisor_->output().pass_on();
    std::sort(fell_silent_.begin(), fell_silent_.end());
    for (std::uint32_t rank : std::exchange(fell_silent_, {})) supervisor_->output().finish(rank);
    if (supervisor_->alive() == 0) break;
    advance();
    if (scheduler_.runnable().empty() && stuck()) break;
    grant();
  }
}

/// While ranks run. False where the run has failed.
bool Simulation::time_passes() {
  if (interrupted()) return fail("interrupted");
  if (!watch_processes() || buried(fabric_->now())) return false;
  tell_progress();
  return true;
}

void Simulation::finish() {
  if (death_ && !failed_) fail_at(death_->what, death_->at);
  result_.fine = !failed_;
  result_.end = std::max(result_.end, Time{0});
  if (pacing_) pacing_->finish(result_.end);
  supervisor_->end_all();
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    result_.ranks[rank].ending = supervisor_->ending(rank);
    add_sums(segments_[rank]->header(), result_);
    result_.ranks[rank].stalled = std::clamp(
        Time{static_cast<std::int64_t>(segments_[rank]->header().sums.stalled_ps)}, Time{0}, kEndOfTime);
  }
}

/// Now and then, while a run takes long: how far it has come.
void Simulation::tell_progress() {
  if (!on_progress) return;
  const double now = real_seconds();
  if (now < next_progress_) return;
  next_progress_ = now + kProgressInterval;
  on_progress(progress());
}

// --- The ranks' turn: what they ask for, post, and how they end.

void Simulation::collect() {
  if (supervisor_->child_ended() && !watch_processes()) return;
  Supervisor::Stopped stopped = supervisor_->take_stopped();
  std::vector<ThreadRef>& ran = stopped.ran;
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank)
    if (segments_[rank]->header().shares.load(std::memory_order_relaxed) && !scheduler_.shares_memory(rank))
      take_turns_with_others(rank);
  for (ThreadRef r : ran)
    if (!supervisor_->ended(r.rank)) collect_thread(r);
  for (ThreadRef r : stopped.woken) {
    if (supervisor_->ended(r.rank)) continue;
    // Whoever woke it had its turn: it goes on no earlier than that one is now.
    for (ThreadRef other : ran)
      if (other.rank == r.rank) scheduler_.hold_until(r, scheduler_.thread(other).request.clock);
    collect_thread(r);
  }
  ran.insert(ran.end(), stopped.woken.begin(), stopped.woken.end());
  std::sort(ran.begin(), ran.end());
  std::uint32_t last = kNoRank;
  for (ThreadRef r : ran)
    if (r.rank != last && !supervisor_->ended(r.rank)) collect_posted(last = r.rank);
  for (ThreadRef r : ran)
    if (scheduler_.thread(r).state == State::Waiting) calls_->begin(r);
  Time latest{0};
  for (ThreadRef r : ran) {
    const Time clock = scheduler_.thread(r).request.clock;
    latest = std::max(latest, clock);
    if (talks(r.rank)) talked_until_ = std::max(talked_until_, clock);
    if (!supervisor_->ended(r.rank)) scheduler_.has_run(r);
  }
  calls_->see_files(ran.empty() ? talked_until_ : latest, 0);
}

void Simulation::collect_thread(ThreadRef r) {
  // Also of one that left: its work carries its time.
  const Request request = segments_[r.rank]->request(r.thread, scheduler_.thread(r).granted);
  switch (supervisor_->stopped(r)) {
    case ThreadState::Blocked:
      scheduler_.waits(r, request);
      result_.end = std::max(result_.end, request.clock);
      break;
    case ThreadState::External:
      scheduler_.stops(r, request, State::Outside);
      break;
    case ThreadState::Asleep:
      scheduler_.stops(r, request, State::Asleep);
      break;
    default:  // it left; another thread may take its place, but not that of the first
      scheduler_.stops(r, request, r.thread == 0 ? State::Gone : State::Absent);
      lived_until(r.rank, request.clock);
      if (r.thread == 0) last_thread_left(r.rank);
  }
}

/// The first thread ends when its program does. Its end comes at once; ranks then end in an order that does
/// not depend on the system.
void Simulation::last_thread_left(std::uint32_t rank) {
  calls_->rank_leaves(rank);
  if (auto ending = supervisor_->reap_soon(rank)) {
    end_rank(rank, *ending);
    ended_well(rank);
  }
}

void Simulation::collect_posted(std::uint32_t rank) {
  const Time earliest = scheduler_.thread({rank, 0}).granted - machine_.description.host.write_latency;
  Time latest{0};
  for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
    const Scheduler::Thread& t = scheduler_.thread({rank, i});
    latest = std::max(latest, std::max(t.request.clock, t.granted));
  }
  if (ports_->take_posted(rank, earliest, latest)) scheduler_.note_activity(fabric_->now());
}

/// Has it opened sockets?
bool Simulation::talks(std::uint32_t rank) const {
  constexpr std::uint32_t kTalks = 2;
  return segments_[rank]->header().shares.load(std::memory_order_relaxed) & kTalks;
}

/// Ranks of a node that have memory in common run one after the other, as threads of one process do: what
/// they see of each other must not depend on the system. So do ranks that talk over sockets.
void Simulation::take_turns_with_others(std::uint32_t rank) {
  const bool with_talkers = talks(rank);
  std::vector<std::uint32_t> together;
  for (std::uint32_t other = 0; other < options_.ranks; ++other) {
    const bool of_node = ports_->nic(other) == ports_->nic(rank);
    if (of_node) scheduler_.share_memory(other);
    if (of_node || (with_talkers && talks(other))) together.push_back(other);
  }
  scheduler_.take_turns(together);
}

/// What a rank slept or computed last, before it went, counts as well.
void Simulation::lived_until(std::uint32_t rank, Time last) {
  result_.ranks[rank].end = std::max(result_.ranks[rank].end, last);
  result_.end = std::max(result_.end, last);
  if (talks(rank)) talked_until_ = std::max(talked_until_, last);
  if (last > kEndOfTime) fail(OutOfTime().what());
}

/// False where a rank failed.
bool Simulation::watch_processes() {
  const MpiLauncher* mpi = supervisor_->mpi();
  if (std::string what = mpi ? mpi->broken() : ""; !what.empty()) return fail(what);
  supervisor_->forget_child_ended();
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    auto ending = supervisor_->reap(rank);
    if (!ending) continue;
    end_rank(rank, *ending);
    if (!ended_well(rank)) return false;
  }
  return true;
}

void Simulation::end_rank(std::uint32_t rank, const Ending& ending) {
  result_.ranks[rank].ended = true;
  result_.ranks[rank].ending = ending;
  for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
    const Scheduler::Thread& t = scheduler_.thread({rank, i});
    if (t.state != State::Running) continue;
    const Request request = segments_[rank]->request(i, t.granted);
    scheduler_.stops({rank, i}, request, State::Running);
    lived_until(rank, request.clock);
  }
  calls_->rank_ended(rank);
  scheduler_.rank_ended(rank);
  supervisor_->forget(rank);
  calls_->rank_leaves(rank);
  fell_silent_.push_back(rank);
}

/// Fails the run where a rank's end is an error.
bool Simulation::ended_well(std::uint32_t rank) {
  const Ending& ending = supervisor_->ending(rank);
  const MpiLauncher* mpi = supervisor_->mpi();
  auto who = [&](std::uint32_t one) {
    return fmt::format("rank {} on node {}", one, fabric_->node(ports_->nic(one)));
  };
  if (mpi) {
    if (std::string what = mpi->broken(); !what.empty()) return fail(what);
    MpiLauncher::Abort abort = mpi->aborted();
    if (abort.rank >= 0)
      return fail(fmt::format("{} called MPI_Abort with code {}", who(static_cast<std::uint32_t>(abort.rank)),
                              abort.code));
  }
  const std::string last = explainer_->last_call(rank) + left_under_way(*segments_[rank]);
  if (!ending.fine()) return dies(fmt::format("{} {}{}", who(rank), ending.text(), last));
  if (!mpi) return true;
  MpiPhase phase = segments_[rank]->header().phase.load();
  if (phase == MpiPhase::None || phase == MpiPhase::Ended) return !left_behind();
  return dies(fmt::format("{} ended without MPI_Finalize{}", who(rank), last));
}

/// The run fails: at once, or, where interfaces run collectives, when the others have come as far as they can
/// without the rank, so that it can be said who waits for it. False where it has failed.
bool Simulation::dies(const std::string& what) {
  if (!options_.collectives.on) return fail(what);
  if (!death_) death_ = {what, fabric_->now(), real_seconds() + kLastWordsReal};
  return true;
}

/// True where the others have had their time after a rank died.
bool Simulation::buried(Time now) {
  if (!death_ || failed_) return failed_;
  if (now < death_->at + kLastWords && real_seconds() < death_->deadline) return false;
  fail_at(death_->what, death_->at);
  return true;
}

/// Ranks that start MPI wait for all others; one that ended before will never come. True where that is so.
bool Simulation::left_behind() {
  if (!supervisor_->mpi()) return false;
  auto in = [&](std::uint32_t rank, MpiPhase phase) {
    return segments_[rank]->header().phase.load() == phase;
  };
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    if (!supervisor_->ended(rank) || !in(rank, MpiPhase::None)) continue;
    for (std::uint32_t other = 0; other < options_.ranks; ++other)
      if (in(other, MpiPhase::Starting)) {
        fail(fmt::format("rank {} on node {} ended without MPI_Init, and rank {} waits for it there", rank,
                         fabric_->node(ports_->nic(rank)), other));
        return true;
      }
  }
  return false;
}

// --- The simulator's turn.

void Simulation::advance() {
  scheduler_.begin_round();
  find_runnable();
  scheduler_.end_round();
}

void Simulation::find_runnable() {
  while (!failed_) {
    if (neighbours_ && neighbours_->first_turn() <= fabric_->now()) {
      if (interrupted()) fail("interrupted");
      neighbours_->take_turn();
      continue;
    }
    const Scheduler::Step step = scheduler_.next(fabric_->now());
    switch (step.kind) {
      case Scheduler::Step::Done:
        return;
      case Scheduler::Step::Advance:
        if (!come_to(step.at)) return;
        break;
      case Scheduler::Step::Act:
        calls_->act(step.thread);
        break;
      case Scheduler::Step::Run:
        if (!may_run(step.thread, step.at)) return;
        scheduler_.run(step.thread, step.at);
    }
  }
}

/// Lets the fabric come this far, or up to the first thing that somebody hears of; false where that never
/// comes, or is not to come: while a rank waits for something real, others do not run away from it.
bool Simulation::come_to(Time at) {
  if (at == kNever && neighbours_ && supervisor_->anyone_outside()) return false;
  if (neighbours_) at = std::min(at, neighbours_->first_turn());
  if (at == kNever && fabric_->idle()) return false;
  const bool told = fabric_->advance(std::min(at, options_.storage.power_cut), at == kNever);
  calls_->check_leaving();
  if (!told && reaches(options_.storage.power_cut, at, *fabric_)) return fail("the power was cut");
  return told || at != kNever;
}

/// False where nothing will ever happen but more of the same.
bool Simulation::may_run(ThreadRef r, Time at) {
  calls_->settle(r, at);
  if (buried(at)) return false;
  const Request& request = scheduler_.thread(r).request;
  // Who has slept or was served goes on: nobody stands still, however long nothing was sent.
  if (!looks(request.call)) scheduler_.note_activity(at);
  if (!looks(request.call) || at < request.deadline || !only_polling()) return true;
  const Time quiet = fabric_->now() - scheduler_.last_activity();
  if (quiet >= kQuietInCalls && all_in_calls(*supervisor_, scheduler_, segments_))
    return fail(
        fmt::format("deadlock: since {} all ranks have waited in calls of MPI and nothing has happened",
                    time_text(scheduler_.last_activity())));
  if (quiet < kQuietForever) return true;
  return fail("deadlock: for a minute of virtual time ranks have polled and nothing has happened");
}

/// Has nothing happened for a while, and will nothing happen but more polling?
bool Simulation::only_polling() const {
  return fabric_->idle() && !supervisor_->anyone_outside() && !calls_->watches_files() &&
         fabric_->now() - scheduler_.last_activity() >= kQuietInCalls && scheduler_.all_look();
}

/// Before anybody goes on: how fast processors are then. False where the run has failed.
bool Simulation::keep_pace(const std::vector<ThreadRef>& runnable) {
  if (!pacing_) return true;
  Time latest{0};
  for (ThreadRef r : runnable)
    latest = std::max(latest, std::max(scheduler_.thread(r).wake, scheduler_.thread(r).request.clock));
  const std::string problem = pacing_->come_to(latest);
  return problem.empty() || fail(problem);
}

void Simulation::grant() {
  const std::vector<ThreadRef>& runnable = scheduler_.runnable();
  if (runnable.empty() || !keep_pace(runnable)) return;
  if (core_shares_) core_shares_->share(runnable);
  supervisor_->let_run(runnable);
  const bool alone = runnable.size() == 1 && !neighbours_ && !pacing_ && !core_shares_;
  const Time known =
      alone ? known_until(*fabric_, ports_->nic(runnable[0].rank), *supervisor_, scheduler_, *calls_)
            : fabric_->now();
  for (ThreadRef r : runnable) {
    const Request& request = scheduler_.thread(r).request;
    const Time granted = scheduler_.grant(r);
    if (r.thread == 0) {
      RankResult& result = result_.ranks[r.rank];
      result.waited = result.waited + (granted - request.clock);
      if (pacing_) pacing_->waited(r.rank, request.clock, granted);
      result.end = granted;
    }
    const CallHandler::Answer& answer = calls_->grant(r);
    if (on_wait) on_wait(r.rank, r.thread, request.clock, granted, request.call);
    segments_[r.rank]->grant(r.thread, granted, known, answer.result, answer.value);
  }
  ++result_.rounds;
  result_.grants += runnable.size();
}

/// Nobody can go on. True where that is the end: a deadlock, or a failure met meanwhile.
bool Simulation::stuck() {
  if (failed_) return true;
  if (death_) return !fail_at(death_->what, death_->at);
  const Stopwatch since;
  for (bool told = false;;) {
    if (!may_go_on_by_itself(*supervisor_, scheduler_, *calls_)) {
      fail("deadlock: every rank waits and nothing is under way");
      return true;
    }
    if (calls_->watches_files()) {
      // What one of them sent is seen no earlier than it was sent, however long the system takes for it.
      if (calls_->see_files(talked_until_, 1)) return false;
    } else {
      supervisor_->wait_a_little();
    }
    supervisor_->output().pass_on();
    tell_progress();
    const unsigned alive = supervisor_->alive();
    if (!watch_processes() || left_behind()) return true;
    if (interrupted()) {
      fail("interrupted");
      return true;
    }
    if (alive != supervisor_->alive() || supervisor_->anyone_is_back()) return false;
    if (!told && since.seconds() > 10) {
      told = true;
      explainer_->tell_why_all_wait();
    }
  }
}

bool Simulation::fail(const std::string& what) { return fail_at(what, fabric_->now()); }

bool Simulation::fail_at(const std::string& what, Time now) {
  constexpr std::size_t kMostLines = 64;
  if (failed_) return false;
  failed_ = true;
  result_.failure = fmt::format("{}, at {}", what, time_text(now));
  result_.end = now;
  result_.details = explainer_->ranks();
  for (const std::string& line : explain_trees(*fabric_, *ports_, segments_, *explainer_))
    if (result_.details.size() < kMostLines) result_.details.push_back(line);
  for (nic::NicId nic = 0; nic < fabric_->nics(); ++nic)
    for (const std::string& line : fabric_->pending(nic))
      if (result_.details.size() < kMostLines)
        result_.details.push_back(fmt::format("interface of node {}: {}", fabric_->node(nic), line));
  if (!network_.idle())
    for (const std::string& line : network_.explain()) result_.details.push_back("network: " + line);
  return false;
}

// --- What interfaces do to ranks.

bool Simulation::read(node::SpaceId owner, std::uint64_t address, void* to, std::uint64_t length) {
  if (supervisor_->ended(owner)) return false;
  errno = 0;
  return read_memory(supervisor_->process(owner), address, to, length) || access_failed(owner, errno);
}

/// A process that has unmapped its memory has made an error, which its operation tells it. One whose memory
/// the system lets nobody read cannot take part at all. False.
bool Simulation::access_failed(std::uint32_t rank, int error) {
  if (error != EPERM && error != EACCES && error != ENOSYS) return false;
  return fail(unreachable(rank, error));
}

bool Simulation::write(node::SpaceId owner, std::uint64_t address, const void* from, std::uint64_t length) {
  if (supervisor_->ended(owner)) return false;
  errno = 0;
  if (!write_memory(supervisor_->process(owner), address, from, length)) return access_failed(owner, errno);
  // Whoever looks at memory there sees it now; so does MPI where it waits for a window to change.
  for (std::uint32_t i = 0; i < scheduler_.threads(owner); ++i) {
    const Scheduler::Thread& t = scheduler_.thread({owner, i});
    if (t.state != State::Waiting) continue;
    bool looks_there = t.request.call == Call::Pause;
    if (t.request.call == Call::Spin) {
      Doing doing = doing_of(segments_[owner]->thread(i));
      looks_there = doing.inside() && call_facts(doing.call()).kind == CallKind::Window;
    }
    if (looks_there) scheduler_.plan({owner, i}, std::max(t.request.clock, fabric_->now()));
  }
  return true;
}

bool Simulation::has_space(node::NodeId node, node::SpaceId space) const {
  return space < options_.ranks && options_.place[space] == node && !supervisor_->ended(space);
}

void Simulation::loaded(std::uint64_t token, nic::Status status, std::uint64_t value) {
  calls_->loaded(token, status, value);
}

void Simulation::register_read(std::uint64_t token, std::uint64_t value) {
  calls_->register_read(token, value);
}

void Simulation::device_interrupt(node::NodeId node, node::DeviceId device) {
  calls_->device_interrupt(node, device);
}

void Simulation::device_copied(std::uint64_t token, bool well) { calls_->device_copied(token, well); }

void Simulation::message(nic::PortRef port, const nic::Message& message) {
  const RankPorts::Place place = ports_->place_of(port);
  segments_[place.rank]->push(place.index, message);
  scheduler_.arrived(place.rank, place.index, Time{message.time});
}

void Simulation::event(nic::PortRef port, const nic::Event& event) {
  const RankPorts::Place place = ports_->place_of(port);
  segments_[place.rank]->push(place.index, event);
  scheduler_.arrived(place.rank, place.index, Time{event.time});
}

void Simulation::slot_free(nic::PortRef port, Time at) {
  const RankPorts::Place place = ports_->place_of(port);
  if (!ports_->is_open(place.rank, place.index)) return;
  if (ports_->queue_full(place.rank, place.index))
    scheduler_.has_room(place.rank, place.index, at);
  else
    scheduler_.note_activity(at);  // there was room all the time
  segments_[place.rank]->slot_free(place.index);
}

}  // namespace weft::host
