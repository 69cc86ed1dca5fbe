// Groups of interfaces that a put can be for at once: who has joined, and where the data of each round lands.
//
// A process joins with the list of the group's nodes. Before each round it says where that round's data goes
// in its own memory; the put of one member then goes out once, routers copy it, and every interface writes
// what arrives to the places its processes have named. When all of a round is there the process has an event,
// and a waiting sequence may be triggered: acknowledgements go up a tree without the processor. The put may
// wait on the chip for a round of a sequence in turn (hold): data leaves when all have said that
// they are ready, without the processor.
#pragma once

#include <functional>
#include <vector>

#include "nic/triggered.hpp"

namespace weft::nic {

class Groups {
 public:
  struct Parts {
    Context& context;
    PortTable& ports;
    node::Bus& bus;
    Registration& registration;
    Notifier& notifier;
    Triggered& triggered;
    Counters& counters;
  };
  Groups(const Parts& parts, NicId interface);

  /// A descriptor of this part is on the chip. Bad: nothing is done about it.
  Status accept(const Outgoing& x);
  /// The group of a port's put; kNoGroup: it has not joined one under that number.
  network::GroupNumber group_of(PortNo port, std::uint32_t tag) const {
    const Place* at = find(port, tag);
    return at ? at->group : network::kNoGroup;
  }
  /// A put may wait for a round of a sequence of its own port: its tag and one more in spare[0], the round in
  /// spare[1]; its first data is fetched meanwhile. False: it need not.
  bool hold(Outgoing& x, std::uint32_t operation);
  /// What waited may go; Status::Closed: its port is gone.
  std::function<void(std::uint32_t operation, Status status)> on_released;
  /// A packet of a put to a group is here.
  void receive(const Packet& packet);
  /// A packet's data is in memory.
  void land(std::uint32_t task);
  void close(PortNo port);

 private:
  /// Where a round's data goes.
  struct Landing {
    bool open = false, damaged = false;
    std::uint64_t round = 0, length = 0, arrived = 0;
    nic::Place memory;
    Descriptor wanted;  // the event's context, and the sequence it triggers
  };
  struct Place {
    network::GroupNumber group = network::kNoGroup;
    std::vector<Landing> landings;  // by round
  };
  struct Member {
    PortNo port;
    std::uint32_t tag;
  };
  struct Task {
    Member member{};
    std::uint32_t generation = 0;
    std::uint64_t at = 0;  // offset in the landing
    Header header;
    Stamps stamps;
    std::vector<std::uint8_t> data;
  };

  /// A put that waits for a round.
  struct Held {
    PortNo port;
    std::uint32_t sequence, operation;
    std::uint64_t round;
  };
  template <class Goes>
  void release(Goes goes, Status status);

  const Place* find(PortNo port, std::uint32_t tag) const {
    if (port >= places_.size() || tag >= places_[port].size()) return nullptr;
    const Place& place = places_[port][tag];
    return place.group == network::kNoGroup ? nullptr : &place;
  }
  Status read_nodes(const Outgoing& x, nic::Place& memory, std::vector<network::EndpointId>& nodes);
  void tell_joined(const Outgoing& x, const nic::Place& memory, Status status);
  Status join(const Outgoing& x);
  Status join_reduction(const Outgoing& x);
  Status expect(const Outgoing& x);
  void leave(PortNo port, std::uint32_t tag);
  void complete(const Task& task, Landing& landing);
  void refuse(const Header& header, Status status);

  Context& context_;
  PortTable& ports_;
  node::Bus& bus_;
  Registration& registration_;
  Notifier& notifier_;
  Triggered& triggered_;
  Counters& counters_;
  NicId interface_;
  std::vector<std::vector<Place>> places_;    // by port and the number it joined under
  std::vector<std::vector<Member>> members_;  // by group: processes here
  std::vector<Held> held_;
  Slab<Task, 8> tasks_;
};

}  // namespace weft::nic
