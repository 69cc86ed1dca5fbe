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

/// A point while it runs.
struct PointView {
  const char* phase;  // "warms up" or "is measured"
  const network::CycleEngine& engine;
  double accepted;  // flits per sender and cycle, since the last steady state was looked for
  double latency;   // cycles, the same
};

/// Somebody who looks on. Each point is told of by the thread that runs it.
class SweepViewer {
 public:
  virtual ~SweepViewer() = default;
  /// Asked some times a second; may stay for as long as the sweep is to stand still.
  virtual bool wants(std::size_t point) = 0;
  virtual void see(std::size_t point, const PointView& view) = 0;
};

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
  SweepViewer* viewer = nullptr;
};

/// Runs one load, number `index` of those somebody looks at, until its figures are good, or a batch until it
/// is delivered. Nothing where `cancelled` became true.
std::optional<TrafficPoint> run_point(const Experiment& experiment, double load,
                                      const std::function<bool()>& cancelled, std::size_t index = 0);

}  // namespace weft::measure
