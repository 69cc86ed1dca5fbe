// What ranks do at this moment, in a word each, for those who look on.
#pragma once

#include <vector>

#include "host/run.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"

namespace weft::host {

class Supervisor;

struct RankNow {
  enum State : char {
    Computes = 'c',
    InMpi = 'm',  // works there
    Waits = 'w',  // for others
    Sleeps = 's',
    Outside = 'o',  // waits for something outside of virtual time
    Ended = 'e',
  } state = Computes;
  const char* call = nullptr;  // of MPI that it is in
};

/// Of its first thread.
std::vector<RankNow> ranks_now(const Scheduler& scheduler, const Supervisor& supervisor,
                               const Segments& segments);

/// How far a run has come whose fabric is at `now`: ranks may be ahead of it.
Progress progress_now(Time now, const Supervisor& supervisor, const Segments& segments);

}  // namespace weft::host
