// A sweep over loads: points in parallel on the cores there are, ended early past saturation.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "machine/machine.hpp"
#include "measure/traffic/point.hpp"
#include "measure/traffic/result.hpp"
#include "network/cycle_engine.hpp"
#include "network/link/fault_script.hpp"
#include "workload/synthetic.hpp"

namespace weft::measure {

struct SweepOptions {
  std::vector<double> loads;        // ascending
  unsigned threads = 1;             // of each engine; with one, points run in parallel
  network::Ranks* ranks = nullptr;  // processes that run the machine together; all call sweep()
  std::uint64_t age_limit = 0;      // cycles a packet may be in the network; 0: any time
  /// Called as each point ends, one call at a time, in any order.
  std::function<void(const TrafficPoint& point, std::size_t done)> progress;
  const std::atomic<bool>* interrupted = nullptr;
  SweepViewer* viewer = nullptr;                       // nobody else's figures change by it
  std::vector<network::link::FaultEvent> faults = {};  // of every point
  std::string engine = network::kReferenceEngine;      // one of the cycle engines
  bool until_full = false;  // past saturation: measure only once the network's buffers are full
};

/// Past saturation a curve has nothing more to tell: points after the second saturated one are left out,
/// whether or not another core had begun them, so that the result does not depend on the cores. Throws
/// UserError where machine, pattern and loads do not fit each other.
TrafficResult sweep(const machine::Machine& machine, const workload::Workload& workload,
                    const SweepOptions& options);

}  // namespace weft::measure
