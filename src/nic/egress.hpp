// The way of packets into the network: their order, and how many of them wait to leave.
#pragma once

#include <deque>

#include "base/fair_shares.hpp"
#include "nic/context.hpp"

namespace weft::nic {

class Egress {
 public:
  Egress(Context& context, NicId interface, Counters& counters);

  void launch(std::uint32_t packet, Time when);
  /// So many packets of a port to an interface have been taken there in order, or never will be.
  /// That is known from `when` on.
  void taken(PortNo port, NicId to, std::uint32_t packets, Time when);
  /// A packet has left the interface, or never will: its place is free. Told twice, it counts once.
  void departed(Packet& packet) {
    if (packet.in_window) --in_window_[packet.header.traffic_class];
    packet.in_window = false;
  }
  /// Classes of traffic have a window each: none waits for what another has in the interface.
  bool full(unsigned traffic_class = 0) const { return in_window_[traffic_class] >= context_.nic.window; }
  /// Of the classes that have something to send, the one with the lowest goes first.
  std::uint64_t start(unsigned traffic_class) const { return shares_.start(0, traffic_class); }

 private:
  struct Held {
    std::uint32_t packet;
    Time when;
  };
  /// What one port sends to one interface, where it is bounded (nic.order_window).
  struct Flow {
    std::uint32_t under_way = 0;  // sent, and not known to have been taken in order
    std::deque<Held> held;
  };
  Flow& flow(PortNo port, NicId to);
  bool must_wait(std::uint32_t packet, Time when);
  void send(std::uint32_t packet, Time when);

  Context& context_;
  NicId interface_;
  Counters& counters_;
  const bool control_apart_;         // control packets have a network of their own
  std::vector<unsigned> in_window_;  // by class of traffic
  FairShares shares_;
  std::vector<std::vector<std::uint32_t>> sequences_;  // by port and receiving interface; receivers count on
  std::vector<std::vector<Flow>> flows_;               // in the same way, where they are bounded
};

inline std::uint64_t packet_bytes(const machine::NicParameters& p, std::uint64_t data) {
  return static_cast<std::uint64_t>(p.header.value) + data;
}

}  // namespace weft::nic
