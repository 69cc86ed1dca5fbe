// From packets the network delivers to memory, rings and events.
#pragma once

#include "nic/incoming.hpp"
#include "nic/register_unit.hpp"
#include "nic/rings.hpp"
#include "nic/sender.hpp"

namespace weft::nic {

class Receiver {
 public:
  struct Parts {
    Context& context;
    PortTable& ports;
    node::Bus& bus;
    Registration& registration;
    Notifier& notifier;
    Egress& egress;
    Rings& rings;
    Sender& sender;
    Triggered& triggered;
    Groups& groups;
    Counted& counted;
    RegisterUnit& registers;
    Counters& counters;
  };
  Receiver(const Parts& parts, NicId interface);

  /// A packet is here, or is known to be lost: those behind it go on.
  void delivered(std::uint32_t packet, Time when);
  NicId number() const { return interface_; }
  /// A packet's data is in memory.
  void land(std::uint32_t packet);
  /// What waited for a port's ring is refused.
  void close(PortNo port);
  /// An acknowledgement of the order was lost; false where it has been repeated often enough.
  bool repeat_order_ack(const Header& header);

 private:
  /// Order of packets from one port of an interface, and how many operations of it that nobody answers have
  /// ended here.
  struct Source {
    std::uint32_t next = 0;
    std::uint32_t unacknowledged = 0;  // taken in order, where the sender is told (nic.order_window)
    std::vector<std::uint32_t> early;  // packets that came before their turn
    std::uint32_t ended = 0;
    std::uint32_t flush = kNobody;  // a packet that waits for some to end
  };
  Source& source(NicId from, PortNo port);
  void acknowledge_order(const Packet& packet, Source& source, Time when);
  void receive(std::uint32_t packet, Time when);
  bool intact(Packet& packet);
  void receive_control(std::uint32_t packet);
  void receive_connect(Packet& packet);
  void receive_get(std::uint32_t packet);
  void receive_data(std::uint32_t packet);
  void receive_message(std::uint32_t packet);
  void receive_registers(std::uint32_t packet);
  void land_registers(Packet& packet);
  void answer_get(const Packet& packet);
  Status place(Packet& packet, std::uint32_t rights, Place& place);
  void land_get_data(Packet& packet);
  void land_put(Packet& packet);
  void land_atomic(Packet& packet);
  void tell_missing(const Packet& packet, const Incoming& in);
  void execute_atomic(const Packet& packet, Status& status, std::uint64_t& value);
  void arrived(const Packet& packet, Status status, std::uint64_t value, bool damaged);
  void record(const Packet& packet);
  void reject(const Packet& packet, Status status, std::uint64_t value, Time when);
  void drop_rejected(const Packet& packet, const Incoming& in);
  void reply(const Packet& packet, Status status, std::uint64_t value, bool damaged, Time when);
  void ended(const Header& header);
  void answer_flush(Source& source);
  void release(std::uint32_t packet) { context_.packets.give(packet); }

  Context& context_;
  PortTable& ports_;
  node::Bus& bus_;
  Registration& registration_;
  Notifier& notifier_;
  Egress& egress_;
  Rings& rings_;
  Sender& sender_;
  Triggered& triggered_;
  Groups& groups_;
  Counted& counted_;
  RegisterUnit& registers_;
  Counters& counters_;
  NicId interface_;
  IncomingTable incoming_;
  std::vector<Time> unit_free_;
  std::vector<std::vector<Source>> sources_;  // by interface and port
};

}  // namespace weft::nic
