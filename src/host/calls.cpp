// What ranks ask the simulator for, beside data: ports, memory, addresses; and what to say when nothing goes
// on.
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/text.hpp"
#include "base/virtual_time.hpp"
#include "host/simulation.hpp"

namespace weft::host {

namespace {

constexpr Time kQuietForever{60'000'000'000'000};  // a minute in which ranks only polled

std::int32_t error_of(nic::Status status) {
  switch (status) {
    case nic::Status::Ok:
      return 0;
    case nic::Status::NoRoom:
      return -ENOSPC;
    case nic::Status::BadKey:
      return -ENOENT;
    case nic::Status::NoRight:
      return -EPERM;
    case nic::Status::Busy:
      return -EBUSY;
    default:
      return -EINVAL;
  }
}

}  // namespace

std::string time_text(double picoseconds) {
  struct Unit {
    double size;
    const char* name;
  };
  for (Unit unit : {Unit{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}})
    if (picoseconds >= unit.size) return fmt::format("{:.6g} {}", picoseconds / unit.size, unit.name);
  return fmt::format("{:.6g} ns", picoseconds / 1e3);
}

std::string time_text(Time time) { return time_text(static_cast<double>(time.value)); }

/// Carries out a call at its time; the answer comes when its cost has passed.
void Simulation::act(std::uint32_t rank, std::uint32_t index) {
  Process& p = processes_[rank];
  LaneBook& lane = p.lanes[index];
  const Request& r = lane.request;
  Time cost = call_cost_, begin = std::max(r.clock, fabric_->now() - look_ahead_);
  std::uint64_t length = 0;
  bool port_known = r.port < kPortsPerProcess && p.ports[r.port].open;
  nic::PortRef ref{p.nic, port_known ? p.ports[r.port].number : 0};
  lane.result = -EBADF;
  switch (r.call) {
    case Call::Open:
      lane.result = open_port(rank, lane);
      if (r.argument[1] == 1) cost = Time{0};
      break;
    case Call::Meet:
      return meet(rank, index);
    case Call::Close:
      if (!port_known) break;
      [[fallthrough]];
    case Call::Leave:
      lane.acting = false;
      lane.leaving = true;
      lane.result = 0;
      ++leaving_;
      return check_leaving();
    case Call::Register:
      if (!port_known) break;
      lane.result = error_of(
          fabric_->register_memory(ref, r.argument[0], r.argument[1],
                                   static_cast<std::uint32_t>(std::min<std::uint64_t>(r.argument[2], ~0u)),
                                   lane.answer[0], r.argument[3]));
      if (lane.result == 0)
        cost = later(
            cost, fabric_->registration_time(p.nic, begin + cost,
                                             r.argument[3] ? r.argument[3] : r.argument[0], r.argument[1]));
      break;
    case Call::MoveMemory:
      cost = Time{0};
      if (port_known) lane.result = error_of(fabric_->move_memory(ref, r.argument[0], r.argument[1]));
      break;
    case Call::Unregister:
      if (!port_known) break;
      lane.result = error_of(fabric_->unregister_memory(ref, r.argument[0], &length));
      if (lane.result == 0) cost = later(cost, fabric_->unregistration_time(p.nic, begin + cost, length));
      break;
    case Call::Join:
      if (port_known)
        lane.result = error_of(fabric_->join_domain(
            ref, static_cast<std::uint32_t>(std::min<std::uint64_t>(r.argument[0], ~0u))));
      break;
    case Call::RegisterGlobal:
      if (!port_known) break;
      lane.result = error_of(fabric_->register_global(
          ref, r.argument[0], r.argument[1],
          static_cast<std::uint32_t>(std::min<std::uint64_t>(r.argument[2], ~0u)), lane.answer[0]));
      if (lane.result == 0)
        cost = later(cost, fabric_->registration_time(p.nic, begin + cost, r.argument[0], r.argument[1]));
      break;
    case Call::UnregisterGlobal:
      if (!port_known) break;
      lane.result = error_of(fabric_->unregister_global(ref, r.argument[0], &length));
      if (lane.result == 0) cost = later(cost, fabric_->unregistration_time(p.nic, begin + cost, length));
      break;
    case Call::MoveGlobal:
      if (!port_known) break;
      lane.result = error_of(fabric_->move_global(ref, r.argument[0], r.argument[1], length));
      if (lane.result == 0)
        cost = later(cost, fabric_->registration_time(p.nic, begin + cost, r.argument[1], length));
      break;
    case Call::Physical:
      if (port_known)
        lane.result = error_of(fabric_->physical_address(ref, r.argument[0], r.argument[1], lane.answer[0]));
      break;
    case Call::LookUp:
      return look_up(rank, lane);
    case Call::DeviceOpen:
    case Call::DeviceRead:
    case Call::DeviceWrite:
    case Call::DeviceWait:
      return act_on_device(rank, index, begin);
    default:
      break;
  }
  lane.acting = false;
  plan(rank, index, later(begin, cost));
}

std::int32_t Simulation::open_port(std::uint32_t rank, LaneBook& lane) {
  Process& p = processes_[rank];
  // Another process of this rank may have taken its place, but only one of its own.
  pid_t owner = p.segment->header().owner.load();
  if (owner != p.owner) {
    if (!belongs_to(owner, p.pid)) return -EPERM;
    p.owner = owner;
  }
  unsigned index = 0;
  while (index < kPortsPerProcess && p.ports[index].open) ++index;
  if (index == kPortsPerProcess) return -ENOSPC;
  nic::PortNo number = 0;
  auto as = static_cast<OpenAs>(lane.request.argument[0]);
  std::uint64_t slots = std::min<std::uint64_t>(lane.request.argument[2], ~0u);
  nic::Status status = as == OpenAs::Kernel ? fabric_->open_for_kernel(p.nic, rank, number)
                                            : fabric_->open(p.nic, rank, as == OpenAs::MemoryQueue, number,
                                                            static_cast<unsigned>(slots));
  if (status != nic::Status::Ok) return error_of(status);
  auto& owners = owner_of_port_[p.nic];
  if (owners.size() <= number) owners.resize(number + 1, ~0ull);
  owners[number] = std::uint64_t{rank} << 8 | index;
  unsigned ring_slots = fabric_->ring_slots({p.nic, number});
  p.segment->open(index, ring_slots);
  p.ports[index] = {true, number};
  lane.answer[0] = index;
  lane.answer[1] = fabric_->node(p.nic);
  lane.answer[2] = number;
  lane.answer[3] = ring_slots;
  answer_lookups(rank);
  return 0;
}

void Simulation::close_ports(Process& p) {
  for (PortBook& port : p.ports) {
    if (port.open) fabric_->close({p.nic, port.number});
    port.open = false;
  }
}

/// Answered when all ranks have come: all go on at once.
void Simulation::meet(std::uint32_t rank, std::uint32_t index) {
  LaneBook& lane = processes_[rank].lanes[index];
  lane.acting = false;
  lane.meeting = true;
  meeting_time_ = std::max(meeting_time_, lane.request.clock);
  if (++meeting_ < processes_.size()) return plan_wait(rank, index);
  Time at = std::max(meeting_time_, fabric_->now() - look_ahead_);
  meeting_ = 0;
  for (std::uint32_t other = 0; other < processes_.size(); ++other)
    for (std::uint32_t i = 0; i < kLanes; ++i)
      if (std::exchange(processes_[other].lanes[i].meeting, false)) plan(other, i, at);
}

/// Answered when the other rank has opened that port, or can no longer do so.
void Simulation::look_up(std::uint32_t rank, LaneBook& lane) {
  std::uint64_t other = lane.request.argument[0], index = lane.request.argument[1];
  bool known = other < processes_.size() && index < kPortsPerProcess;
  Process* p = known ? &processes_[other] : nullptr;
  if (p && !p->ports[index].open && !p->left) {
    lane.looking_up = true;
    return;
  }
  lane.looking_up = lane.acting = false;
  lane.result = !p ? -EINVAL : p->ports[index].open ? 0 : -ECONNREFUSED;
  if (lane.result == 0) {
    lane.answer[0] = fabric_->node(p->nic);
    lane.answer[1] = p->ports[index].number;
  }
  auto at = static_cast<std::uint32_t>(&lane - processes_[rank].lanes.data());
  plan(rank, at, std::max(lane.request.clock, fabric_->now()));
}

void Simulation::answer_lookups(std::uint32_t rank) {
  for (std::uint32_t asker = 0; asker < processes_.size(); ++asker)
    for (LaneBook& lane : processes_[asker].lanes)
      if (lane.looking_up && lane.state == State::Waiting && lane.request.argument[0] == rank)
        look_up(asker, lane);
}

/// A port is closed, and a rank ends, when the work posted there is done: until then its memory is needed.
void Simulation::check_leaving() {
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank)
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      Process& p = processes_[rank];
      LaneBook& lane = p.lanes[i];
      if (!lane.leaving) continue;
      bool closing = lane.request.call == Call::Close, busy = false;
      for (unsigned port = 0; port < kPortsPerProcess; ++port)
        busy |= p.ports[port].open && (!closing || port == lane.request.port) &&
                fabric_->busy({p.nic, p.ports[port].number});
      if (busy) continue;
      lane.leaving = false;
      --leaving_;
      if (closing && p.ports[lane.request.port].open) {
        PortBook& port = p.ports[lane.request.port];
        fabric_->close({p.nic, port.number});
        p.segment->close(lane.request.port);
        port.open = false;
      }
      // Where MPI ends, ranks close their ports when they come to it in real time: it takes none here.
      bool free = closing && lane.request.argument[0] == 1;
      Time cost = closing && !free ? call_cost_ : Time{0};
      plan(rank, i, std::max(lane.request.clock, fabric_->now() - (free ? look_ahead_ : Time{0})) + cost);
    }
}

