// GOAL schedules, the text format of LogGOPSim: https://spcl.inf.ethz.ch/Research/Performance/LogGOPSim/
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 100            a step of computing, in nanoseconds
//     l2: send 64b to 1 tag 7
//     l2 requires l1          l2 starts when l1 has ended
//     l3: recv 64b from 1
//     l3 irequires l2         l3 starts when l2 has started
//   }
//
// Comments are // and /* */. What Weft does not have (a second processor or interface of a rank) is refused,
// not skipped.
#pragma once

#include <string>
#include <string_view>

#include "workload/program.hpp"

namespace weft::workload {

/// Throws UserError with every mistake found, each with its line.
Program parse_goal(std::string_view text, const std::string& source);
Program read_goal(const std::string& path);

}  // namespace weft::workload
