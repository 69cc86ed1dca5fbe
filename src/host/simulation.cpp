#include "host/simulation.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::host {

namespace {

constexpr Time kNever{kNoDeadline};
constexpr long kWatchNanoseconds = 20'000'000;  // how often processes and pipes are looked at meanwhile

volatile sig_atomic_t child_ended = 0;

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
  }
  return "wait";
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

Simulation::Simulation(const machine::Machine& machine, network::Network& network, RunOptions options)
    : machine_(machine),
      network_(network),
      options_(std::move(options)),
      look_ahead_(machine.description.host.write_latency),
      call_cost_(machine.description.host.system_call) {
  std::vector<network::EndpointId> nodes;
  unsigned count = (options_.ranks + options_.per_node - 1) / options_.per_node;
  for (unsigned i = 0; i < count; ++i) nodes.push_back(i);
  fabric_ =
      std::make_unique<nic::Fabric>(machine, network, static_cast<nic::Host&>(*this), nodes, options_.seed);
  owner_of_port_.resize(count);
  raise_file_limit();
  bell_memory_ = SharedMemory("weft-bell", 4096);
  bell_ = new (bell_memory_.at()) Bell;
  output_ = std::make_unique<Output>(options_.ranks, options_.output);
  processes_.resize(options_.ranks);
  for (unsigned rank = 0; rank < options_.ranks; ++rank) {
    Process& p = processes_[rank];
    p.nic = rank / options_.per_node;
    p.segment = std::make_unique<Segment>(machine, rank, options_.ranks, fabric_->node(p.nic));
    p.ports.resize(kPortsPerProcess);
    p.lanes.resize(kLanes);
  }
}

Simulation::~Simulation() {
  for (Process& p : processes_)
    if (p.pid > 0 && !p.ended) kill_rank(p.pid);
  for (Process& p : processes_)
    while (p.pid > 0 && !p.ended && !ending_of(p.pid)) usleep(1000);
}

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
                  output_->out(rank),
                  output_->error(rank),
                  rank,
                  options_.ranks,
                  &p.segment->header().owner};
    p.pid = p.owner = start(program, launch);
    output_->started(rank);
    p.lanes[0].state = State::Running;
    running_.push_back({rank, 0});
    result_.ranks[rank].node = fabric_->node(p.nic);
    ++alive_;
  }
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
  while (!failed_) {
    wait_for_ranks();
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
  }
}

bool Simulation::all_stopped() {
  return std::none_of(running_.begin(), running_.end(), [&](LaneRef r) {
    Process& p = processes_[r.rank];
    return !p.ended && p.segment->state(r.lane) == LaneState::Running;
  });
}

void Simulation::wait_for_ranks() {
  auto since = std::chrono::steady_clock::now();
  bool told = false;
  for (;;) {
    std::uint32_t running = bell_->running.load(std::memory_order_acquire);
    if (running == 0 && all_stopped()) return;
    timespec most{0, running == 0 ? 1'000'000 : kWatchNanoseconds};
    long slept = syscall(SYS_futex, &bell_->running, FUTEX_WAIT, running, &most, nullptr, 0);
    if (slept == 0 && !child_ended) continue;
    if (slept < 0 && errno == EAGAIN) continue;
    // Something has ended, or time has passed.
    output_->gather();
    if (interrupted()) {
      fail("interrupted");
      return;
    }
    if (!watch_processes()) return;
    if (all_stopped()) {
      bell_->running.store(0);  // one that ended could not count itself out
      return;
    }
    if (!told && std::chrono::steady_clock::now() - since > std::chrono::seconds(10)) {
      told = true;
      for (LaneRef r : running_)
        if (!processes_[r.rank].ended && processes_[r.rank].segment->state(r.lane) == LaneState::Running) {
          fmt::print(
              stderr,
              "weft: rank {} has computed for 10 s without asking for anything; the others wait for it. A "
              "loop that only looks at memory never ends: poll or wait in it\n",
              r.rank);
          break;
        }
    }
  }
}

/// False where a rank failed.
bool Simulation::watch_processes() {
  child_ended = 0;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    Process& p = processes_[rank];
    if (p.ended) continue;
    auto ending = ending_of(p.pid);
    if (!ending) continue;
    end_rank(rank, *ending);
    if (!ending->fine())
      return fail(fmt::format("rank {} on node {} {}", rank, fabric_->node(p.nic), ending->text()));
  }
  return true;
}

