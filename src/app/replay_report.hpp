// The report and the trace of a replay: those of a run, as far as there is something to tell.
#pragma once

#include <optional>
#include <string>

#include "base/json.hpp"
#include "measure/run/replay_figures.hpp"
#include "report/trace.hpp"
#include "workload/replay.hpp"

namespace weft::app {

/// What the interfaces run of a trace's collectives, and what they do not, and why.
std::string offload_text(const workload::JobResult& job);
/// What a replay found, for programs.
Json replay_json(const workload::ReplayResult& result, const machine::Machine& machine);

class ReplayReport {
 public:
  struct Options {
    std::string folder, trace;  // empty: none
    std::uint64_t trace_size = report::Trace::kUsualSize;
    std::string command;
    std::uint64_t seed = 1;
  };
  /// A folder that cannot be made, or a file that cannot be written, is refused before the replay.
  explicit ReplayReport(const Options& options);

  /// Null where nothing is to be written: then a replay tells nothing, and is faster.
  workload::ExecutionObserver* observer() {
    return options_.folder.empty() && options_.trace.empty() ? nullptr : &figures_;
  }
  /// Once the replay is over. Its answer is added to `json`, which goes into the folder too.
  void finish(const workload::ReplayResult& result, const machine::Machine& machine, Json& json);
  /// Why it took as long; empty where nobody knows.
  const std::string& answer() const { return answer_; }

 private:
  void write(const workload::ReplayResult& result, const machine::Machine& machine, Json json) const;
  void name_ranks();

  Options options_;
  measure::ReplayFigures figures_;
  std::optional<report::Trace> trace_;
  std::string answer_;
  bool named_ = false;
};

}  // namespace weft::app
