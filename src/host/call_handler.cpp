#include "host/call_handler.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/virtual_time.hpp"
#include "host/storage_calls.hpp"

namespace weft::host {

using Stage = Scheduler::Stage;
using State = Scheduler::State;

namespace {

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

std::uint32_t word(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, ~0u));
}

std::uint64_t file_owner(ThreadRef r) { return std::uint64_t{r.rank} << 8 | r.thread; }

}  // namespace

CallHandler::CallHandler(nic::Fabric& fabric, RankPorts& ports, Scheduler& scheduler, Supervisor& supervisor,
                         Costs costs)
    : fabric_(fabric),
      ports_(ports),
      scheduler_(scheduler),
      supervisor_(supervisor),
      costs_(costs),
      answers_(std::size_t{scheduler.ranks()} * kThreads),
      left_(scheduler.ranks(), false) {}

void CallHandler::begin(ThreadRef r) {
  answer(r).result = 0;
  if (scheduler_.thread(r).stage == Stage::Acts) {
    scheduler_.plan(r, request(r).clock);
  } else {
    wait(r);
  }
}

/// What ends a wait, as far as it is known when it begins.
void CallHandler::wait(ThreadRef t) {
  const Request& r = request(t);
  if (r.deadline != kNever) scheduler_.plan(t, r.deadline);
  if (names_files(r) && !watch_files(t)) {
    answer(t).result = -ENOSYS;
    if (r.call == Call::Files) scheduler_.plan(t, r.clock);
  }
  if (r.call == Call::Sleep || r.call == Call::Yield || r.call == Call::YieldUntil) return;
  if (r.call == Call::Room || r.call == Call::Stall) {
    if (!ports_.is_open(t.rank, r.port) || !ports_.queue_full(t.rank, r.port)) scheduler_.plan(t, r.clock);
    return;
  }
  Time there = ports_.first_entry(t.rank, r.port);
  if (there != kNever) scheduler_.plan(t, std::max(r.clock, there));
}

void CallHandler::act(ThreadRef t) {
  const Request& r = request(t);
  Time cost = costs_.system_call, begin = std::max(r.clock, fabric_.now() - costs_.look_ahead);
  answer(t).result = -EBADF;
  switch (r.call) {
    case Call::Open:
      answer(t).result = open_port(t);
      if (r.argument[1] == 1) cost = Time{0};
      break;
    case Call::Meet:
      return meet(t);
    case Call::Close:
      if (!ports_.is_open(t.rank, r.port)) break;
      return leave(t);
    case Call::Leave:
      return leave(t);
    case Call::LookUp:
      return look_up(t);
    case Call::DeviceOpen:
    case Call::DeviceRead:
    case Call::DeviceWrite:
    case Call::DeviceWait:
      return act_on_device(t, begin);
    case Call::DeviceMemory:
    case Call::DeviceFree:
    case Call::DeviceCopy:
    case Call::DevicePort:
      return act_on_device_memory(t, begin);
    case Call::Share:
    case Call::Unshare:
    case Call::Map:
    case Call::Unmap:
    case Call::Load:
    case Call::Store:
      return act_on_window(t, begin);
    case Call::Storage:
      answer(t).result = -ENOSYS;
      if (!storage_) break;
      scheduler_.set_stage(t, Stage::Waits);
      return storage_->begin(t, begin);
    default:
      if (r.call == Call::MoveMemory) cost = Time{0};
      if (ports_.is_open(t.rank, r.port)) cost = act_on_memory(t, begin);
  }
  scheduler_.set_stage(t, Stage::Waits);
  scheduler_.plan(t, later(begin, cost));
}

