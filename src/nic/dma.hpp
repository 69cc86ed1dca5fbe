// How an interface gets at the memory of processes for what it sends: by channels, one for each protection
// domain where the description has such, and by reads that are staged.
#pragma once

#include <map>

#include "nic/outgoing.hpp"
#include "nic/port.hpp"
#include "node/bus.hpp"

namespace weft::nic {

class DmaChannels {
 public:
  DmaChannels(Context& context, const PortTable& ports, Counters& counters)
      : context_(context), ports_(ports), counters_(counters) {}

  /// By another put or get of its domain; else it has the channel from now on.
  bool taken(Outgoing& x, std::uint32_t index);
  /// Free for the next put or get of its domain.
  void leave(Outgoing& x, std::uint32_t index);
  void drop(std::uint32_t domain) { channels_.erase(domain); }

 private:
  Context& context_;
  const PortTable& ports_;
  Counters& counters_;
  std::map<std::uint32_t, std::uint32_t> channels_;  // by domain: the operation it works on
};

class MemoryReader {
 public:
  MemoryReader(Context& context, Registration& registration, node::Bus& bus)
      : context_(context), registration_(registration), bus_(bus) {}

  /// Reads a packet's data from memory; returns when the chip has it. No data: the memory is not there.
  Time on_chip(Staging& staging, const Place& place, Packet& packet, Time from, bool snooped);

 private:
  Context& context_;
  Registration& registration_;
  node::Bus& bus_;
};

}  // namespace weft::nic