/// Has nothing happened for long, and will nothing happen but more polling?
bool Simulation::only_polling() const {
  if (!fabric_->idle() || !outside_.empty() || !files_.empty() ||
      fabric_->now() - last_activity_ < kQuietForever)
    return false;
  for (const Process& p : processes_)
    for (const LaneBook& lane : p.lanes) {
      if (lane.state == State::Running) return false;
      if (lane.state != State::Waiting || lane.looking_up) continue;
      bool polls = (looks(lane.request.call) && lane.request.call != Call::YieldUntil) ||
                   lane.request.deadline == Time{kNoDeadline};
      if (lane.acting || !polls) return false;
    }
  return true;
}

/// Nobody can go on. True where that is the end: a deadlock, or a failure met meanwhile.
bool Simulation::stuck() {
  if (failed_) return true;
  auto since = std::chrono::steady_clock::now();
  for (bool told = false;;) {
    bool others = !outside_.empty() || !files_.empty();
    for (Process& p : processes_) {
      if (p.ended) continue;
      if (p.left) others = true;  // about to end
      unsigned lanes = 0;
      for (LaneBook& lane : p.lanes) lanes += lane.state == State::Waiting || lane.state == State::Asleep;
      if (!others && lanes && threads_of(p.owner) > lanes) others = true;  // a thread that may yet join
    }
    if (!others) {
      fail("deadlock: every rank waits and nothing is under way");
      return true;
    }
    if (!files_.empty()) {
      // What one of them sent is seen no earlier than it was sent, however long the system takes for it.
      if (see_files(talked_until_, 1)) return false;
    } else {
      timespec most{0, 5'000'000};
      syscall(SYS_futex, &bell_->running, FUTEX_WAIT, 0, &most, nullptr, 0);
    }
    output_->pass_on();
    tell_progress();
    unsigned alive = alive_;
    if (!watch_processes() || left_behind()) return true;
    if (interrupted()) {
      fail("interrupted");
      return true;
    }
    auto any_is_not = [&](const std::vector<LaneRef>& lanes, LaneState state) {
      return std::any_of(lanes.begin(), lanes.end(),
                         [&](LaneRef r) { return processes_[r.rank].segment->state(r.lane) != state; });
    };
    bool back = alive != alive_ || any_is_not(outside_, LaneState::External) ||
                any_is_not(asleep_, LaneState::Asleep);
    for (Process& p : processes_) back |= p.segment->header().joins.load() != p.joins;
    if (back) return false;
    if (!told && std::chrono::steady_clock::now() - since > std::chrono::seconds(10)) {
      told = true;
      fmt::print(stderr,
                 "weft: for 10 s all ranks have waited for something outside of the simulated network\n");
      for (std::uint32_t rank = 0; rank < processes_.size() && rank < 8; ++rank)
        fmt::print(stderr, "  rank {}: {}\n", rank, wait_text(rank));
    }
  }
}

