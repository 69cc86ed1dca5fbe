// What a sequence of an interface waits for, for reports on what hangs.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/triggered.hpp"
#include "nic/host.hpp"

namespace weft::nic {

/// A round of a sequence that has begun and waits for packets.
struct WaitingRound {
  PortNo port = 0;
  std::uint32_t sequence = 0, members = 0;
  std::uint64_t key = 0, round = 0, kind = 0;
  bool own_is_missing = false;               // the packet of the sequence's own process
  std::vector<TriggerTarget> here, missing;  // the sequences whose packets have come, and have not
};

}  // namespace weft::nic
