#include "host/simulation.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "base/virtual_time.hpp"
#include "host/port_set.hpp"

namespace weft::host {

namespace {

constexpr Time kNever{kNoDeadline};

bool names_files(const Request& r) {
  return r.call == Call::Files || (r.call == Call::Spin && r.argument[2] != 0);
}

std::uint64_t file_owner(std::uint32_t rank, std::uint32_t lane) { return std::uint64_t{rank} << 8 | lane; }

}  // namespace

const char* call_name(Call call) {
  switch (call) {
    case Call::Wait:
      return "wait";
    case Call::Spin:
      return "poll";
    case Call::Sleep:
      return "sleep";
    case Call::Open:
      return "open port";
    case Call::Close:
      return "close port";
    case Call::Register:
      return "register memory";
    case Call::Unregister:
      return "unregister memory";
    case Call::LookUp:
      return "look up";
    case Call::Leave:
      return "leave";
    case Call::Join:
      return "join domain";
    case Call::RegisterGlobal:
      return "register global memory";
    case Call::UnregisterGlobal:
      return "unregister global memory";
    case Call::Room:
      return "wait for room";
    case Call::Meet:
      return "meet";
    case Call::Yield:
    case Call::YieldUntil:
      return "wait for a thread";
    case Call::Stall:
      return "stand before a full queue";
    case Call::MoveGlobal:
      return "move global memory";
    case Call::MoveMemory:
      return "move memory";
    case Call::Physical:
      return "ask for a physical address";
    case Call::Pause:
      return "look at memory";
    case Call::Files:
      return "wait for a file";
    case Call::DeviceOpen:
      return "open device";
    case Call::DeviceRead:
      return "read register";
    case Call::DeviceWrite:
      return "write register";
    case Call::DeviceWait:
      return "wait for an interrupt";
  }
  return "wait";
}

bool looks(Call call) {
  return call == Call::Spin || call == Call::Yield || call == Call::YieldUntil || call == Call::Pause;
}

bool asks_for_nothing(Call call) {
  return call == Call::Wait || looks(call) || call == Call::Sleep || call == Call::Room ||
         call == Call::Stall || call == Call::Files;
}

bool waits_for_others(Call call) {
  return call == Call::Wait || call == Call::Spin || call == Call::Pause || call == Call::LookUp ||
         call == Call::Close || call == Call::Leave || call == Call::Room || call == Call::Stall ||
         call == Call::Meet || call == Call::Files || call == Call::DeviceWait;
}

namespace {

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

}  // namespace

Simulation::Simulation(const machine::Machine& machine, network::Network& network, RunOptions options)
    : machine_(machine),
      network_(network),
      options_(std::move(options)),
      look_ahead_(machine.description.host.write_latency),
      call_cost_(machine.description.host.system_call) {
  if (options_.place.empty())
    for (unsigned rank = 0; rank < options_.ranks; ++rank) options_.place.push_back(rank / options_.per_node);
  std::vector<network::EndpointId> nodes = options_.place;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  fabric_ = std::make_unique<nic::Fabric>(machine, network, queue_, static_cast<nic::Host&>(*this), nodes,
                                          options_.seed);
  raise_file_limit(options_);
  if (options_.mpi) {  // before files are opened for every rank: the library cannot use high numbers
    std::string folder = options_.library.substr(0, options_.library.rfind('/'));
    mpi_ = std::make_unique<MpiLauncher>(std::vector<unsigned>(options_.place.begin(), options_.place.end()),
                                         folder, options_.mpi_windows);
  }
  owner_of_port_.resize(nodes.size());
  bell_memory_ = SharedMemory("weft-bell", 4096);
  bell_ = new (bell_memory_.at()) Bell;
  output_ = std::make_unique<Output>(options_.ranks, options_.output);
  processes_.resize(options_.ranks);
  for (unsigned rank = 0; rank < options_.ranks; ++rank) {
    Process& p = processes_[rank];
    auto at = std::lower_bound(nodes.begin(), nodes.end(), options_.place[rank]);
    p.nic = static_cast<nic::NicId>(at - nodes.begin());
    p.segment = std::make_unique<Segment>(machine, rank, options_.ranks, fabric_->node(p.nic));
    p.ports.resize(kPortsPerProcess);
    p.lanes.resize(kLanes);
    p.turn = rank;
    p.segment->header().disturbance = {rank < options_.slow.size() ? options_.slow[rank] : 1,
                                       options_.noise_length.value, options_.noise_interval.value,
                                       options_.seed};
  }
  other_children_ = adopt_orphans();
  if (options_.log_calls) call_logs_ = std::make_unique<CallLogs>(options_.ranks);
}

std::vector<CallRecord> Simulation::calls(unsigned rank) const {
  return call_logs_ ? call_logs_->read(rank) : std::vector<CallRecord>();
}

std::uint64_t Simulation::calls_left_out() const {
  std::uint64_t sum = 0;
  for (unsigned rank = 0; call_logs_ && rank < options_.ranks; ++rank) sum += call_logs_->left_out(rank);
  return sum;
}

Simulation::~Simulation() {
  for (Process& p : processes_)
    if (p.pid > 0 && !p.ended) kill_rank(p.pid);
  for (Process& p : processes_)
    while (p.pid > 0 && !p.ended && !ending_of(p.pid)) usleep(1000);
}

RunResult Simulation::run() {
  start_all();
  try {
    take_turns();
  } catch (const UserError&) {
    throw;
  } catch (const std::runtime_error& error) {  // the network cannot go on
    fail(error.what());
  }
  finish();
  return result_;
}

void Simulation::take_turns() {
  constexpr unsigned kTurnsBetweenLooks = 1024;  // at the time of day
  while (!failed_) {
    wait_for_ranks();
    if (result_.rounds % kTurnsBetweenLooks == 0) tell_progress();
    if (interrupted()) fail("interrupted");
    if (failed_) break;
    collect();
    output_->pass_on();
    std::sort(fell_silent_.begin(), fell_silent_.end());
    for (std::uint32_t rank : std::exchange(fell_silent_, {})) output_->finish(rank);
    if (alive_ == 0) break;
    advance();
    if (runnable_.empty() && stuck()) break;
    grant();
  }
}

void Simulation::finish() {
  result_.fine = !failed_;
  result_.end = std::max(result_.end, Time{0});
  for (Process& p : processes_)
    if (!p.ended) kill_rank(p.pid);
  for (unsigned rank = 0; rank < processes_.size(); ++rank) {
    Process& p = processes_[rank];
    while (!p.ended) {
      if (auto ending = ending_of(p.pid)) {
        p.ended = true;
        result_.ranks[rank].ending = *ending;
      } else {
        usleep(1000);
      }
    }
    output_->finish(rank);
    output_->close(rank);
    add_sums(p.segment->header());
  }
  kill_orphans(other_children_);
}

bool Simulation::Process::has_lane(pid_t thread) const {
  if (thread == owner) return true;
  for (std::uint32_t i = 1; i < kLanes; ++i)
    if (segment->lane(i).thread.load() == thread) return true;
  return false;
}

void Simulation::add_sums(const Header& header) {
  const MpiSums& from = header.sums;
  MpiSums& to = result_.mpi;
  for (unsigned i = 0; i < kProtocols; ++i) {
    to.protocol[i].count += from.protocol[i].count;
    to.protocol[i].bytes += from.protocol[i].bytes;
    result_.mpi_cost[i] += std::clamp(Time{from.protocol[i].cost}, Time{0}, kEndOfTime);
    result_.has_mpi |= from.protocol[i].count != 0;
  }
  to.most_unexpected = std::max(to.most_unexpected, from.most_unexpected);
  for (std::uint64_t MpiSums::*sum :
       {&MpiSums::expected, &MpiSums::unexpected, &MpiSums::compared, &MpiSums::copied, &MpiSums::reordered,
        &MpiSums::stalls, &MpiSums::credits_grown, &MpiSums::registrations})
    to.*sum += from.*sum;
}

void Simulation::plan(std::uint32_t rank, std::uint32_t lane, Time at) {
  LaneBook& book = processes_[rank].lanes[lane];
  if (at >= book.wake) return;
  book.wake = at;
  plans_.push_back({at, rank, lane, book.turn});
  std::push_heap(plans_.begin(), plans_.end());
}

void Simulation::plan_wait(std::uint32_t rank, std::uint32_t index) {
  Process& p = processes_[rank];
  LaneBook& lane = p.lanes[index];
  const Request& r = lane.request;
  if (r.deadline != kNever) plan(rank, index, r.deadline);
  if (names_files(r) && !watch_files(rank, index)) {
    lane.result = -ENOSYS;
    if (r.call == Call::Files) plan(rank, index, r.clock);
  }
  if (r.call == Call::Sleep || r.call == Call::Yield || r.call == Call::YieldUntil) return;
  if (r.call == Call::Room || r.call == Call::Stall) {
    bool known = r.port < kPortsPerProcess && p.ports[r.port].open;
    if (!known || !p.segment->queue_full(r.port)) plan(rank, index, r.clock);
    return;
  }
  for (unsigned i = 0; i < kPortsPerProcess; ++i) {
    if (!p.ports[i].open || !names_port(r.port, i)) continue;
    Time there{0};
    if (p.segment->has_message(i, there)) plan(rank, index, std::max(r.clock, there));
    if (p.segment->has_event(i, there)) plan(rank, index, std::max(r.clock, there));
  }
}

/// Threads of a process change each other's memory while they run. So those that look for a change, or wait
/// for what another may hold, look again when one has run: always where it had found something, otherwise a
/// few times, or two that find nothing would wake each other for ever.
void Simulation::nudge_others(std::uint32_t rank, std::uint32_t index) {
  Process& p = processes_[rank];
  if (p.joins == 0) return;
  for (std::uint32_t i = 0; i < kLanes; ++i)
    if (i != index && looks(p.lanes[i].request.call)) nudge(rank, i, p.lanes[index]);
}

void Simulation::nudge(std::uint32_t rank, std::uint32_t index, const LaneBook& ran) {
  constexpr unsigned kMostNudges = 2;
  LaneBook& other = processes_[rank].lanes[index];
  if (other.state != State::Waiting || other.acting) return;
  const bool only_looked = ran.state == State::Waiting && looks(ran.request.call) && !ran.request.argument[0];
  if (!only_looked) {
    other.nudges = 0;
  } else if (other.nudges++ >= kMostNudges) {
    return;
  }
  plan(rank, index, std::max(other.request.clock, ran.request.clock));
}

/// The same among ranks of a node that have memory in common.
void Simulation::nudge_node(std::uint32_t rank, std::uint32_t index) {
  const Process& p = processes_[rank];
  for (std::uint32_t other = p.turn; other < processes_.size(); ++other) {
    Process& mate = processes_[other];
    if (other == rank || mate.turn != p.turn || mate.ended) continue;
    for (std::uint32_t i = 0; i < kLanes; ++i)
      if (mate.lanes[i].request.call == Call::Pause && mate.lanes[i].request.argument[1])
        nudge(other, i, p.lanes[index]);
  }
}

/// Has it opened sockets?
bool Simulation::talks(std::uint32_t rank) const {
  constexpr std::uint32_t kTalks = 2;
  return processes_[rank].segment->header().shares.load(std::memory_order_relaxed) & kTalks;
}

/// Ranks of a node that have memory in common run one after the other, as threads of one process do: what
/// they see of each other must not depend on the system. So do ranks that talk over sockets.
void Simulation::take_turns_by_node(std::uint32_t rank) {
  const bool with_talkers = talks(rank);
  std::vector<bool> together(processes_.size(), false);
  std::uint32_t first = processes_[rank].turn;
  for (std::uint32_t other = 0; other < processes_.size(); ++other) {
    Process& p = processes_[other];
    if (p.nic != processes_[rank].nic && !(with_talkers && talks(other))) continue;
    together[p.turn] = true;
    first = std::min(first, p.turn);
    if (p.nic == processes_[rank].nic) p.shares = true;
  }
  for (Process& p : processes_)
    if (together[p.turn]) p.turn = first;
}

bool Simulation::watch_files(std::uint32_t rank, std::uint32_t index) {
  constexpr std::uint64_t kMost = 4096;
  Process& p = processes_[rank];
  const Request& r = p.lanes[index].request;
  if (r.argument[2] == 0 || r.argument[2] > kMost) return false;
  std::vector<pollfd> named(r.argument[2]);
  if (!read_memory(p.owner, r.argument[1], named.data(), named.size() * sizeof(pollfd))) return false;
  return files_.borrow(p.owner, file_owner(rank, index), named);
}

/// Those whose files are ready go on, no earlier than this. False where there are none.
bool Simulation::see_files(Time at, int milliseconds) {
  if (files_.empty()) return false;
  bool any = false;
  for (std::uint64_t owner : files_.ready(milliseconds)) {
    auto rank = static_cast<std::uint32_t>(owner >> 8), lane = static_cast<std::uint32_t>(owner & 255);
    LaneBook& book = processes_[rank].lanes[lane];
    if (book.state != State::Waiting) continue;
    last_activity_ = fabric_->now();
    plan(rank, lane, std::max(book.request.clock, at));
    any = true;
  }
  return any;
}

void Simulation::wake_waiters(std::uint32_t rank, unsigned port, Time at, bool slot) {
  last_activity_ = at;
  Process& p = processes_[rank];
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    LaneBook& lane = p.lanes[i];
    if (lane.state == State::Absent) {
      if (i >= p.joins) break;  // lanes are taken from the front
      continue;
    }
    if (lane.state != State::Waiting || lane.acting) continue;
    bool any = lane.request.call == Call::Wait || lane.request.call == Call::Spin ||
               lane.request.call == Call::Pause || lane.request.call == Call::Files || lane.meeting;
    bool room = lane.request.call == Call::Room || lane.request.call == Call::Stall;
    if (!any && !(slot && room)) continue;
    if (!names_port(lane.request.port, port)) continue;
    if (slot && !p.segment->queue_full(port)) continue;  // there was room all the time
    lane.nudges = 0;
    plan(rank, i, std::max(lane.request.clock, at));
  }
}