std::string Simulation::wait_text(std::uint32_t rank) const {
  const Process& p = processes_[rank];
  const RankResult& result = result_.ranks[rank];
  if (p.ended) return result.ending.text();
  std::string text;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const LaneBook& lane = p.lanes[i];
    std::string what;
    switch (lane.state) {
      case State::Absent:
        continue;
      case State::Running:
        what = activity_text(activity_of(p.owner, thread_of(p, i)));
        break;
      case State::Asleep:
        what = "waits for another of its threads";
        break;
      case State::Outside: {
        Activity activity = activity_of(p.owner, thread_of(p, i));
        what = activity.kind == Activity::Sleeps && activity.call >= 0
                   ? activity_text(activity) + " for something outside"
                   : "waits for something outside";
        break;
      }
      case State::Gone:
        what = "is about to end";
        break;
      case State::Waiting: {
        const Request& r = lane.request;
        std::string whom = r.for_rank < processes_.size() ? fmt::format(" from rank {}", r.for_rank) : "";
        switch (r.call) {
          case Call::Wait:
            what = "waits for a message or an event" + whom;
            break;
          case Call::Spin:
            what = "polls for a message or an event" + whom;
            break;
          case Call::Sleep:
            what = fmt::format("sleeps until {}", time_text(r.deadline));
            break;
          case Call::LookUp:
            what = fmt::format("waits for rank {} to open its port", r.argument[0]);
            break;
          case Call::Leave:
            what = "waits for its last operations to be done";
            break;
          case Call::Yield:
            what = "waits for a lock of another thread";
            break;
          case Call::YieldUntil:
            what = fmt::format("waits for another of its threads until {}", time_text(r.deadline));
            break;
          case Call::Pause:
            what = "looks at its memory";
            break;
          case Call::Files:
            what = fmt::format("waits in {}", system_call_name(static_cast<long>(r.argument[3])));
            break;
          case Call::Stall:
            what = "stands before its full queue";
            break;
          case Call::Room:
            what = "waits for room in its queue";
            break;
          case Call::Meet:
            what = "waits for the other ranks";
            break;
          case Call::DeviceRead:
            what = "reads a register";
            break;
          case Call::DeviceWait:
            what = fmt::format(
                "waits for an interrupt of device '{}'",
                r.argument[0] < fabric_->site(p.nic).devices()
                    ? fabric_->site(p.nic).device(static_cast<node::DeviceId>(r.argument[0])).name()
                    : "");
            break;
          default:
            what = "asks for a port or memory";
        }
        what += fmt::format(", since {}", time_text(r.clock));
      }
    }
    if (Doing doing = doing_of(p.segment->lane(i)); doing.inside())
      what = fmt::format("{}: {}", doing_text(doing), what.substr(0, what.find(", since")));
    text += (text.empty() ? "" : "; ") + (i ? fmt::format("thread {} {}", i, what) : what);
  }
  return text;
}

