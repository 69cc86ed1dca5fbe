// Descriptors that wait for a number of control packets, and what becomes of them then (abi/counted.hpp).
//
// They stay in the queue of their port: who posts more than it holds finds it full. A port keeps the packets
// that nothing has waited for yet, as many as the description gives room for; those beyond are refused, and
// their senders told. Sequences are run by the unit that runs those of triggered.hpp, one after the other.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "abi/counted.hpp"
#include "nic/outgoing.hpp"
#include "nic/port.hpp"
#include "nic/triggered.hpp"

namespace weft::nic {

class Counted {
 public:
  struct Parts {
    Context& context;
    const PortTable& ports;
    OutgoingTable& outgoing;
    Triggered& triggered;
    Counters& counters;
  };
  Counted(const Parts& parts, NicId interface)
      : context_(parts.context),
        ports_(parts.ports),
        outgoing_(parts.outgoing),
        triggered_(parts.triggered),
        counters_(parts.counters),
        interface_(interface) {}

  /// A descriptor is on the chip; `waits`: it is not sent yet.
  Status accept(std::uint32_t index, bool& waits);
  /// A control packet is here, its data on the chip at `ready`.
  Status take(const Packet& packet, Time ready);
  struct Fired {
    std::uint32_t index;
    Status status;
  };
  /// What a sequence whose time has come sends, in order, as its packets have changed it.
  std::vector<Fired> fire(std::uint32_t task);
  /// Nothing waits any more; returns what did.
  std::vector<std::uint32_t> close(PortNo port);
  /// What waits, in words.
  void tell_pending(PortNo port, std::vector<std::string>& out) const;

 private:
  struct ControlPacket {
    std::uint32_t node = 0, port = 0, flags = 0, length = 0;
    bool damaged = false;
    Time ready{0};
    std::array<std::uint8_t, kInlineBytes> data{};
  };
  struct Sequence {
    std::uint32_t packets = 0;
    bool whole = false;
    std::vector<std::uint32_t> requests;
  };
  struct Queue {
    std::deque<Sequence> waiting;
    std::deque<ControlPacket> here;
    bool open() const { return !waiting.empty() && !waiting.back().whole; }
  };
  struct Task {
    PortNo port = 0;
    std::uint32_t generation = 0;
    Sequence sequence;
    std::vector<ControlPacket> packets;  // in the order they came
  };
  /// What the packets of a sequence bring, while its requests are changed.
  struct Brought {
    const ControlPacket* data = nullptr;  // the last
    std::vector<const ControlPacket*> addresses;
    std::size_t addresses_used = 0;
    ReduceData result;
    bool has_result = false, damaged = false;
  };

  Queue& queue(PortNo port) {
    if (port >= queues_.size()) queues_.resize(port + 1);
    return queues_[port];
  }
  std::size_t room() const { return std::size_t{context_.nic.trigger_inputs} * context_.nic.trigger_rounds; }
  Status check(const Outgoing& x) const;
  void run(PortNo port);
  Time combining(const Sequence& sequence) const;
  Status change(std::uint32_t index, const Task& task, Brought& brought, std::vector<Fired>& out);
  Status change_message(Outgoing& x, const Task& task, Brought& brought) const;
  Status change_memory(std::uint32_t index, Brought& brought, std::vector<Fired>& out);
  Status reduce(Descriptor& d, const Task& task, Brought& brought) const;
  void send_to_set(std::uint32_t index, const Descriptor& list, std::vector<Fired>& out);
  std::uint32_t copy_of(std::uint32_t index);

  Context& context_;
  const PortTable& ports_;
  OutgoingTable& outgoing_;
  Triggered& triggered_;
  Counters& counters_;
  NicId interface_;
  std::vector<Queue> queues_;  // by port
  Slab<Task, 8> tasks_;
};

}  // namespace weft::nic