/// Calls about memory and protection domains; what one costs.
Time CallHandler::act_on_memory(ThreadRef t, Time begin) {
  const Request& r = request(t);
  const nic::PortRef ref = ports_.port(t.rank, r.port);
  Answer& a = answer(t);
  Time cost = costs_.system_call;
  std::uint64_t length = 0;
  auto settled = [&](nic::Status status) { return (a.result = error_of(status)) == 0; };
  auto with_registration = [&](std::uint64_t address, std::uint64_t bytes) {
    return later(cost, fabric_.registration_time(ref.nic, begin + cost, address, bytes));
  };
  auto with_unregistration = [&] {
    return later(cost, fabric_.unregistration_time(ref.nic, begin + cost, length));
  };
  switch (r.call) {
    case Call::Register:
      if ((a.result = register_memory(t)) == 0)
        return with_registration(r.argument[3] ? r.argument[3] : r.argument[0], r.argument[1]);
      break;
    case Call::MoveMemory:
      if (const DeviceMemory::Mapping* m = device_memory_.find(t.rank, r.argument[1], 1))
        settled(fabric_.move_memory(ref, r.argument[0], m->offset + (r.argument[1] - m->address)));
      else
        settled(fabric_.move_memory(ref, r.argument[0], r.argument[1]));
      return Time{0};
    case Call::Unregister:
      if (settled(fabric_.unregister_memory(ref, r.argument[0], &length))) return with_unregistration();
      break;
    case Call::EnableInterrupts:
      fabric_.enable_interrupts(ref, word(r.argument[0]));
      break;
    case Call::Join:
      settled(fabric_.join_domain(ref, word(r.argument[0])));
      break;
    case Call::RegisterGlobal:
      a.result = -EOPNOTSUPP;
      if (device_memory_.touches(t.rank, r.argument[0], r.argument[1])) break;
      if (settled(
              fabric_.register_global(ref, r.argument[0], r.argument[1], word(r.argument[2]), a.value[0])))
        return with_registration(r.argument[0], r.argument[1]);
      break;
    case Call::UnregisterGlobal:
      if (settled(fabric_.unregister_global(ref, r.argument[0], &length))) return with_unregistration();
      break;
    case Call::MoveGlobal:
      a.result = -EOPNOTSUPP;
      if (device_memory_.touches(t.rank, r.argument[1], 1)) break;
      if (settled(fabric_.move_global(ref, r.argument[0], r.argument[1], length)))
        return with_registration(r.argument[1], length);
      break;
    case Call::Physical:
      settled(fabric_.physical_address(ref, r.argument[0], r.argument[1], a.value[0]));
      break;
    default:
      break;
  }
  return cost;
}

/// Of the process, or of a device that it has allocated memory of.
std::int32_t CallHandler::register_memory(ThreadRef t) {
  const Request& r = request(t);
  const nic::PortRef ref = ports_.port(t.rank, r.port);
  std::uint64_t address = r.argument[0];
  node::SpaceId space = node::kNoSpace;
  if (const DeviceMemory::Mapping* m = device_memory_.find(t.rank, address, r.argument[1])) {
    if (!m->is_peer) return -EOPNOTSUPP;
    address = m->offset + (address - m->address);
    space = m->space;
  } else if (device_memory_.touches(t.rank, address, r.argument[1])) {
    return -EINVAL;  // what begins in one memory and ends in another is nobody's
  }
  return error_of(fabric_.register_memory(ref, address, r.argument[1], word(r.argument[2]),
                                          answer(t).value[0], r.argument[3], space));
}

std::int32_t CallHandler::open_port(ThreadRef t) {
  if (!supervisor_.follow_owner(t.rank)) return -EPERM;
  const unsigned index = ports_.free_index(t.rank);
  if (index == kPortsPerProcess) return -ENOSPC;
  const nic::NicId nic = ports_.nic(t.rank);
  nic::PortNo number = 0;
  auto as = static_cast<OpenAs>(request(t).argument[0]);
  const unsigned slots = word(request(t).argument[2]);
  nic::Status status = as == OpenAs::Kernel
                           ? fabric_.open_for_kernel(nic, t.rank, number)
                           : fabric_.open(nic, t.rank, as == OpenAs::MemoryQueue, number, slots);
  if (status != nic::Status::Ok) return error_of(status);
  const unsigned ring_slots = ports_.open(t.rank, index, number);
  answer(t).value = {index, fabric_.node(nic), number, ring_slots};
  answer_lookups(t.rank);
  return 0;
}

/// A port is closed, and a rank ends, when the work posted there is done: until then its memory is needed.
void CallHandler::leave(ThreadRef t) {
  scheduler_.set_stage(t, Stage::Leaves);
  answer(t).result = 0;
  ++leaving_;
  check_leaving();
}

void CallHandler::check_leaving() {
  if (leaving_ == 0) return;
  for (std::uint32_t rank = 0; rank < scheduler_.ranks(); ++rank)
    for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
      const ThreadRef t{rank, i};
      if (scheduler_.thread(t).stage != Stage::Leaves) continue;
      const Request& r = request(t);
      const bool closing = r.call == Call::Close;
      if (ports_.busy(rank, closing ? r.port : kAnyPort)) continue;
      scheduler_.set_stage(t, Stage::Waits);
      --leaving_;
      if (closing) ports_.close(rank, r.port);
      // Where MPI ends, ranks close their ports when they come to it in real time: it takes none here.
      const bool free = closing && r.argument[0] == 1;
      const Time cost = closing && !free ? costs_.system_call : Time{0};
      scheduler_.plan(t, std::max(r.clock, fabric_.now() - (free ? costs_.look_ahead : Time{0})) + cost);
    }
}