void Simulation::advance() {
  horizon_ = kNever;
  runnable_.clear();
  in_turn_.assign(processes_.size(), false);
  find_runnable();
  for (const Plan& plan : std::exchange(deferred_, {})) {
    plans_.push_back(plan);
    std::push_heap(plans_.begin(), plans_.end());
  }
}

void Simulation::find_runnable() {
  while (!failed_) {
    while (!plans_.empty()) {  // out-of-date plans
      const Plan& top = plans_.front();
      const LaneBook& lane = processes_[top.rank].lanes[top.lane];
      if (lane.turn == top.turn && lane.state == State::Waiting && lane.wake == top.at) break;
      std::pop_heap(plans_.begin(), plans_.end());
      plans_.pop_back();
    }
    Time next = plans_.empty() ? kNever : plans_.front().at;
    Time last = horizon_ == kNever ? kNever : horizon_ - Time{1};
    Time limit = std::min(next, last);
    if (fabric_->now() < limit) {
      if (limit == kNever && fabric_->idle()) return;
      bool told = fabric_->advance(limit);
      if (leaving_) check_leaving();
      if (told) continue;
      if (limit == kNever) return;
    }
    if (next > last || next > fabric_->now()) return;
    Plan plan = plans_.front();
    std::pop_heap(plans_.begin(), plans_.end());
    plans_.pop_back();
    LaneBook& lane = processes_[plan.rank].lanes[plan.lane];
    // Threads of a process run one after the other.
    const std::uint32_t turn = processes_[plan.rank].turn;
    if (!lane.acting && in_turn_[turn]) {
      deferred_.push_back(plan);
      horizon_ = std::min(horizon_, plan.at + look_ahead_);
      continue;
    }
    lane.wake = kNever;
    if (lane.acting) {
      act(plan.rank, plan.lane);
      continue;
    }
    if (std::exchange(lane.meeting, false)) {  // the others are not there yet, but something has arrived
      --meeting_;
      lane.result = -EAGAIN;
    }
    if (looks(lane.request.call) && plan.at >= lane.request.deadline && only_polling()) {
      fail("deadlock: for a minute of virtual time ranks have polled and nothing has happened");
      return;
    }
    if (lane.request.call == Call::Wait && plan.at >= lane.request.deadline) {
      Time there{0};
      bool any = false;
      Process& p = processes_[plan.rank];
      for (unsigned i = 0; i < kPortsPerProcess; ++i)
        if (p.ports[i].open && names_port(lane.request.port, i))
          any |= p.segment->has_message(i, there) || p.segment->has_event(i, there);
      if (!any) lane.result = -ETIMEDOUT;
    }
    ++lane.turn;
    lane.wake = plan.at;
    runnable_.push_back({plan.rank, plan.lane});
    in_turn_[turn] = true;
    horizon_ = std::min(horizon_, plan.at + look_ahead_);
  }
}

