#include "app/run_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "report/otf2.hpp"
#include "report/trace_links.hpp"
#include "workload/trace.hpp"

namespace weft::app {

RunWatch::RunWatch(unsigned ranks, const WatchOptions& o)
    : figures_(o.figures),
      what_if_(o.what_if),
      record_(o.record),
      otf2_(o.otf2),
      stats_(ranks),
      details_(ranks),
      collectives_(ranks) {
  if (!o.otf2.empty()) report::check_otf2_folder(o.otf2);
  if (o.figures || !o.otf2.empty()) waits_.emplace(ranks);
  if (!o.trace.empty()) trace_.emplace(o.trace, o.trace_size);
  if (o.what_if || !o.record.empty()) recorder_.emplace(ranks);
  if (o.record.empty()) return;
  if (!o.record.ends_with(".weftrace"))
    throw UserError(fmt::format(
        "--record {}: expected a name that ends with .weftrace, as replay knows it by", o.record));
  write_file(o.record, "");
}

void RunWatch::attach(host::Simulation& simulation) {
  if (!waits_ && !trace_ && !recorder_) return;
  simulation.fabric().on_record = [this, &simulation](const nic::Record& record) {
    std::uint32_t from = simulation.rank_of({record.from, record.from_port});
    std::uint32_t to = simulation.rank_of({record.to, record.to_port});
    if (figures_) stats_.add(record, from, to);
    if (waits_) waits_->operation(record, from, to);
    if (shows_calls())
      details_.transfers.add(record, simulation.fabric().node(record.from),
                             simulation.fabric().node(record.to),
                             simulation.is_storage({record.from, record.from_port}));
    if (trace_) trace_->operation(record, from, to);
    if (recorder_) recorder_->operation(record, from, to);
  };
  simulation.on_wait = [this](std::uint32_t rank, std::uint32_t lane, Time from, Time until, abi::Call call) {
    if (figures_ && lane == 0) {
      details_.times.add(measure::RankTimes::Idle, rank, from, until);
      if (call == abi::Call::Room || call == abi::Call::Stall) for_room_ += until - from;
      if (host::waits_for_others(call)) {
        details_.times.add(measure::RankTimes::Waiting, rank, from, until);
        waits_->wait(rank, from, until);
      }
    }
    if (trace_) trace_->wait(rank, lane, from, until, host::call_name(call));
    if (recorder_) recorder_->wait(rank, lane, from, until, call);
  };
  if (trace_)
    for (std::uint32_t rank = 0; rank < stats_.ranks(); ++rank) trace_->rank(rank, simulation.node_of(rank));
}

void RunWatch::find_answer(host::Simulation& simulation, const host::RunResult& result,
                           const machine::Machine& machine,
                           std::vector<std::vector<measure::RankCall>> calls) {
  std::vector<Time> ends;
  measure::CauseFacts facts{machine, {}, details_.transfers.all(), {}};
  double stalled = 0, alive = 0;
  for (const host::RankResult& rank : result.ranks) {
    ends.push_back(rank.end);
    facts.nodes.push_back(rank.node);
    if (result.mpi.stalls > 0)
      facts.short_of_credit.push_back(static_cast<double>(rank.stalled.value) /
                                      static_cast<double>(std::max<std::int64_t>(1, rank.end.value)));
    alive += static_cast<double>(rank.end.value);
  }
  nic::Fabric& fabric = simulation.fabric();
  std::uint64_t translations = 0;
  for (nic::NicId i = 0; i < fabric.nics(); ++i) {
    const nic::Counters& counters = fabric.counters(i);
    stalled += counters.core_stall_time.picoseconds();
    facts.translation_misses += counters.translation_misses;
    translations += counters.translations;
  }
  // Libraries that see a full queue ask for room; others stand before it.
  stalled = std::max(stalled, for_room_.picoseconds());
  if (alive > 0) facts.stalled_share = stalled / alive;
  // Where most addresses are not in the tables, what interfaces take for operations is for looking them up.
  double in_interfaces = 0, all = 0;
  for (std::size_t i = 1; i < measure::kOperations; ++i) {
    const measure::OperationSums& sums = stats_.operations(i);
    all += sums.total.picoseconds();
    in_interfaces +=
        sums.parts[nic::Breakdown::Nic].picoseconds() + sums.parts[nic::Breakdown::RemoteNic].picoseconds();
  }
  if (all > 0 && 2 * facts.translation_misses > translations) facts.translation_share = in_interfaces / all;
  const measure::RunHistory history(*waits_, std::move(calls), std::move(ends));
  details_.answer = measure::find_causes(history, facts);
  details_.answer.partial = waits_->full() || details_.mpi.left_out > 0;
}

void RunWatch::write_archive(const host::RunResult& result, const machine::Machine& machine,
                             const std::vector<std::vector<abi::CallRecord>>& calls) const {
  std::vector<std::uint32_t> nodes;
  for (const host::RankResult& rank : result.ranks) nodes.push_back(rank.node);
  report::write_otf2(otf2_,
                     {machine.description.identity.name, nodes, calls, waits_->arrivals(), result.end});
  if (waits_->full())
    fmt::print(stderr,
               "weft: the run was too long to keep all messages of it: the archive has the first ones\n");
}

void RunWatch::take_calls(host::Simulation& simulation, const host::RunResult& result,
                          const machine::Machine& machine) {
  std::vector<std::vector<abi::CallRecord>> whole(stats_.ranks());
  std::vector<std::vector<measure::RankCall>> kept(stats_.ranks());
  measure::MpiProfiler profiler;
  for (std::uint32_t rank = 0; rank < stats_.ranks(); ++rank) {
    std::vector<abi::CallRecord> calls = simulation.calls(rank);
    for (const abi::CallRecord& call : calls)
      if (call.thread == 0)
        details_.times.add(measure::RankTimes::InMpi, rank, Time{call.begin}, Time{call.end});
    profiler.add(rank, calls);
    if (recorder_) collectives_.add(rank, calls);
    if (trace_) trace_->calls(rank, calls);
    if (figures_) kept[rank] = measure::rank_calls(calls);
    if (!otf2_.empty()) whole[rank] = std::move(calls);
  }
  details_.mpi = profiler.profile();
  details_.mpi.left_out = simulation.calls_left_out();
  if (trace_) {
    report::trace_links(*trace_, details_.transfers.all(), result.end, machine);
    trace_->finish();
  }
  if (!otf2_.empty()) write_archive(result, machine, whole);
  if (figures_) find_answer(simulation, result, machine, std::move(kept));
}

void RunWatch::finish(host::Simulation& simulation, const host::RunResult& result,
                      const machine::Machine& machine) {
  if (wants_calls()) take_calls(simulation, result, machine);
  if (trace_ && trace_->left_out())
    fmt::print(stderr,
               "weft: the trace would be longer than --trace-size: {} are left out, the last of operations, "
               "waits and calls\n",
               count_of(trace_->left_out(), "event"));
  if (!recorder_) return;
  if (!result.fine) {  // messages without an end would make a trace that cannot end
    std::error_code ignored;
    if (!record_.empty()) std::filesystem::remove(record_, ignored);
    return;
  }
  std::vector<Time> ends;
  for (const host::RankResult& rank : result.ranks) ends.push_back(rank.end);
  collectives_.settle();
  recording_ = recorder_->finish(record_, ends, collectives_);
  if (!record_.empty() && details_.mpi.left_out)
    fmt::print(stderr,
               "weft: {}: the run was too long to keep all its calls: collectives after the first ones are "
               "messages like others there\n",
               record_);
  if (!record_.empty()) workload::save_trace(*recording_, record_);
}

}  // namespace weft::app