void Simulation::end_rank(std::uint32_t rank, Ending ending) {
  Process& p = processes_[rank];
  p.ended = true;
  --alive_;
  RankResult& result = result_.ranks[rank];
  result.ended = true;
  result.ending = ending;
  for (LaneBook& lane : p.lanes) {
    if (lane.leaving) --leaving_;
    lane.leaving = false;
    lane.state = State::Gone;
    ++lane.turn;
  }
  std::erase_if(outside_, [&](LaneRef r) { return r.rank == rank; });
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
  for (LaneRef r : std::exchange(outside_, {})) {
    if (processes_[r.rank].segment->state(r.lane) == LaneState::Blocked) {
      ran.push_back(r);
    } else {
      outside_.push_back(r);
    }
  }
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    Process& p = processes_[rank];
    std::uint32_t joins = p.segment->header().joins.load(std::memory_order_acquire);
    if (joins == p.joins || p.ended) continue;
    p.joins = joins;
    for (std::uint32_t lane = 1; lane < kLanes; ++lane)
      if (p.lanes[lane].state == State::Absent && p.segment->state(lane) == LaneState::Blocked)
        ran.push_back({rank, lane});
  }
  std::sort(ran.begin(), ran.end());
  for (LaneRef r : ran)
    if (!processes_[r.rank].ended) collect_lane(r.rank, r.lane);
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
}

void Simulation::collect_lane(std::uint32_t rank, std::uint32_t index) {
  Process& p = processes_[rank];
  LaneBook& lane = p.lanes[index];
  ++lane.turn;
  lane.wake = kNever;
  switch (p.segment->state(index)) {
    case LaneState::Blocked:
      lane.state = State::Waiting;
      lane.request = p.segment->request(index, lane.granted);
      lane.result = 0;
      lane.acting = lane.request.call != Call::Wait && lane.request.call != Call::Spin &&
                    lane.request.call != Call::Sleep;
      result_.end = std::max(result_.end, lane.request.clock);
      break;
    case LaneState::External:
      lane.state = State::Outside;
      outside_.push_back({rank, index});
      break;
    default: {  // it left; a thread's lane may be taken again
      result_.ranks[rank].end = std::max(result_.ranks[rank].end, lane.granted);
      lane.state = index == 0 ? State::Gone : State::Absent;
      if (index == 0) {
        p.left = true;
        close_ports(p);
        answer_lookups(rank);
        // Its end comes at once; ranks then end in an order that does not depend on the system.
        for (int i = 0; i < 1000 && !p.ended; ++i) {
          if (auto ending = ending_of(p.pid)) {
            end_rank(rank, *ending);
            if (!ending->fine())
              fail(fmt::format("rank {} on node {} {}", rank, fabric_->node(p.nic), ending->text()));
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
  if (r.call == Call::Sleep) return;
  for (unsigned i = 0; i < kPortsPerProcess; ++i) {
    if (!p.ports[i].open || (r.port != kAnyPort && r.port != i)) continue;
    Time there{0};
    if (p.segment->has_message(i, there)) plan(rank, index, std::max(r.clock, there));
    if (p.segment->has_event(i, there)) plan(rank, index, std::max(r.clock, there));
  }
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
    if (lane.request.call != Call::Wait && lane.request.call != Call::Spin) continue;
    if (lane.request.port != kAnyPort && lane.request.port != port) continue;
    if (slot && !p.segment->queue_full(port)) continue;  // there was room all the time
    plan(rank, i, std::max(lane.request.clock, at));
  }
}

void Simulation::advance() {
  horizon_ = kNever;
  runnable_.clear();
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
    lane.wake = kNever;
    if (lane.acting) {
      act(plan.rank, plan.lane);
      continue;
    }
    if (lane.request.call == Call::Spin && plan.at >= lane.request.deadline && only_polling()) {
      fail("deadlock: for a minute of virtual time ranks have polled and nothing has happened");
      return;
    }
    if (lane.request.call == Call::Wait && plan.at >= lane.request.deadline) {
      Time there{0};
      bool any = false;
      Process& p = processes_[plan.rank];
      for (unsigned i = 0; i < kPortsPerProcess; ++i)
        if (p.ports[i].open && (lane.request.port == kAnyPort || lane.request.port == i))
          any |= p.segment->has_message(i, there) || p.segment->has_event(i, there);
      if (!any) lane.result = -ETIMEDOUT;
    }
    ++lane.turn;
    lane.wake = plan.at;
    runnable_.push_back({plan.rank, plan.lane});
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
    if (on_wait) on_wait(r.rank, r.lane, lane.request.clock, lane.granted, call_name(lane.request.call));
    p.segment->grant(r.lane, lane.granted, fabric_->now(), lane.result, lane.answer);
    running_.push_back(r);
  }
  ++result_.rounds;
  result_.grants += runnable_.size();
  runnable_.clear();
}

bool Simulation::read(std::uint32_t owner, std::uint64_t address, void* to, std::uint64_t length) {
  return !processes_[owner].ended && read_memory(processes_[owner].owner, address, to, length);
}

bool Simulation::write(std::uint32_t owner, std::uint64_t address, const void* from, std::uint64_t length) {
  return !processes_[owner].ended && write_memory(processes_[owner].owner, address, from, length);
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
