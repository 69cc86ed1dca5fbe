// What makes an operation reliable, at its requester: contexts, connections, and alarms.
#pragma once

#include "nic/egress.hpp"
#include "nic/outgoing.hpp"
#include "node/bus.hpp"

namespace weft::nic {

/// How long an answer is waited for after so many repetitions: twice as long each time, so that a network
/// that is slow, or is being repaired, is not filled with what is on its way already.
inline Time patience(const machine::NicParameters& nic, unsigned attempt) {
  return Time{nic.timeout.value << std::min(attempt, 6u)};
}

class Reliability {
 public:
  Reliability(Context& context, NicId interface, node::Bus& bus, Egress& egress, OutgoingTable& outgoing,
              Counters& counters)
      : context_(context),
        interface_(interface),
        bus_(bus),
        egress_(egress),
        outgoing_(outgoing),
        counters_(counters) {}

  /// Sends for a context at the target, where this interface has one left. A put's first data is fetched
  /// meanwhile. `connect` is the packet, made by whoever knows the operation's header.
  bool take_context(Outgoing& x);
  void connect(Outgoing& x, std::uint32_t index, std::uint32_t packet);
  void connected(Outgoing& x);
  /// The target has no context: another try after a while.
  void refused(Outgoing& x, std::uint32_t index);
  void give_context(Outgoing& x);

  /// Wakes the operation when no answer has come for its patience.
  void set_alarm(Outgoing& x, std::uint32_t index);

  enum class Verdict { Nothing, GiveUp, Connect, Repeat };
  /// What to do about an operation whose alarm went off.
  Verdict time_out(std::uint32_t alarm, std::uint32_t& index);
  /// True where the operation wants to connect again.
  bool reconnect(std::uint32_t alarm, std::uint32_t& index);

 private:
  struct Alarm {
    std::uint32_t operation, generation, epoch;
  };
  std::uint32_t new_alarm(const Outgoing& x, std::uint32_t index);

  Context& context_;
  NicId interface_;
  node::Bus& bus_;
  Egress& egress_;
  OutgoingTable& outgoing_;
  Counters& counters_;
  unsigned contexts_ = 0;  // in use
  Slab<Alarm, 8> alarms_;
};

}  // namespace weft::nic