/// Answered when all ranks have come: all go on at once.
void CallHandler::meet(ThreadRef t) {
  scheduler_.set_stage(t, Stage::Meets);
  meeting_time_ = std::max(meeting_time_, request(t).clock);
  if (++meeting_ < scheduler_.ranks()) return wait(t);
  const Time at = std::max(meeting_time_, fabric_.now() - costs_.look_ahead);
  meeting_ = 0;
  for (std::uint32_t rank = 0; rank < scheduler_.ranks(); ++rank)
    for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
      if (scheduler_.thread({rank, i}).stage != Stage::Meets) continue;
      scheduler_.set_stage({rank, i}, Stage::Waits);
      scheduler_.plan({rank, i}, at);
    }
}

/// Answered when the other rank has opened that port, or can no longer do so.
void CallHandler::look_up(ThreadRef t) {
  const std::uint64_t rank = request(t).argument[0], index = request(t).argument[1];
  const bool known = rank < scheduler_.ranks() && index < kPortsPerProcess;
  const auto other = static_cast<std::uint32_t>(rank);
  const bool open = known && ports_.is_open(other, index);
  if (known && !open && !left_[other]) return scheduler_.set_stage(t, Stage::LooksUp);
  scheduler_.set_stage(t, Stage::Waits);
  Answer& a = answer(t);
  a.result = !known ? -EINVAL : open ? 0 : -ECONNREFUSED;
  if (open) {
    const nic::PortRef port = ports_.port(other, static_cast<unsigned>(index));
    a.value[0] = fabric_.node(port.nic);
    a.value[1] = port.port;
  }
  scheduler_.plan(t, std::max(request(t).clock, fabric_.now()));
}

void CallHandler::answer_lookups(std::uint32_t rank) {
  for (std::uint32_t other = 0; other < scheduler_.ranks(); ++other)
    for (std::uint32_t i = 0; i < scheduler_.threads(other); ++i) {
      const Scheduler::Thread& t = scheduler_.thread({other, i});
      if (t.stage == Stage::LooksUp && t.state == State::Waiting && t.request.argument[0] == rank)
        look_up({other, i});
    }
}

void CallHandler::use_storage(StorageCalls& storage) {
  storage_ = &storage;
  storage.on_answer = [this](ThreadRef t, std::int32_t result, std::uint64_t first, std::uint64_t second,
                             Time at) {
    answer(t) = {result, {first, second, 0, 0}};
    scheduler_.note_activity(fabric_.now());
    scheduler_.plan(t, std::max(request(t).clock, at));
  };
}

void CallHandler::settle(ThreadRef t, Time at) {
  const Request& r = request(t);
  if (scheduler_.thread(t).stage ==
      Stage::Meets) {  // the others are not there yet, but something has arrived
    scheduler_.set_stage(t, Stage::Waits);
    --meeting_;
    answer(t).result = -EAGAIN;
  }
  if (r.call == Call::Wait && at >= r.deadline && ports_.first_entry(t.rank, r.port) == kNever)
    answer(t).result = -ETIMEDOUT;
}

const CallHandler::Answer& CallHandler::grant(ThreadRef t) {
  const Scheduler::Thread& thread = scheduler_.thread(t);
  const Request& r = thread.request;
  if (r.call == Call::Stall && ports_.is_open(t.rank, r.port))
    fabric_.core_stalled(ports_.port(t.rank, r.port), thread.granted - r.clock,
                         ports_.queue_full(t.rank, r.port));
  if (names_files(r)) files_.give_back(file_owner(t));
  return answer(t);
}

void CallHandler::rank_leaves(std::uint32_t rank) {
  left_[rank] = true;
  ports_.abandon(rank);
  answer_lookups(rank);
}

void CallHandler::rank_ended(std::uint32_t rank) {
  for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
    const Stage stage = scheduler_.thread({rank, i}).stage;
    if (stage == Stage::Leaves) --leaving_;
    if (stage == Stage::Meets) --meeting_;
    if (!files_.empty()) files_.give_back(file_owner({rank, i}));
  }
  device_memory_.rank_ended(rank);
  if (storage_) storage_->user_ended(rank);
}

bool CallHandler::watch_files(ThreadRef t) {
  constexpr std::uint64_t kMost = 4096;
  const Request& r = request(t);
  if (r.argument[2] == 0 || r.argument[2] > kMost) return false;
  std::vector<pollfd> named(r.argument[2]);
  const pid_t process = supervisor_.process(t.rank);
  if (!read_memory(process, r.argument[1], named.data(), named.size() * sizeof(pollfd))) return false;
  return files_.borrow(process, file_owner(t), named);
}

bool CallHandler::see_files(Time at, int milliseconds) {
  if (files_.empty()) return false;
  bool any = false;
  for (std::uint64_t owner : files_.ready(milliseconds)) {
    const ThreadRef t{static_cast<std::uint32_t>(owner >> 8), static_cast<std::uint32_t>(owner & 255)};
    if (scheduler_.thread(t).state != State::Waiting) continue;
    scheduler_.note_activity(fabric_.now());
    scheduler_.plan(t, std::max(request(t).clock, at));
    any = true;
  }
  return any;
}

}  // namespace weft::host
