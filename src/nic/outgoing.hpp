// The requester's half of operations, from the descriptor to the last event.
#pragma once

#include "nic/context.hpp"
#include "nic/registration.hpp"

namespace weft::nic {

/// Data read from memory ahead of the packets that carry it.
struct Staging {
  std::vector<std::uint8_t> data;
  std::uint64_t first = 0;  // offset of its first byte
};

struct Outgoing {
  Descriptor d;
  std::uint32_t generation = 0;  // tells uses of this slot apart
  NicId to = 0;
  PortNo port = 0;
  std::uint32_t port_generation = 0;
  Place local;
  std::uint32_t domain = kNoDomain;  // of the global address it goes to
  network::GroupNumber group = network::kNoGroup;
  std::uint32_t channel = kNoDomain;  // domain whose DMA channel it has
  bool buffered = false;              // it has room in a buffer its queue shares
  bool slot_freed = false;
  bool queued = false;                                 // in its port's queue
  bool sent = false;                                   // all of it has been handed to the network
  bool held_back = false, waited_for_channel = false;  // for counters: once each
  bool finished = false;                               // its end has been told
  bool connected = false, connecting = false, has_context = false;
  bool damaged = false;          // an error no link noticed is in its data
  std::uint64_t issued = 0;      // bytes handed to the network
  std::uint64_t arrived = 0;     // bytes of a get that are here
  std::uint32_t in_network = 0;  // packets
  std::uint32_t attempt = 0;
  std::uint32_t epoch = 0;  // alarms set in an earlier one are out of date
  Time heard{0};            // when data of a get last came
  Status status = Status::Ok;
  std::vector<bool> have;  // packets known to have arrived, where they may be sent twice
  Staging staging;
  Time at_chip{0}, first_data{0}, first_started{0};
  std::uint64_t old_value = 0;

  bool reliable() const { return d.flags & kReliable; }
  bool carries_inline() const {
    return d.operation == Operation::Message || d.operation == Operation::ImmediatePut ||
           (d.operation == Operation::Trigger && !d.local_key);
  }
  bool atomic() const { return is_atomic(d.operation); }
  bool answered() const {
    return d.operation == Operation::Get || atomic() || (d.flags & (kReliable | kNotifyDone));
  }
};

class OutgoingTable {
 public:
  Outgoing& operator[](std::uint32_t index) { return slab_[index]; }
  const Outgoing& operator[](std::uint32_t index) const { return slab_[index]; }

  std::uint32_t take() {
    std::uint32_t index = slab_.take();
    Outgoing& x = slab_[index];
    std::uint32_t generation = x.generation;
    x = {};
    x.generation = generation;
    return index;
  }

  /// The operation a packet of it names; null where it has ended and its slot is another's.
  Outgoing* find(const Header& header) {
    Outgoing& x = slab_[header.operation_id];
    return x.generation == header.generation ? &x : nullptr;
  }

  /// Gives the slot back once nothing refers to it.
  void release(std::uint32_t index) {
    Outgoing& x = slab_[index];
    if (x.queued || x.in_network || !(x.finished || (x.sent && !x.answered()))) return;
    ++x.generation;
    x.staging = {};
    x.have = {};
    x.sent = x.finished = false;
    slab_.give(index);
  }

 private:
  Slab<Outgoing, 8> slab_;
};

}  // namespace weft::nic
