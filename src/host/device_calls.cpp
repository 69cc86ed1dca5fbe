// What ranks do with the devices of their node: look them up, read and write their registers, wait for their
// interrupts.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/simulation.hpp"

namespace weft::host {

void Simulation::act_on_device(std::uint32_t rank, std::uint32_t index, Time begin) {
  Process& p = processes_[rank];
  LaneBook& lane = p.lanes[index];
  const Request& r = lane.request;
  node::Node& site = fabric_->site(p.nic);
  lane.acting = false;
  if (r.call == Call::DeviceOpen) {
    char name[sizeof r.argument + 1] = {};
    std::memcpy(name, r.argument, sizeof r.argument);
    node::DeviceId device = site.find(name);
    lane.result = device < site.devices() ? 0 : -ENODEV;
    lane.answer[0] = device;
    return plan(rank, index, later(begin, call_cost_));
  }
  if (r.argument[0] >= site.devices()) {
    lane.result = -ENODEV;
    return plan(rank, index, later(begin, call_cost_));
  }
  auto device = static_cast<node::DeviceId>(r.argument[0]);
  lane.result = 0;
  switch (r.call) {
    case Call::DeviceRead:  // goes on when the answer is here
      return site.read(device, r.argument[1], begin, std::uint64_t{rank} << 8 | index);
    case Call::DeviceWrite:
      site.write(device, r.argument[1], r.argument[2], begin);
      return plan(rank, index, later(begin, machine_.description.host.post_cost));
    default:
      break;
  }
  if (unsigned& waiting = unseen_interrupts(p.nic, device)) {
    --waiting;
    return plan(rank, index, begin);
  }
  lane.result = -ETIMEDOUT;
  if (r.deadline != Time{kNoDeadline}) plan(rank, index, std::max(begin, r.deadline));
}

unsigned& Simulation::unseen_interrupts(nic::NicId nic, node::DeviceId device) {
  if (interrupts_.size() <= nic) interrupts_.resize(fabric_->nics());
  if (interrupts_[nic].size() <= device) interrupts_[nic].resize(fabric_->site(nic).devices());
  return interrupts_[nic][device];
}

bool Simulation::has_space(node::NodeId node, node::SpaceId space) const {
  return space < processes_.size() && options_.place[space] == node && !processes_[space].ended;
}

void Simulation::register_read(std::uint64_t token, std::uint64_t value) {
  auto rank = static_cast<std::uint32_t>(token >> 8), index = static_cast<std::uint32_t>(token & 255);
  LaneBook& lane = processes_[rank].lanes[index];
  if (lane.state != State::Waiting || lane.request.call != Call::DeviceRead) return;  // it has been killed
  lane.answer[0] = value;
  last_activity_ = fabric_->now();
  plan(rank, index, std::max(lane.request.clock, fabric_->now()));
}

/// One of the ranks that wait for it goes on, the first by number; or the next that comes.
void Simulation::device_interrupt(node::NodeId node, node::DeviceId device) {
  last_activity_ = fabric_->now();
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    if (options_.place[rank] != node) continue;
    Process& p = processes_[rank];
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      LaneBook& lane = p.lanes[i];
      bool waits = lane.state == State::Waiting && !lane.acting && lane.result == -ETIMEDOUT &&
                   lane.request.call == Call::DeviceWait && lane.request.argument[0] == device;
      if (!waits) continue;
      lane.result = 0;
      return plan(rank, i, std::max(lane.request.clock, fabric_->now()));
    }
  }
  for (nic::NicId nic = 0; nic < fabric_->nics(); ++nic)
    if (fabric_->node(nic) == node) ++unseen_interrupts(nic, device);
}

}  // namespace weft::host
