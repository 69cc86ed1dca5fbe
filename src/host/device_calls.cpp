// What ranks do with the devices of their node: look them up, read and write their registers, wait for their
// interrupts.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/virtual_time.hpp"
#include "host/call_handler.hpp"

namespace weft::host {

using Stage = Scheduler::Stage;
using State = Scheduler::State;

void CallHandler::act_on_device(ThreadRef t, Time begin) {
  const Request& r = request(t);
  const nic::NicId nic = ports_.nic(t.rank);
  node::Node& site = fabric_.site(nic);
  Answer& a = answer(t);
  scheduler_.set_stage(t, Stage::Waits);
  if (r.call == Call::DeviceOpen) {
    char name[sizeof r.argument + 1] = {};
    std::memcpy(name, r.argument, sizeof r.argument);
    const node::DeviceId device = site.find(name);
    a.result = device < site.devices() ? 0 : -ENODEV;
    a.value[0] = device;
    return scheduler_.plan(t, later(begin, costs_.system_call));
  }
  if (r.argument[0] >= site.devices()) {
    a.result = -ENODEV;
    return scheduler_.plan(t, later(begin, costs_.system_call));
  }
  const auto device = static_cast<node::DeviceId>(r.argument[0]);
  a.result = 0;
  switch (r.call) {
    case Call::DeviceRead:  // goes on when the answer is here
      return site.read(device, r.argument[1], begin, std::uint64_t{t.rank} << 8 | t.thread);
    case Call::DeviceWrite:
      site.write(device, r.argument[1], r.argument[2], begin);
      return scheduler_.plan(t, later(begin, costs_.post));
    default:
      break;
  }
  if (unsigned& waiting = unseen_interrupts(nic, device)) {
    --waiting;
    return scheduler_.plan(t, begin);
  }
  a.result = -ETIMEDOUT;
  if (r.deadline != kNever) scheduler_.plan(t, std::max(begin, r.deadline));
}

std::int32_t CallHandler::allocate_on_device(ThreadRef t) {
  const Request& r = request(t);
  const nic::NicId nic = ports_.nic(t.rank);
  node::Node& site = fabric_.site(nic);
  if (r.argument[0] >= site.devices()) return -ENODEV;
  const auto device = static_cast<node::DeviceId>(r.argument[0]);
  const node::OwnMemory* memory = site.device(device).own_memory();
  if (!memory || memory->file < 0) return -ENODEV;
  const DeviceMemory::Mapping* m =
      device_memory_.allocate(t.rank, nic, device, *memory, r.argument[2], r.argument[1]);
  if (!m) return -ENOMEM;
  const auto file = static_cast<std::uint64_t>(static_cast<unsigned>(memory->file));
  answer(t).value = {m->offset, static_cast<std::uint64_t>(getpid()), file, m->is_peer ? 1u : 0u};
  return 0;
}

/// Memory of devices: allocation, copies, and ports that devices use themselves.
void CallHandler::act_on_device_memory(ThreadRef t, Time begin) {
  const Request& r = request(t);
  const nic::NicId nic = ports_.nic(t.rank);
  Answer& a = answer(t);
  scheduler_.set_stage(t, Stage::Waits);
  const Time done = later(begin, costs_.system_call);
  if (r.call == Call::DeviceCopy) {
    const DeviceMemory::Mapping* m = device_memory_.find(t.rank, r.argument[0], r.argument[2]);
    a.result = m ? 0 : -EFAULT;
    if (!m) return scheduler_.plan(t, done);
    const node::Copy copy{r.argument[3] != 0, m->offset + (r.argument[0] - m->address), t.rank, r.argument[1],
                          r.argument[2],      std::uint64_t{t.rank} << 8 | t.thread};
    return fabric_.site(nic).copy(m->device, copy, done);  // goes on when it has ended
  }
  if (r.call == Call::DeviceMemory) {
    a.result = allocate_on_device(t);
  } else if (r.call == Call::DeviceFree) {
    a.result = device_memory_.free(t.rank, r.argument[0]) ? 0 : -EINVAL;
  } else {
    a.result = -EBADF;
    if (ports_.is_open(t.rank, r.port)) {
      const nic::PortRef port = ports_.port(t.rank, r.port);
      const auto device = static_cast<node::DeviceId>(std::min<std::uint64_t>(r.argument[0], ~0u));
      const nic::Status status = fabric_.give_port(port, device);
      a.result = status == nic::Status::Ok ? 0 : status == nic::Status::Busy ? -EBUSY : -ENODEV;
      a.value[0] = port.port;
    }
  }
  scheduler_.plan(t, done);
}

void CallHandler::device_copied(std::uint64_t token, bool well) {
  const ThreadRef t{static_cast<std::uint32_t>(token >> 8), static_cast<std::uint32_t>(token & 255)};
  if (scheduler_.thread(t).state != State::Waiting || request(t).call != Call::DeviceCopy) return;  // killed
  answer(t).result = well ? 0 : -EFAULT;
  scheduler_.note_activity(fabric_.now());
  scheduler_.plan(t, std::max(request(t).clock, fabric_.now()));
}

unsigned& CallHandler::unseen_interrupts(nic::NicId nic, node::DeviceId device) {
  if (interrupts_.size() <= nic) interrupts_.resize(fabric_.nics());
  if (interrupts_[nic].size() <= device) interrupts_[nic].resize(fabric_.site(nic).devices());
  return interrupts_[nic][device];
}

void CallHandler::register_read(std::uint64_t token, std::uint64_t value) {
  const ThreadRef t{static_cast<std::uint32_t>(token >> 8), static_cast<std::uint32_t>(token & 255)};
  if (scheduler_.thread(t).state != State::Waiting || request(t).call != Call::DeviceRead) return;  // killed
  answer(t).value[0] = value;
  scheduler_.note_activity(fabric_.now());
  scheduler_.plan(t, std::max(request(t).clock, fabric_.now()));
}

/// Of several that wait for it, the first by its rank.
void CallHandler::device_interrupt(node::NodeId node, node::DeviceId device) {
  scheduler_.note_activity(fabric_.now());
  for (std::uint32_t rank = 0; rank < scheduler_.ranks(); ++rank) {
    if (fabric_.node(ports_.nic(rank)) != node) continue;
    for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
      const ThreadRef t{rank, i};
      const Scheduler::Thread& thread = scheduler_.thread(t);
      const bool waits = thread.state == State::Waiting && thread.stage == Stage::Waits &&
                         answer(t).result == -ETIMEDOUT && thread.request.call == Call::DeviceWait &&
                         thread.request.argument[0] == device;
      if (!waits) continue;
      answer(t).result = 0;
      return scheduler_.plan(t, std::max(thread.request.clock, fabric_.now()));
    }
  }
  for (nic::NicId nic = 0; nic < fabric_.nics(); ++nic)
    if (fabric_.node(nic) == node) ++unseen_interrupts(nic, device);
}

std::string CallHandler::device_name(std::uint32_t rank, std::uint64_t device) const {
  const node::Node& site = fabric_.site(ports_.nic(rank));
  return device < site.devices() ? site.device(static_cast<node::DeviceId>(device)).name() : "";
}

}  // namespace weft::host
