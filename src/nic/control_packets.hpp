// Control packets that sequences send: to a sequence of another interface, to those of all members of a group
// by one packet that routers copy, or to a root by packets that routers join (abi/group_steps.hpp).
#pragma once

#include <vector>

#include "abi/group_steps.hpp"
#include "abi/triggered.hpp"
#include "nic/egress.hpp"

namespace weft::nic {

class ControlPackets {
 public:
  ControlPackets(Context& context, Egress& egress, Counters& counters, NicId interface)
      : context_(context), egress_(egress), counters_(counters), interface_(interface) {}

  /// What a packet says beside for whom it is.
  struct Content {
    PortNo port = 0;
    std::uint32_t generation = 0;
    std::uint64_t key = 0, round = 0, kind = 0;
    bool damaged = false;
    const std::vector<std::uint8_t>& data;
  };
  void send(const Content& content, NicId to, const TriggerTarget& target, const TriggerTarget& carried,
            Time when);
  /// By a step whose packets routers copy or join.
  Status send_step(const Content& content, const TriggerStep& step, const std::vector<TriggerTarget>& targets,
                   Time when);

  /// A process has joined a group under a number, and left it (groups.hpp).
  struct Membership {
    std::uint64_t key = 0;
    network::GroupNumber group = network::kNoGroup, reduction = network::kNoGroup;
  };
  void joined(PortNo port, std::uint32_t number, const Membership& membership);
  void left(PortNo port, std::uint32_t number) { joined(port, number, {}); }
  /// Whether a process may send so.
  Status check(const TriggerImage& image, const TriggerStep& step, PortNo port) const;
  /// Of a sequence that waits from now on: who gives which part of a reduction, for messages to people.
  void note_armed(PortNo port, std::uint32_t sequence, const TriggerImage& image,
                  const std::vector<TriggerTarget>& targets);

  /// One that has come, for those who count what crossed the network.
  void record(const Packet& packet) const;

  /// The target that a packet carries for a swap.
  static TriggerTarget carried_by(std::uint64_t place, std::uint64_t which) {
    return {static_cast<std::uint32_t>(place >> 32), static_cast<std::uint32_t>(place),
            static_cast<std::uint16_t>(which), static_cast<std::uint16_t>(which >> 16)};
  }

 private:
  Membership membership(PortNo port, std::uint32_t number) const;
  std::uint32_t new_packet(const Content& content, Time when);

  Context& context_;
  Egress& egress_;
  Counters& counters_;
  NicId interface_;
  std::vector<std::vector<Membership>> joined_;  // by port and number
};

}  // namespace weft::nic
