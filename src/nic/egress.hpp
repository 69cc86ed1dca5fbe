// The way of packets into the network: their order, and how many of them wait to leave.
#pragma once

#include "nic/context.hpp"

namespace weft::nic {

class Egress {
 public:
  Egress(Context& context, NicId interface, Counters& counters);

  void launch(std::uint32_t packet, Time when);
  /// A packet has left the interface, or never will: its place is free. Told twice, it counts once.
  void departed(Packet& packet) {
    if (packet.in_window) --in_window_;
    packet.in_window = false;
  }
  bool full() const { return in_window_ >= context_.nic.window; }

 private:
  Context& context_;
  NicId interface_;
  Counters& counters_;
  const bool control_apart_;  // control packets have a network of their own
  unsigned in_window_ = 0;
  std::vector<std::vector<std::uint32_t>> sequences_;  // by port and receiving interface; receivers count on
};

inline std::uint64_t packet_bytes(const machine::NicParameters& p, std::uint64_t data) {
  return static_cast<std::uint64_t>(p.header.value) + data;
}

}  // namespace weft::nic
