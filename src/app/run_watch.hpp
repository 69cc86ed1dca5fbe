// Those who watch a run of programs: sums and details for its report, a trace to look at, a trace to replay.
#pragma once

#include <optional>
#include <string>

#include "host/simulation.hpp"
#include "measure/run/critical_path.hpp"
#include "measure/run/run_details.hpp"
#include "measure/run/run_stats.hpp"
#include "measure/run/trace_recorder.hpp"
#include "report/trace.hpp"

namespace weft::app {

struct WatchOptions {
  bool figures = false;  // they cost time for every operation, so they are taken where somebody wants them
  bool what_if = false;
  std::string trace, record, otf2;  // files, and the folder of an archive; empty: none
  std::uint64_t trace_size = report::Trace::kUsualSize;
};

class RunWatch {
 public:
  /// Files that cannot be written are refused before the run.
  RunWatch(unsigned ranks, const WatchOptions& options);

  /// A log of what ranks call in MPI.
  bool wants_calls() const { return shows_calls() || !record_.empty(); }
  /// Before the run; it must live until the run is over.
  void attach(host::Simulation& simulation);
  /// After the run: writes what is to be written, and says what is missing.
  void finish(host::Simulation& simulation, const host::RunResult& result, const machine::Machine& machine);

  const measure::RunStats& stats() const { return stats_; }
  const measure::RunDetails& details() const { return details_; }
  /// Where one was asked for, and the run came to its end.
  const workload::Program* recording() const { return recording_ ? &*recording_ : nullptr; }

 private:
  bool shows_calls() const { return figures_ || trace_ || !otf2_.empty(); }
  /// What ranks called, one rank after the other: only an archive needs all of it at once.
  void take_calls(host::Simulation& simulation, const host::RunResult& result,
                  const machine::Machine& machine);
  void write_archive(const host::RunResult& result, const machine::Machine& machine,
                     const std::vector<std::vector<abi::CallRecord>>& calls) const;
  void find_answer(host::Simulation& simulation, const host::RunResult& result,
                   const machine::Machine& machine, std::vector<std::vector<measure::RankCall>> calls);

  bool figures_, what_if_;
  std::string record_, otf2_;
  measure::RunStats stats_;
  measure::RunDetails details_;
  std::optional<measure::WaitRecorder> waits_;
  TimeSum for_room_;  // in their interfaces' queues, of all first threads
  std::optional<report::Trace> trace_;
  std::optional<measure::TraceRecorder> recorder_;
  measure::RecordedCollectives collectives_;
  std::optional<workload::Program> recording_;
};

}  // namespace weft::app
