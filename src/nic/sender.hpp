// From descriptors on the chip, and requests of others, to packets in the network; and the ends of this
// interface's own operations.
#pragma once

#include <deque>
#include <string>

#include "nic/class_turns.hpp"
#include "nic/counted.hpp"
#include "nic/dma.hpp"
#include "nic/egress.hpp"
#include "nic/fences.hpp"
#include "nic/groups.hpp"
#include "nic/notifier.hpp"
#include "nic/outgoing.hpp"
#include "nic/registration.hpp"
#include "nic/reliability.hpp"
#include "nic/submission.hpp"
#include "node/bus.hpp"

namespace weft::nic {

/// A get of somebody else's that this interface answers.
struct Response {
  Header request;
  Stamps stamps;
  Place place;
  std::uint64_t issued = 0;
  std::vector<bool> have;  // what its requester says that it has
  Staging staging;
};

class Sender {
 public:
  struct Parts {
    Context& context;
    PortTable& ports;
    node::Bus& bus;
    Registration& registration;
    Notifier& notifier;
    Submission& submission;
    Egress& egress;
    Reliability& reliability;
    Triggered& triggered;
    Groups& groups;
    Counted& counted;
    OutgoingTable& outgoing;
    Counters& counters;
  };
  Sender(const Parts& parts, NicId interface);

  /// A descriptor is on the chip: it is checked, and queued.
  void accept(std::uint32_t index);
  /// A put that waited for a sequence may go, or never will.
  void released(std::uint32_t index, Status status);
  /// A sequence has waited long enough.
  void fire(std::uint32_t task);
  /// What waits in a port that was closed goes nowhere.
  void drop_waiting(PortNo port);
  /// Sends what can be sent now.
  void dispatch();
  void dispatch_planned();
  /// The memory a get wants is known: its data goes out. False where this request is being answered already.
  void respond(Response response);
  bool responding(const Header& request) const;

  // What the network and the other ends say.
  void departed(Packet& packet, Time when);
  void out_of_network(const Header& header);
  /// The network has given a packet up, which may have been still in the interface: others may go now.
  void given_up(Packet& packet) { egress_.departed(packet); }
  void go_on() { dispatch(); }
  void replied(const Header& header, const Stamps& stamps, Time when);
  void lost(const Header& header, Time when);
  void learned_missing(const Packet& packet);
  void connected(const Header& header);
  void refused(const Header& header);
  void flushed(const Header& header);
  void pause(NicId target, std::uint64_t number, bool stop);

  // Alarms.
  void time_out(std::uint32_t alarm);
  void reconnect(std::uint32_t alarm);

  void finish(std::uint32_t index, Status status, Time when);
  Outgoing* find(const Header& header) { return outgoing_.find(header); }

  bool has_queue(PortNo port) const { return port < queues_.size() && !queues_[port].waiting.empty(); }
  void reset(PortNo port);
  void drop_channel(std::uint32_t domain) { channels_.drop(domain); }
  /// What waits in a port's queue and why, in words; empty where nothing does.
  std::string pending(PortNo port) const;

 private:
  struct Queue {
    std::deque<std::uint32_t> waiting;  // operations on the chip
    std::uint32_t unfinished = 0;       // issued, and an answer is to come
  };
  struct Peer {
    bool paused = false;
    std::uint64_t number = 0;  // of the last word from it: an older one that comes later does not count
  };

  Queue& queue(PortNo port) {
    if (port >= queues_.size()) queues_.resize(port + 1);
    return queues_[port];
  }
  void enqueue(std::uint32_t index);
  Status check(Outgoing& x);
  void begin(std::uint32_t index, Status status);
  void serve();
  bool find_unblocked();
  bool blocked(Outgoing& x, std::uint32_t index);
  bool fenced(const Outgoing& x);
  void serve_response(unsigned unit);
  void serve_operation(PortNo port, unsigned unit);
  void issue(Outgoing& x, std::uint32_t index, unsigned unit);
  bool issue_response(Response& r, unsigned unit);
  void occupy(unsigned unit);
  std::uint32_t new_packet(PacketKind kind, Outgoing& x, std::uint32_t index);
  void fail(const Header& header, const Stamps& stamps, Time when);

  Context& context_;
  PortTable& ports_;
  Registration& registration_;
  Notifier& notifier_;
  Submission& submission_;
  Egress& egress_;
  Reliability& reliability_;
  Triggered& triggered_;
  Groups& groups_;
  Counted& counted_;
  OutgoingTable& outgoing_;
  Counters& counters_;
  Fences fences_;
  DmaChannels channels_;
  MemoryReader reader_;
  NicId interface_;
  std::vector<Queue> queues_;  // by port
  Slab<Response, 8> responses_;
  std::deque<std::uint32_t> answering_;
  std::vector<PortNo> working_;  // ports with something in their queues, in turn; kNobody: the responses
  std::size_t turn_ = 0;
  ClassTurns class_turns_;
  std::vector<Time> unit_free_;
  Time dispatch_at_ = network::kForever;  // when dispatching is planned
  bool dispatching_ = false;
  std::vector<Peer> peers_;
};

}  // namespace weft::nic
