#include "app/run_watch.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/output_file.hpp"
#include "workload/trace.hpp"

namespace weft::app {

RunWatch::RunWatch(unsigned ranks, bool figures, const std::string& trace, const std::string& record)
    : figures_(figures), record_(record), stats_(ranks), details_(ranks) {
  if (!trace.empty()) trace_.emplace(trace);
  if (record.empty()) return;
  if (!record.ends_with(".weftrace"))
    throw UserError(
        fmt::format("--record {}: expected a name that ends with .weftrace, as replay knows it by", record));
  write_file(record, "");
  recorder_.emplace(ranks);
}

void RunWatch::attach(host::Simulation& simulation) {
  if (!figures_ && !trace_ && !recorder_) return;
  simulation.fabric().on_record = [this, &simulation](const nic::Record& record) {
    std::uint32_t from = simulation.rank_of({record.from, record.from_port});
    std::uint32_t to = simulation.rank_of({record.to, record.to_port});
    if (figures_) {
      stats_.add(record, from, to);
      details_.transfers.add(record, simulation.fabric().node(record.from),
                             simulation.fabric().node(record.to));
    }
    if (trace_) trace_->operation(record, from, to);
    if (recorder_) recorder_->operation(record, from, to);
  };
  simulation.on_wait = [this](std::uint32_t rank, std::uint32_t lane, Time from, Time until, abi::Call call) {
    if (figures_ && lane == 0) {
      details_.times.add(measure::RankTimes::Idle, rank, from, until);
      if (host::waits_for_others(call)) details_.times.add(measure::RankTimes::Waiting, rank, from, until);
    }
    if (trace_) trace_->wait(rank, lane, from, until, host::call_name(call));
    if (recorder_) recorder_->wait(rank, lane, from, until, call);
  };
  if (trace_)
    for (std::uint32_t rank = 0; rank < stats_.ranks(); ++rank) trace_->rank(rank, simulation.node_of(rank));
}

void RunWatch::finish(host::Simulation& simulation, const host::RunResult& result) {
  if (figures_) {
    std::vector<std::vector<abi::CallRecord>> calls;
    for (std::uint32_t rank = 0; rank < stats_.ranks(); ++rank) {
      calls.push_back(simulation.calls(rank));
      for (const abi::CallRecord& call : calls.back())
        if (call.thread == 0)
          details_.times.add(measure::RankTimes::InMpi, rank, Time{call.begin}, Time{call.end});
    }
    details_.mpi = measure::profile_of(calls);
    details_.mpi.left_out = simulation.calls_left_out();
  }
  if (trace_) trace_->finish();
  if (trace_ && trace_->left_out())
    fmt::print(stderr, "weft: the trace holds the first operations only; {} are left out\n",
               trace_->left_out());
  if (!recorder_) return;
  if (!result.fine) {  // messages without an end would make a trace that cannot end
    std::error_code ignored;
    std::filesystem::remove(record_, ignored);
    return;
  }
  std::vector<Time> ends;
  for (const host::RankResult& rank : result.ranks) ends.push_back(rank.end);
  workload::save_trace(recorder_->finish(record_, ends), record_);
}

}  // namespace weft::app