void Simulation::describe_waits() {
  constexpr std::size_t kMost = 32;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    if (rank == kMost) {
      result_.details.push_back(fmt::format("and {} more", processes_.size() - kMost));
      break;
    }
    result_.details.push_back(fmt::format("rank {}: {}", rank, wait_text(rank)));
  }
  // Who waits for whom: follow the names the programs gave until one comes again.
  auto target = [&](std::uint32_t rank) {
    const Process& p = processes_[rank];
    return !p.ended && p.lanes[0].state == State::Waiting && p.lanes[0].request.for_rank < processes_.size()
               ? p.lanes[0].request.for_rank
               : kNoRank;
  };
  for (std::uint32_t first = 0; first < processes_.size(); ++first) {
    std::vector<std::uint32_t> way{first};
    for (std::uint32_t at = target(first); at != kNoRank && way.size() <= processes_.size();
         at = target(at)) {
      if (at == first) {
        std::vector<std::string> names;
        for (std::uint32_t r : way) names.push_back(fmt::format("rank {}", r));
        result_.details.push_back(fmt::format("a circle: {} waits for {}{}", names.front(),
                                              join({names.begin() + 1, names.end()}, ", that for "),
                                              names.size() > 1 ? ", that for the first" : "itself"));
        first = static_cast<std::uint32_t>(processes_.size());
        break;
      }
      way.push_back(at);
    }
  }
  for (nic::NicId nic = 0; nic < fabric_->nics(); ++nic)
    for (const std::string& line : fabric_->pending(nic))
      if (result_.details.size() < 2 * kMost)
        result_.details.push_back(fmt::format("interface of node {}: {}", fabric_->node(nic), line));
  if (!network_.idle())
    for (const std::string& line : network_.explain()) result_.details.push_back("network: " + line);
}

}  // namespace weft::host
