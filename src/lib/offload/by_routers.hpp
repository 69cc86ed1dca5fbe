// Barriers and all-reduces that routers combine: the members of each node have a tree of their own, whose
// root gives what they make together to the routers, and gets back what all nodes make together.
#pragma once

#include <functional>
#include <vector>

#include "abi/descriptor.hpp"
#include "abi/mpi_layout.hpp"
#include "collective/sequences.hpp"
#include "lib/offload/types.hpp"
#include "lib/port.hpp"

namespace weft::offload {

class ByRouters {
 public:
  /// `members` by place, of which this process has `place`.
  ByRouters(weft_port* port, Word communicator, const std::vector<collective::Member>& members,
            std::size_t place);

  /// What a group has for it.
  struct Room {
    std::uint32_t number;  // it is joined under
    std::uint64_t key, memory_key;
    std::size_t nodes_at;  // in `memory`: room for the list of nodes
    std::uint8_t* memory;
    std::uint64_t context;       // of events
    std::function<void()> wait;  // for the event that says how it ended
  };
  /// All members: one of each node asks for room in the routers; all use it or none does.
  void join(abi::Thread& thread, const Room& room);
  /// How that ended.
  void hear(const nic::Event& event) { has_room_ = event.status == nic::Status::Ok; }
  void leave(abi::Thread& thread);

  bool combine() const { return combine_; }
  abi::NotInRouters why_not() const { return why_not_; }
  collective::Sequence sequence(collective::Part part) const {
    return collective::sequence_for(tree_, members_, place_, part, number_);
  }

 private:
  abi::NotInRouters reserve(abi::Thread& thread, const Room& room, bool& fits);

  weft_port* port_;
  Word communicator_;
  std::uint32_t size_, number_ = 0;
  bool combine_ = false, has_room_ = false;
  abi::NotInRouters why_not_{};
  std::vector<std::uint32_t> nodes_;
  std::vector<collective::Member> members_;  // of this node, by place in its tree
  collective::Place place_ = 0;
  collective::Tree tree_;
};

/// Where members are, each node once.
std::vector<std::uint32_t> nodes_of(const std::vector<collective::Member>& members);

/// As soon as there is room for it in the port's queue.
void post_when_there_is_room(weft_port* port, abi::Thread& thread, nic::Descriptor& descriptor);

}  // namespace weft::offload
