// What is kept of a run to tell afterwards why ranks waited: their waits, and what arrived where and when.
// With the log of calls less than a hundred bytes for a call.
#pragma once

#include <cstdint>
#include <vector>

#include "host/simulation.hpp"

namespace weft::measure {

/// Something that crossed the network, from posting to data in memory.
struct Arrival {
  std::int64_t begin, end;          // picoseconds
  std::uint16_t from, to;           // ranks; `from` is the one whose processor posted it
  std::uint32_t bytes : 31;         // the most that fits, where there are more
  std::uint32_t comes_back : 1;     // data for `from`, as of a get, which `to` has no part in
  std::uint32_t wire_ns, queue_ns;  // of its time: between interfaces; waiting in them
};
static_assert(sizeof(Arrival) == 32);

/// Of a rank's first thread, for others.
struct RankWait {
  std::int64_t from, until;
};

class WaitRecorder {
 public:
  explicit WaitRecorder(unsigned ranks) : waits_(ranks) {}

  /// Ranks that are not of this run are left out.
  void operation(const nic::Record& record, std::uint32_t from_rank, std::uint32_t to_rank);
  void wait(std::uint32_t rank, Time from, Time until);

  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  const std::vector<std::vector<RankWait>>& waits() const { return waits_; }
  /// The run was too long to keep all: no more was kept from then on.
  bool full() const { return full_; }

 private:
  std::vector<Arrival> arrivals_;
  std::vector<std::vector<RankWait>> waits_;
  std::size_t count_ = 0;
  bool full_ = false;
};

}  // namespace weft::measure
