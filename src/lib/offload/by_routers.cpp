#include "lib/offload/by_routers.hpp"

#include <string.h>

#include <algorithm>

#include "lib/offload/trees.hpp"
#include "lib/rank_thread.hpp"

namespace weft::offload {

using abi::NotInRouters;
using abi::Thread;

std::vector<std::uint32_t> nodes_of(const std::vector<collective::Member>& members) {
  std::vector<std::uint32_t> nodes;
  for (const collective::Member& member : members) nodes.push_back(member.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

void post_when_there_is_room(weft_port* port, Thread& thread, nic::Descriptor& d) {
  while (lib::queue_full(port))
    lib::ask(thread, abi::Call::Room, port->index, abi::kNoDeadline, abi::kNoRank);
  lib::post_now(port, thread, d);
}

ByRouters::ByRouters(weft_port* port, Word communicator, const std::vector<collective::Member>& members,
                     std::size_t place)
    : port_(port),
      communicator_(communicator),
      size_(static_cast<std::uint32_t>(members.size())),
      nodes_(nodes_of(members)),
      tree_(tree_of(port->header->mpi.collectives, collective::Place{1})) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].node != members[place].node) continue;
    if (i == place) place_ = static_cast<collective::Place>(members_.size());
    members_.push_back(members[i]);
  }
  tree_ = tree_of(port->header->mpi.collectives, static_cast<collective::Place>(members_.size()));
}

void ByRouters::join(Thread& thread, const Room& room) {
  struct Answer {
    std::uint8_t fits, why;
  };
  number_ = room.number;
  bool fits = false;
  const NotInRouters why = reserve(thread, room, fits);
  Answer mine{fits, static_cast<std::uint8_t>(why)};
  std::vector<Answer> all(size_);
  call("PMPI_Allgather", &mine, Word{sizeof mine}, lib::mpi_byte(), all.data(), Word{sizeof mine},
       lib::mpi_byte(), communicator_);
  const auto other = std::find_if(all.begin(), all.end(), [](const Answer& each) { return !each.fits; });
  combine_ = other == all.end();
  if (combine_) return;
  why_not_ = static_cast<NotInRouters>(other->why);
  leave(thread);
}

/// `fits`: this member does not stand in the way.
NotInRouters ByRouters::reserve(Thread& thread, const Room& room, bool& fits) {
  const abi::CollectiveModel& model = port_->header->mpi.collectives;
  if (model.reduction != abi::kRoutersReduce) return static_cast<NotInRouters>(model.reduction - 2);
  if (nodes_.size() < 2) return NotInRouters::OneNode;
  if (tree_.widest() + 1 > model.inputs) return NotInRouters::Inputs;
  fits = true;
  if (place_ != 0) return {};
  nic::Descriptor d;
  d.operation = nic::Operation::Join;
  d.tag = number_;
  d.operand = model.rounds;
  d.remote_key = room.key;
  d.compare = members_[0].input(collective::Part::Up).sequence;
  d.spare[0] = size_;
  d.local_key = room.memory_key;
  d.local_offset = room.nodes_at;
  d.length = nodes_.size() * sizeof nodes_[0];
  d.context = room.context;
  memcpy(room.memory + room.nodes_at, nodes_.data(), d.length);
  post_when_there_is_room(port_, thread, d);
  room.wait();
  fits = has_room_;
  return NotInRouters::NoRoom;
}

void ByRouters::leave(Thread& thread) {
  if (!has_room_) return;
  has_room_ = false;
  nic::Descriptor d;
  d.operation = nic::Operation::Leave;
  d.tag = number_;
  d.operand = port_->header->mpi.collectives.rounds;
  post_when_there_is_room(port_, thread, d);
}

}  // namespace weft::offload