void Simulation::grant() {
  if (runnable_.empty()) return;
  std::sort(runnable_.begin(), runnable_.end());
  bell_->running.fetch_add(static_cast<std::uint32_t>(runnable_.size()), std::memory_order_acq_rel);
  for (LaneRef r : runnable_) {
    Process& p = processes_[r.rank];
    LaneBook& lane = p.lanes[r.lane];
    lane.state = State::Running;
    lane.granted = std::max(lane.wake, lane.request.clock);
    if (r.lane == 0) {
      RankResult& result = result_.ranks[r.rank];
      result.waited = result.waited + (lane.granted - lane.request.clock);
      result.end = lane.granted;
    }
    if (lane.request.call == Call::Stall && lane.request.port < kPortsPerProcess &&
        p.ports[lane.request.port].open)
      fabric_->core_stalled({p.nic, p.ports[lane.request.port].number}, lane.granted - lane.request.clock,
                            p.segment->queue_full(lane.request.port));
    if (names_files(lane.request)) files_.give_back(file_owner(r.rank, r.lane));
    if (on_wait) on_wait(r.rank, r.lane, lane.request.clock, lane.granted, lane.request.call);
    p.segment->grant(r.lane, lane.granted, fabric_->now(), lane.result, lane.answer);
    running_.push_back(r);
  }
  ++result_.rounds;
  result_.grants += runnable_.size();
  runnable_.clear();
}

