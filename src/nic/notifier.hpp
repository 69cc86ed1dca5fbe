// What an interface tells its processes: events of ports, interrupts, and packets it refused.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>

#include "nic/context.hpp"
#include "nic/port.hpp"
#include "node/bus.hpp"

namespace weft::nic {

class Notifier {
 public:
  Notifier(Context& context, NicId interface, const PortTable& ports, node::Bus& bus, Counters& counters)
      : context_(context), interface_(interface), ports_(ports), bus_(bus), counters_(counters) {}

  /// Hears of the events of ports that are a device's.
  std::function<void(PortNo port, const Event& event)> on_device;

  /// Writes an event to a port's queue from `when` on.
  void notify(PortNo port, std::uint32_t generation, const Event& event, Time when);
  /// The cause lies in memory before the processor is interrupted, so that the handler need not read the
  /// interface. While there are causes the processor is interrupted; one interrupt serves all it finds.
  void interrupt(Interrupt::Cause cause, PortNo port, Event event);
  /// The processor's handler: takes all causes out of the queue and tells those they are for.
  void handle_interrupt();
  void keep_error(const ErrorPacket& packet);

  /// An event is in memory.
  void tell(std::uint32_t index);
  /// The process has taken events out of its queue.
  void consumed(PortNo port, unsigned events);
  void reset(PortNo port);
  void close(PortNo port);

  /// Does anything happen when a process takes an event?
  bool holds_back() const {
    return std::any_of(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.held.empty(); });
  }
  std::size_t waiting(PortNo port) const { return port < queues_.size() ? queues_[port].held.size() : 0; }
  /// Causes that the processor has not taken yet.
  std::vector<Interrupt> interrupts() const;
  const std::deque<ErrorPacket>& errors() const { return errors_; }

 private:
  struct Queue {
    unsigned events = 0;     // entries in memory
    std::deque<Event> held;  // those that wait for room
  };
  struct Telling {
    PortNo port;
    std::uint32_t generation;
    Event event;
  };
  Queue& queue(PortNo port);

  Context& context_;
  NicId interface_;
  const PortTable& ports_;
  node::Bus& bus_;
  Counters& counters_;
  std::vector<Queue> queues_;
  Slab<Telling, 8> tellings_;
  struct Cause {
    Interrupt entry;
    std::uint32_t telling;
  };
  void write_cause(const Cause& cause);
  std::deque<Cause> causes_;  // in the queue in memory
  std::deque<Cause> late_;    // those that wait for room in it
  std::deque<ErrorPacket> errors_;
};

/// What the target's process reads of an operation, from a packet of it.
Event event_at_target(const Context& context, const Header& header, EventKind kind);

}  // namespace weft::nic
