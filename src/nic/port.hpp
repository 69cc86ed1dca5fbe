// The ports of one interface: who has which. What a part keeps for a port lies with that part.
#pragma once

#include <vector>

#include "nic/domains.hpp"
#include "nic/host.hpp"

namespace weft::nic {

struct Port {
  bool open = false;
  bool memory_queue = false;       // descriptors are fetched from memory, after a doorbell
  bool kernel = false;             // its work may use physical addresses
  std::uint8_t traffic_class = 0;  // of what it sends, and of the answers
  unsigned ring_slots = 0;
  std::uint32_t owner = 0;       // of the memory it works on
  std::uint32_t generation = 0;  // tells users of one port apart
  std::uint32_t domain = kNoDomain;
  std::uint32_t device =
      kNobody;  // of its node: whoever posts there and hears of events, where it is no process
  node::SpaceId ring_space = node::kNoSpace;    // the device's own memory, where its ring lies there
  std::uint32_t interrupts = Interrupt::Asked;  // causes that interrupt the processor
};

class PortTable {
 public:
  std::size_t size() const { return ports_.size(); }
  Port& operator[](PortNo port) { return ports_[port]; }
  const Port& operator[](PortNo port) const { return ports_[port]; }
  void reserve_number(PortNo port) {
    if (port >= ports_.size()) ports_.resize(port + 1);
  }
  bool is_open(PortNo port) const { return port < ports_.size() && ports_[port].open; }
  bool is_open(PortNo port, std::uint32_t generation) const {
    return is_open(port) && ports_[port].generation == generation;
  }

 private:
  std::vector<Port> ports_;
};

}  // namespace weft::nic
