// Sequences that wait for control packets: what they have received, and the steps they take
// (abi/triggered.hpp).
//
// An interface runs one sequence at a time. What a sequence keeps is taken when it is armed and bounded by
// the description: so many rounds, each with room for the data of one packet for each input. A control packet
// that does not name the sequence's key, finds no room or does not fit is refused, and its sender told.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "abi/triggered.hpp"
#include "nic/control_repeater.hpp"
#include "nic/notifier.hpp"
#include "nic/outgoing.hpp"
#include "nic/registration.hpp"
#include "nic/waiting_round.hpp"
#include "node/bus.hpp"

namespace weft::nic {

class Triggered {
 public:
  struct Parts {
    Context& context;
    PortTable& ports;
    node::Bus& bus;
    Registration& registration;
    Notifier& notifier;
    Egress& egress;
    Counters& counters;
  };
  Triggered(const Parts& parts, NicId interface);

  /// A descriptor of this part is on the chip. Bad: nothing is done about it.
  Status accept(const Outgoing& x);
  /// A control packet is here, or a word on one.
  void receive(Packet& packet);
  /// An alarm of one that nobody has acknowledged.
  void repeat(std::uint32_t alarm);
  /// The network will not deliver it.
  void lost(const Header& header, Time when);
  void act(std::uint32_t task);
  /// As a descriptor of groups names it (abi/descriptor.hpp), without a packet.
  void trigger_here(PortNo port, const Descriptor& d);
  /// Does a round of a sequence have to be run still? Told when it is.
  bool waits(PortNo port, std::uint32_t tag, std::uint64_t round) const;
  std::function<void(PortNo port, std::uint32_t sequence, std::uint64_t round)> on_run;
  void close(PortNo port);
  /// When the unit that runs sequences, one after the other, has run one that is ready and takes so long.
  Time occupy(Time ready, Time takes) {
    free_ = std::max(ready, free_) + takes;
    counters_.busy += takes;
    return free_;
  }

  void add_waiting(PortNo port, std::vector<WaitingRound>& out) const;

 private:
  struct Round {
    std::uint64_t number = 0, have = 0;  // inputs that are there, a bit each
    unsigned arrived = 0;
    bool damaged = false;
  };
  struct Input {
    std::uint32_t length = 0, node = 0;
    std::uint64_t kind = 0;
    TriggerTarget carried;
  };
  struct Sequence {
    bool armed = false;
    TriggerImage image;
    std::vector<TriggerTarget> targets;
    std::vector<Round> rounds;
    std::vector<std::uint64_t> run;  // by place of a round: the last that was run there, and one more
    std::vector<Input> inputs;       // by round and input
    std::vector<std::uint8_t> data;  // the same, a packet's data each
  };
  struct Task {
    enum Kind { Armed, Read, Fire, Written } kind{};
    PortNo port = 0;
    std::uint32_t generation = 0;
    std::uint32_t sequence = 0;
    std::uint64_t round = 0;
    Place place;
    Descriptor descriptor;
    Event event;
    std::vector<std::uint8_t> data;
  };
  /// A packet for a sequence, wherever it comes from.
  struct Arrival {
    PortNo port = 0;
    std::uint32_t tag = 0, node = 0;
    std::uint64_t key = 0, round = 0, kind = 0;
    TriggerTarget carried;
    bool damaged = false;
    const std::vector<std::uint8_t>* data = nullptr;
    Time ready{0};
  };

  Sequence* find(PortNo port, std::uint32_t number);
  std::uint32_t new_task(Task::Kind kind, PortNo port);
  Status accept_arm(const Outgoing& x);
  Status accept_trigger(const Outgoing& x);
  void arm(Task& task);
  Status check(const TriggerImage& image, PortNo port) const;
  void send(Task& task);
  void take_packet(Packet& packet);
  void refused(const Header& header, Time when);
  Status take(const Arrival& arrival);
  void fire(Task& task);
  bool combine_inputs(const Task& task, Sequence& s, unsigned slot, std::uint64_t kind);
  void send_to(const Task& task, const TriggerTarget& target, std::uint64_t key, std::uint64_t kind,
               const TriggerTarget& carried, bool damaged, Time when);
  void deliver(Task& task, const Sequence& s, std::uint64_t kind, bool damaged);
  void tell_failure(PortNo port, std::uint32_t generation, const Event& about, Status status, Time when);

  Context& context_;
  PortTable& ports_;
  node::Bus& bus_;
  Registration& registration_;
  Notifier& notifier_;
  Egress& egress_;
  Counters& counters_;
  NicId interface_;
  ControlRepeater repeater_;
  std::vector<std::vector<Sequence>> sequences_;  // by port and number
  Slab<Task, 8> tasks_;
  Time free_{0};                     // from when on the next sequence can be run
  std::vector<std::uint8_t> value_;  // of the steps being taken
};

/// A round that waits, in words.
std::string in_words(const WaitingRound& round);

}  // namespace weft::nic
