// Control packets end to end, where errors pass that no link notices (nic.corruption): each has a number of
// its pair of interfaces and a check sum, is acknowledged, and is sent again until it is. What comes twice is
// known by its number, whatever has become of the sequence it was for.
//
// Without such errors links bring every packet, once: nothing of this is used, and no packet is longer for
// it.
#pragma once

#include <deque>

#include "nic/egress.hpp"

namespace weft::nic {

class ControlRepeater {
 public:
  ControlRepeater(Context& context, NicId interface, Egress& egress, Counters& counters)
      : context_(context), interface_(interface), egress_(egress), counters_(counters) {}

  /// Sends a packet whose header and data are complete.
  void launch(std::uint32_t packet, Time when);
  /// Is it the first time that this packet comes? It is acknowledged in any case.
  bool accept(const Packet& packet);
  void acknowledged(const Header& header);
  /// An alarm. Nobody has acknowledged the packet for as long as it is tried: true, with its header.
  bool alarm(std::uint32_t index, Header& given_up);

 private:
  static constexpr std::uint32_t kWindow =
      64;  // packets of a pair that are not acknowledged, as bits of a word

  struct Held {
    Header header;
    Stamps stamps;
    std::vector<std::uint8_t> data;
    unsigned attempt = 0;
    bool acknowledged = false;
  };
  /// What this interface sends to another.
  struct Outward {
    std::uint32_t first = 0;  // number of the oldest that is not acknowledged
    std::uint32_t sent = 0;   // of those that are held, from the oldest on
    std::deque<Held> held;
  };
  /// What it has from another: all before `next` that were not given up, and from there on those whose bits
  /// are set.
  struct Inward {
    std::uint32_t next = 0;
    std::uint64_t early = 0;
  };
  struct Alarm {
    NicId to;
    std::uint32_t number;
  };
  void send(Outward& flow, NicId to, std::uint32_t at, Time when);
  /// One that was sent is over, one way or the other: those that waited for it go.
  void settle(NicId to, std::uint32_t number);

  Context& context_;
  NicId interface_;
  Egress& egress_;
  Counters& counters_;
  std::vector<Outward> outward_;  // by interface
  std::vector<Inward> inward_;
  Slab<Alarm, 8> alarms_;
};

}  // namespace weft::nic
