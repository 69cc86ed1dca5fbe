// What a run would gain: its recording run again with one thing changed.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "network/network.hpp"
#include "workload/program.hpp"

namespace weft::measure {

struct Alternative {
  std::string what;
  Time completion{0};
  std::string failure;  // why it could not be run; empty where it was
};

struct WhatIf {
  /// The recording on the same machine, with nothing changed: what the others are compared with. It takes
  /// less than the run, since the hosts' and interfaces' share of latencies is not in a recording.
  Time as_it_was{0};
  std::vector<Alternative> alternatives;
  /// Of an alternative: its time over that of the recording as it was, less one.
  double change(const Alternative& a) const;
};

struct WhatIfOptions {
  std::string engine;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::vector<network::EndpointId> nodes;  // of each rank
  unsigned per_node = 1;
};

/// Ranks that compute alike, nobody in anybody's way, and other placements.
WhatIf what_if(const machine::Machine& machine, const workload::Program& recording,
               const WhatIfOptions& options);

/// The program with each rank's computing stretched so that all compute as long in total.
workload::Program balanced(workload::Program program);

}  // namespace weft::measure
