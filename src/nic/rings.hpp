// The rings of a port's messages, and what waits for room in them. Where too much waits, senders are paused.
#pragma once

#include <deque>
#include <functional>

#include "nic/context.hpp"
#include "nic/egress.hpp"
#include "nic/notifier.hpp"
#include "nic/port.hpp"
#include "node/bus.hpp"

namespace weft::nic {

class Rings {
 public:
  Rings(Context& context, NicId interface, const PortTable& ports, node::Bus& bus, Egress& egress,
        Notifier& notifier, Counters& counters)
      : context_(context),
        interface_(interface),
        ports_(ports),
        bus_(bus),
        egress_(egress),
        notifier_(notifier),
        counters_(counters) {}

  /// A message for a port that a device has: it is in the device's ring.
  std::function<void(PortNo port, const Message& message)> on_device;

  /// A message for an open port goes to its ring, or waits for room: it is never lost.
  void accept(std::uint32_t packet);
  /// A message is in memory; false where the port is another process's by now.
  bool land(const Packet& packet);
  /// The process has taken messages out of its ring.
  void consumed(PortNo port, unsigned messages);
  /// There is room again: senders go on.
  void resume_senders();
  /// The messages that waited for a port that is closed.
  std::deque<std::uint32_t> close(PortNo port);
  void reset(PortNo port) { ring(port) = {}; }
  void watchdog(PortNo port);
  /// A paused sender must hear that it may go on, also where the network lost it.
  void lost_resume(const Header& header);

  /// Does anything happen when a process takes a message?
  bool holds_back() const { return held_ > 0 || !paused_.empty(); }
  std::size_t waiting(PortNo port) const { return port < rings_.size() ? rings_[port].held.size() : 0; }

 private:
  struct Ring {
    unsigned messages = 0;           // entries in memory
    unsigned coming = 0;             // on the bus towards it
    std::deque<std::uint32_t> held;  // packets that wait for room
    std::uint32_t watchdogs = 0;
  };
  Time to_ring(const Packet& packet, PortNo port) {
    return bus_.to_memory(packet.stamps.ready, packet.header.bytes + 16, ports_[port].ring_space);
  }
  Ring& ring(PortNo port) {
    if (port >= rings_.size()) rings_.resize(port + 1);
    return rings_[port];
  }
  void tell_sender(PacketKind kind, NicId sender, Time when, std::uint64_t attempt);

  Context& context_;
  NicId interface_;
  const PortTable& ports_;
  node::Bus& bus_;
  Egress& egress_;
  Notifier& notifier_;
  Counters& counters_;
  std::vector<Ring> rings_;
  unsigned held_ = 0;          // messages that wait for room, of all ports
  std::vector<NicId> paused_;  // senders
  std::uint64_t words_ = 0;    // to senders: numbers tell which is the later
};

}  // namespace weft::nic
