// One load of a sweep, from an empty network to its figures.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"
#include "network/cycle_engine.hpp"
#include "network/link/fault_script.hpp"
#include "workload/synthetic.hpp"

namespace weft::measure {

/// Packets under way or waiting at their sources at any time: what a run may take of memory is 72 bytes for
/// each.
inline constexpr std::uint64_t kMostPackets = 48'000'000;

/// What all points of a sweep share.
struct Experiment {
  const machine::Machine& machine;
  const network::CycleEngineKind& engine;
  const network::CycleFacts& facts;
  const network::CycleOptions& options;
  const workload::Workload& workload;
  const workload::Members& members;
  const workload::Pattern& pattern;
  std::span<const network::link::FaultEvent> faults = {};
  bool until_full = false;  // past saturation: measure only once the network's buffers are full
};

/// Runs one load until its figures are good, or a batch until it is delivered. Nothing where `cancelled`
/// became true.
std::optional<TrafficPoint> run_point(const Experiment& experiment, double load,
                                      const std::function<bool()>& cancelled);

}  // namespace weft::measure
