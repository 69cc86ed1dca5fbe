// Loads and stores of ranks to memory of other nodes, and the windows they go through.
#include <algorithm>
#include <cerrno>

#include "base/virtual_time.hpp"
#include "host/call_handler.hpp"
#include "nic/load_store.hpp"

namespace weft::host {

using State = Scheduler::State;

namespace {

std::int32_t error_of(nic::Status status) {
  switch (status) {
    case nic::Status::Ok:
      return 0;
    case nic::Status::BadKey:
      return -ENOENT;
    case nic::Status::NoRight:
      return -EPERM;
    case nic::Status::BadRange:
      return -EFAULT;
    case nic::Status::NoRoom:
      return -ENOSPC;
    case nic::Status::BadNode:
    case nic::Status::Unreachable:
      return -EHOSTUNREACH;
    default:
      return -EINVAL;
  }
}

nic::LoadStore::Window window_of(const Request& r) {
  using By = nic::LoadStore::By;
  nic::LoadStore::Window out;
  out.node = static_cast<std::uint32_t>(r.argument[0]);
  out.share = static_cast<std::uint32_t>(std::min<std::uint64_t>(r.argument[1], ~0u));
  out.size = r.argument[2];
  out.by = r.argument[3] == 1 ? By::Mask : r.argument[3] == 2 ? By::Unchanged : By::Interval;
  return out;
}

}  // namespace

void CallHandler::act_on_window(ThreadRef t, Time begin) {
  const Request& r = request(t);
  Answer& a = answer(t);
  scheduler_.set_stage(t, Scheduler::Stage::Waits);
  if (!ports_.is_open(t.rank, r.port)) {
    a.result = -EBADF;
    return scheduler_.plan(t, later(begin, costs_.system_call));
  }
  const nic::PortRef port = ports_.port(t.rank, r.port);
  nic::LoadStore& unit = fabric_.load_store(port.nic);
  std::uint32_t number = 0;
  const auto named = static_cast<std::uint32_t>(std::min<std::uint64_t>(r.argument[0], ~0u));
  nic::Status status = nic::Status::Ok;
  Time cost = costs_.system_call;
  switch (r.call) {
    case Call::Share:
      status = unit.share(port.port, r.argument[0], r.argument[1], r.argument[2], number);
      break;
    case Call::Unshare:
      status = unit.unshare(port.port, named);
      break;
    case Call::Map:
      status = unit.map(port.port, window_of(r), number);
      break;
    case Call::Unmap:
      status = unit.unmap(port.port, named);
      break;
    case Call::Store:
      status = unit.store(port.port, named, r.argument[1], static_cast<std::uint32_t>(r.argument[3] & 15),
                          r.argument[2], begin);
      cost = costs_.post;
      break;
    default:
      status = unit.load(port.port, named, r.argument[1], static_cast<std::uint32_t>(r.argument[2] & 15),
                         begin, std::uint64_t{t.rank} << 8 | t.thread);
      if (status == nic::Status::Ok) {
        a.result = 0;
        return;  // goes on when the answer is here
      }
  }
  a.result = error_of(status);
  a.value[0] = number;
  scheduler_.plan(t, later(begin, cost));
}

void CallHandler::loaded(std::uint64_t token, nic::Status status, std::uint64_t value) {
  const ThreadRef t{static_cast<std::uint32_t>(token >> 8), static_cast<std::uint32_t>(token & 255)};
  if (scheduler_.thread(t).state != State::Waiting || request(t).call != Call::Load) return;  // killed
  answer(t).result = error_of(status);
  answer(t).value[0] = value;
  scheduler_.note_activity(fabric_.now());
  scheduler_.plan(t, std::max(request(t).clock, fabric_.now()));
}

}  // namespace weft::host