bool Simulation::read(std::uint32_t owner, std::uint64_t address, void* to, std::uint64_t length) {
  if (processes_[owner].ended) return false;
  errno = 0;
  return read_memory(processes_[owner].owner, address, to, length) || access_failed(owner, errno);
}

/// A process that has unmapped its memory has made a mistake, which its operation tells it. One whose memory
/// the system lets nobody read cannot take part at all. False.
bool Simulation::access_failed(std::uint32_t rank, int error) {
  if (error != EPERM && error != EACCES && error != ENOSYS) return false;
  return fail(fmt::format(
      "the system does not let the simulator reach the memory of rank {}: {} (process_vm_readv). The program "
      "has "
      "protected itself (PR_SET_DUMPABLE), runs as another user, or a container or kernel.yama.ptrace_scope "
      "forbids it",
      rank, std::strerror(error)));
}

bool Simulation::write(std::uint32_t owner, std::uint64_t address, const void* from, std::uint64_t length) {
  Process& p = processes_[owner];
  if (p.ended) return false;
  errno = 0;
  if (!write_memory(p.owner, address, from, length)) return access_failed(owner, errno);
  // Whoever looks at memory there sees it now; so does MPI where it waits for a window to change.
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const LaneBook& lane = p.lanes[i];
    if (lane.state == State::Absent && i >= p.joins) break;  // lanes are taken from the front
    if (lane.state != State::Waiting) continue;
    bool looks = lane.request.call == Call::Pause;
    if (lane.request.call == Call::Spin) {
      Doing doing = doing_of(p.segment->lane(i));
      looks = doing.inside() && call_facts(doing.call()).kind == CallKind::Window;
    }
    if (looks) plan(owner, i, std::max(lane.request.clock, fabric_->now()));
  }
  return true;
}

