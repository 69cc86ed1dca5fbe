// From a process's queue to the chip: by stores of the processor, or by a doorbell and a fetch.
#pragma once

#include <deque>

#include "nic/outgoing.hpp"
#include "nic/port.hpp"
#include "node/bus.hpp"

namespace weft::nic {

class Submission {
 public:
  Submission(Context& context, NicId interface, const PortTable& ports, node::Bus& bus,
             OutgoingTable& outgoing, Counters& counters);

  void post(PortNo port, const Descriptor& descriptor);
  /// One that was stored into the chip and is there.
  void store(PortNo port, const Descriptor& descriptor);
  void submit(std::uint32_t index);
  /// A descriptor is fetched once the buffer of its queue has room for it.
  void fetch(std::uint32_t index);
  /// It is on the chip.
  void reached_chip(PortNo port) { --queue(port).on_the_way; }
  /// A descriptor leaves its queue; the room it had goes to the first that waits and may have it.
  void leave(Outgoing& x);
  /// It keeps its place in the queue, but not the room in a buffer.
  void leave_buffer(Outgoing& x);
  /// Descriptors posted on a port that are not on the chip.
  std::uint32_t on_the_way(PortNo port) const { return port < queues_.size() ? queues_[port].on_the_way : 0; }
  /// Descriptors posted on a port that have not left its queue.
  std::uint32_t taken(PortNo port) const { return port < queues_.size() ? queues_[port].taken : 0; }
  void reset(PortNo port) { queue(port) = {}; }

 private:
  struct Queue {
    std::uint32_t on_the_way = 0;
    std::uint32_t taken = 0;  // slots
    unsigned buffered = 0;    // descriptors in the buffer it shares
    Time last_on_chip{0};
  };
  /// Room on the chip that several queues in memory share. Each may always have one descriptor in it; the
  /// rest is taken by whoever comes first.
  struct Buffer {
    unsigned shared = 0;                // descriptors beyond the first of each queue
    std::deque<std::uint32_t> waiting;  // operations that wait to be fetched
  };
  Queue& queue(PortNo port) {
    if (port >= queues_.size()) queues_.resize(port + 1);
    return queues_[port];
  }
  unsigned buffer_of(PortNo port) const;
  std::uint32_t new_operation(PortNo port, const Descriptor& descriptor);

  Context& context_;
  NicId interface_;
  const PortTable& ports_;
  node::Bus& bus_;
  OutgoingTable& outgoing_;
  Counters& counters_;
  std::vector<Queue> queues_;
  std::vector<Buffer> buffers_;
  std::uint64_t stores_ = 0;  // posts by the processor's stores
};

}  // namespace weft::nic
