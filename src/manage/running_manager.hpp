// The manager of a machine that runs: what it takes to find out what is left after a failure, and to write
// routes around it, by reads and writes of registers over the network.
#pragma once

#include "manage/recovery.hpp"

namespace weft::manage {

class RunningManager {
 public:
  /// Has found the machine, and knows how its links are. Throws UserError where there is no such endpoint.
  RunningManager(const machine::Machine& machine, EndpointId node);

  /// To find the machine anew.
  Time detect() const { return detect_; }
  /// To write the tables of a machine that these have happened to. Where the manager's node is cut off,
  /// another takes over.
  Time write(const topology::Faults& faults);

 private:
  EndpointId name_successor(const topology::Faults& faults);

  const Graph& graph_;
  Wiring wiring_;
  Chips chips_;
  EndpointId node_, successor_;
  Discovery found_;
  Time detect_{0};
  RecoveringManager manager_;
};

}  // namespace weft::manage