std::uint32_t Simulation::rank_of(nic::PortRef port) const {
  const auto& ports = owner_of_port_[port.nic];
  return port.port < ports.size() && ports[port.port] != ~0ull
             ? static_cast<std::uint32_t>(ports[port.port] >> 8)
             : kNoRank;
}

void Simulation::message(nic::PortRef port, const nic::Message& message) {
  std::uint64_t owner = owner_of_port_[port.nic][port.port];
  processes_[owner >> 8].segment->push(owner & 255, message);
  wake_waiters(static_cast<std::uint32_t>(owner >> 8), owner & 255, Time{message.time}, false);
}

void Simulation::event(nic::PortRef port, const nic::Event& event) {
  std::uint64_t owner = owner_of_port_[port.nic][port.port];
  processes_[owner >> 8].segment->push(owner & 255, event);
  wake_waiters(static_cast<std::uint32_t>(owner >> 8), owner & 255, Time{event.time}, false);
}

void Simulation::slot_free(nic::PortRef port, Time at) {
  std::uint64_t owner = owner_of_port_[port.nic][port.port];
  auto rank = static_cast<std::uint32_t>(owner >> 8);
  if (!processes_[rank].ports[owner & 255].open) return;
  wake_waiters(rank, owner & 255, at, true);
  processes_[rank].segment->slot_free(owner & 255);
}

}  // namespace weft::host
