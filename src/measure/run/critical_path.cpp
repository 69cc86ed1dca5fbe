#include "measure/run/critical_path.hpp"

#include <algorithm>

namespace weft::measure {

using abi::CallRecord;
using Kind = PathPiece::Kind;

RunHistory::RunHistory(const WaitRecorder& recorder, const std::vector<std::vector<CallRecord>>& calls,
                       std::vector<Time> ends)
    : recorder_(recorder), calls_(calls.size()), ends_(std::move(ends)), at_(ends_.size()) {
  calls_.resize(ends_.size());
  for (std::size_t rank = 0; rank < calls.size() && rank < ends_.size(); ++rank) {
    for (const CallRecord& call : calls[rank])
      if (call.thread == 0 && call.end >= call.begin) calls_[rank].push_back(call);
    auto earlier = [](const CallRecord& a, const CallRecord& b) { return a.begin < b.begin; };
    if (!std::is_sorted(calls_[rank].begin(), calls_[rank].end(), earlier))
      std::stable_sort(calls_[rank].begin(), calls_[rank].end(), earlier);
  }
  const std::vector<Arrival>& all = recorder.arrivals();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    at_[all[i].from].push_back({all[i].end, i});  // it hears of its own operations' ends
    if (!all[i].comes_back && all[i].to != all[i].from) at_[all[i].to].push_back({all[i].end, i});
  }
  auto earlier = [](const Ended& a, const Ended& b) { return a.end < b.end; };
  for (auto& mine : at_)
    if (!std::is_sorted(mine.begin(), mine.end(), earlier))
      std::stable_sort(mine.begin(), mine.end(), earlier);
}

const CallRecord* RunHistory::call_at(std::uint32_t rank, std::int64_t time) const {
  const auto& mine = calls_[rank];
  auto after = std::upper_bound(mine.begin(), mine.end(), time,
                                [](std::int64_t t, const CallRecord& call) { return t < call.begin; });
  if (after == mine.begin()) return nullptr;
  const CallRecord& call = *std::prev(after);
  return time <= call.end ? &call : nullptr;
}

std::uint32_t RunHistory::cause(std::uint32_t rank, const RankWait& wait) const {
  const std::vector<Arrival>& all = arrivals();
  const auto& mine = at_[rank];
  auto after = std::upper_bound(mine.begin(), mine.end(), wait.until,
                                [](std::int64_t t, const Ended& e) { return t < e.end; });
  // What others sent before what it posted itself: it seldom waits for the latter, and both may end together.
  std::uint32_t own = kNoArrival, others = kNoArrival;
  for (auto at = after; others == kNoArrival && at != mine.begin() && (--at)->end > wait.from;) {
    if (all[at->number].from != rank)
      others = at->number;
    else if (own == kNoArrival)
      own = at->number;
  }
  const std::uint32_t last = others != kNoArrival ? others : own;
  if (last == kNoArrival) return last;
  // What came in the first half of a wait did not end it.
  constexpr std::int64_t kAtOnce = 2'000'000;
  const std::int64_t after_it = wait.until - all[last].end;
  return after_it <= kAtOnce || 2 * after_it <= wait.until - wait.from ? last : kNoArrival;
}

std::uint32_t RunHistory::last_at_meeting(std::uint32_t rank, const RankWait& wait) const {
  std::uint32_t last = rank;
  std::int64_t came = wait.from;
  for (std::uint32_t other = 0; other < ranks(); ++other) {
    const auto& all = waits(other);
    auto after = std::upper_bound(all.begin(), all.end(), wait.until,
                                  [](std::int64_t t, const RankWait& w) { return t < w.until; });
    if (after == all.begin()) continue;
    const RankWait& same = *std::prev(after);
    // One that does not wait at all came last.
    const std::int64_t comes = same.until == wait.until           ? same.from
                               : ends_[other].value >= wait.until ? wait.until
                                                                  : came;
    if (comes > came) came = comes, last = other;
  }
  return last;
}

void RunHistory::own_time(std::uint32_t rank, std::int64_t from, std::int64_t until,
                          std::vector<PathPiece>& out) const {
  const auto& mine = calls_[rank];
  for (std::int64_t at = until; at > from;) {
    auto after = std::lower_bound(mine.begin(), mine.end(), at,
                                  [](const CallRecord& call, std::int64_t t) { return call.begin < t; });
    const CallRecord* call = after == mine.begin() ? nullptr : &*std::prev(after);
    if (call && call->end >= at) {
      const std::int64_t begin = std::max(from, call->begin);
      out.push_back({Kind::InMpi, call->call, rank, kNoArrival, begin, at});
      at = begin;
    } else {
      const std::int64_t begin = std::max(from, call ? call->end : from);
      out.push_back({Kind::Computing, 0, rank, kNoArrival, begin, at});
      at = begin;
    }
  }
}

std::vector<PathPiece> RunHistory::critical_path() const {
  std::vector<PathPiece> out;
  if (ends_.empty()) return out;
  auto rank = static_cast<std::uint32_t>(std::max_element(ends_.begin(), ends_.end()) - ends_.begin());
  for (std::int64_t at = ends_[rank].value; at > 0;) {
    const auto& mine = waits(rank);
    auto after = std::lower_bound(mine.begin(), mine.end(), at,
                                  [](const RankWait& w, std::int64_t t) { return w.from < t; });
    if (after == mine.begin()) {
      own_time(rank, 0, at, out);
      break;
    }
    const RankWait& wait = *std::prev(after);
    const std::int64_t until = std::min(at, wait.until);
    own_time(rank, until, at, out);
    const CallRecord* call = call_at(rank, until);
    const auto in = static_cast<std::uint16_t>(call ? call->call : 0);
    const std::uint32_t cause_of = cause(rank, {wait.from, until});
    if (cause_of == kNoArrival) {
      const std::uint32_t last = last_at_meeting(rank, {wait.from, until});
      if (last == rank) {  // nobody else is seen that it waits for
        out.push_back({Kind::Meeting, in, rank, kNoArrival, wait.from, until});
        at = wait.from;
      } else {
        rank = last;
        at = until;
        // That one is here without a wait of its own, or with a shorter one, so the walk goes on.
        const auto& theirs = waits(rank);
        auto next = std::lower_bound(theirs.begin(), theirs.end(), at,
                                     [](const RankWait& w, std::int64_t t) { return w.from < t; });
        if (next != theirs.begin() && std::prev(next)->until >= at) {
          const RankWait& own = *std::prev(next);
          out.push_back({Kind::Meeting, in, rank, kNoArrival, own.from, at});
          at = own.from;
        }
      }
      continue;
    }
    const Arrival& what = arrivals()[cause_of];
    const std::int64_t begin = std::min(what.begin, until - 1);
    out.push_back({Kind::Network, in, rank, cause_of, begin, until});
    rank = what.from;
    at = begin;
  }
  return out;
}

}  // namespace weft::measure
