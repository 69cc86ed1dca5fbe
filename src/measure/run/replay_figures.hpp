// What the report of a run is made of, taken from a replay: a rank's processor is busy, or waits for
// messages.
#pragma once

#include <functional>
#include <optional>

#include "measure/run/run_details.hpp"
#include "measure/run/run_stats.hpp"
#include "workload/executor.hpp"

namespace weft::measure {

class ReplayFigures : public workload::ExecutionObserver {
 public:
  void starts(const std::vector<network::EndpointId>& endpoint) override;
  void busy(workload::Rank rank, Time from, Time until) override;
  void message(workload::Rank rank, workload::Rank to, std::uint64_t bytes, Time from, Time until,
               bool by_interface) override;

  /// The replay is over: what ranks waited at last, and why it took as long.
  void finish(const workload::ExecutionResult& run, const machine::Machine& machine);

  const std::vector<network::EndpointId>& endpoint() const { return endpoint_; }
  const RunStats& stats() const { return *stats_; }
  const RunDetails& details() const { return *details_; }
  const host::RunResult& result() const { return result_; }

  // Told of the same, for traces; may be empty.
  std::function<void(const nic::Record& record, std::uint32_t from, std::uint32_t to)> on_record;
  std::function<void(std::uint32_t rank, Time from, Time until)> on_wait;

 private:
  void wait(workload::Rank rank, Time from, Time until);

  std::vector<network::EndpointId> endpoint_;
  std::vector<Time> busy_until_;
  std::optional<RunStats> stats_;
  std::optional<RunDetails> details_;
  std::optional<WaitRecorder> waits_;
  host::RunResult result_;
};

}  // namespace weft::measure
