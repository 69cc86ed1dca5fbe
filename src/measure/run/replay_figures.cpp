#include "measure/run/replay_figures.hpp"

#include <algorithm>
#include <limits>

namespace weft::measure {

using workload::Rank;

void ReplayFigures::starts(const std::vector<network::EndpointId>& endpoint) {
  const auto ranks = static_cast<unsigned>(endpoint.size());
  endpoint_ = endpoint;
  busy_until_.assign(ranks, Time{0});
  stats_.emplace(ranks);
  details_.emplace(ranks);
  // What arrives is kept with ranks of 16 bits: the waits of more are not explained.
  if (ranks <= std::numeric_limits<std::uint16_t>::max()) waits_.emplace(ranks);
  result_.ranks.resize(ranks);
  for (Rank r = 0; r < ranks; ++r) result_.ranks[r].node = endpoint[r];
}

void ReplayFigures::busy(Rank rank, Time from, Time until) {
  wait(rank, busy_until_[rank], from);
  busy_until_[rank] = until;
}

void ReplayFigures::wait(Rank rank, Time from, Time until) {
  if (until <= from) return;
  details_->times.add(RankTimes::Waiting, rank, from, until);
  details_->times.add(RankTimes::Idle, rank, from, until);
  if (waits_) waits_->wait(rank, from, until);
  result_.ranks[rank].waited = result_.ranks[rank].waited + (until - from);
  if (on_wait) on_wait(rank, from, until);
}

void ReplayFigures::message(Rank rank, Rank to, std::uint64_t bytes, Time from, Time until,
                            bool by_interface) {
  nic::Record record{};
  record.operation = by_interface ? nic::Operation::Trigger : nic::Operation::Message;
  record.status = nic::Status::Ok;
  record.length = bytes;
  record.begin = from;
  record.end = until;
  record.parts.part[nic::Breakdown::Wire] = until - from;
  stats_->add(record, rank, to);
  if (waits_) waits_->operation(record, rank, to);
  details_->transfers.add(record, endpoint_[rank], endpoint_[to]);
  if (on_record) on_record(record, rank, to);
}

void ReplayFigures::finish(const workload::ExecutionResult& run, const machine::Machine& machine) {
  result_.fine = run.finished;
  result_.end = run.completion;
  if (!run.finished && !run.stall.empty()) {
    result_.failure = run.stall.front();
    result_.details.assign(run.stall.begin() + 1, run.stall.end());
  }
  for (Rank r = 0; r < result_.ranks.size(); ++r) {
    wait(r, busy_until_[r], run.rank_end[r]);
    result_.ranks[r].end = run.rank_end[r];
    result_.ranks[r].ended = run.finished;
    result_.end = std::max(result_.end, run.rank_end[r]);
  }
  if (!run.finished || !waits_) return;
  const std::vector<std::vector<abi::CallRecord>> no_calls(result_.ranks.size());
  const RunHistory history(*waits_, no_calls, run.rank_end);
  details_->answer = find_causes(history, {machine, endpoint_, details_->transfers.all(), {}});
  details_->answer.partial = waits_->full();
}

}  // namespace weft::measure
