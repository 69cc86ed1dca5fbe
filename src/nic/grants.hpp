// Who has which accelerator: root ports of nodes without a processor are granted to hosts and taken back
// while the machine runs. A port has one host at a time, or none. What a host gives back, or leaves behind
// when it ends, is reset; the next one gets it when the reset is over.
#pragma once

#include <string>
#include <vector>

#include "nic/fabric.hpp"
#include "nic/root_port.hpp"

namespace weft::nic {

class Grants {
 public:
  /// What was still on its way from or to the former host has arrived by then, or been given up.
  static constexpr Time kReset = RootPort::kReset;

  explicit Grants(Fabric& fabric);

  /// Gives the port of `device` to `host`, whose memory it reaches by these intervals of addresses and no
  /// others. Empty, or why it cannot be.
  std::string assign(NicId device, NicId host, const std::vector<Interval>& memory);
  /// Takes it back, from whoever has it: its functions are reset, its intervals closed.
  void release(NicId device);
  /// Takes back all that a host has.
  void host_ended(NicId host);

  NicId host_of(NicId device) const;
  /// When it can be granted: first, and again.
  Time ready(NicId device) const { return ready_[device]; }

 private:
  Fabric& fabric_;
  std::vector<Time> ready_;  // by interface
};

}  // namespace weft::nic
