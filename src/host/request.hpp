// What a thread of a rank asks the simulator for, copied and checked, and what kinds of calls there are.
#pragma once

#include <cstdint>

#include "abi/port_layout.hpp"
#include "base/quantity.hpp"

namespace weft::host {

using namespace abi;  // what ranks share with it are the words of this folder

inline constexpr Time kNever{kNoDeadline};

struct Request {
  Call call = Call::Wait;
  std::uint32_t port = kAnyPort, for_rank = kNoRank;
  Time clock{0}, deadline{0};
  std::uint64_t argument[4] = {};
};

const char* call_name(Call call);
/// Else its time is the rank's own: a sleep, or what the system takes for a port or for memory.
bool waits_for_others(Call call);
/// Is there nothing to be done for it but to wait?
bool only_waits(Call call);
/// Does it look for something again and again, which another thread of its process may bring about?
bool looks(Call call);
/// Does it name files of its own, to be watched meanwhile?
bool names_files(const Request& request);

}  // namespace weft::host
