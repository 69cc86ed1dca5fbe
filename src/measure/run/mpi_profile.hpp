// What ranks called in MPI: each call added up, and collectives put together again from what their members
// wrote down.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "abi/mpi_calls.hpp"
#include "base/virtual_time.hpp"

namespace weft::measure {

struct CallSums {
  std::uint16_t call = 0;
  std::uint64_t count = 0, bytes = 0;
  TimeSum total;
  Time longest{0};
};

/// One collective, as all its members together saw it.
struct Collective {
  std::uint16_t call = 0;
  std::uint32_t members = 0;
  std::uint64_t bytes = 0;  // of the member that gave most
  Time first_came{0}, last_came{0}, ended{0};
  std::uint32_t last_rank = 0;  // that came last
  /// Its own time begins when everybody is there.
  Time took() const { return ended - last_came; }
};

/// Collectives of the same call, size and number of members.
struct CollectiveSums {
  Collective slowest;
  std::uint64_t count = 0;
  TimeSum total;    // of what they took
  TimeSum waiting;  // for the last to come, from the first
};

struct MpiProfile {
  std::vector<CallSums> calls;              // the one that took most first
  std::vector<CollectiveSums> collectives;  // the slowest first
  std::uint64_t left_out = 0;               // calls that nobody wrote down
};

/// Takes one rank's calls after the other, so that they need not all be there at once.
class MpiProfiler {
 public:
  void add(std::uint32_t rank, const std::vector<abi::CallRecord>& calls);
  MpiProfile profile() const;

 private:
  struct Growing {
    Collective collective;
    std::uint32_t came = 0;
    bool alike = true;
  };
  void add_collectives(std::uint32_t rank, const std::vector<abi::CallRecord>& calls);
  std::vector<CollectiveSums> collectives() const;

  std::array<CallSums, static_cast<std::size_t>(abi::MpiCall::Count)> sums_{};
  std::map<std::uint64_t, std::vector<Growing>> growing_;  // by communicator, in turn
};

}  // namespace weft::measure
