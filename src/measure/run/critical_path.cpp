#include "measure/run/critical_path.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::measure {

using abi::CallRecord;
using Kind = PathPiece::Kind;

namespace {

/// The first place whose element is not `before`, looked for around another.
template <typename Element, typename Before>
std::size_t place_near(const std::vector<Element>& all, std::size_t& place, const Before& before) {
  std::size_t low = 0, high = std::min(place, all.size()), step = 1;
  if (high < all.size() && before(all[high])) {
    for (low = high + 1; low + step <= all.size() && before(all[low + step - 1]); step *= 2) low += step;
    high = std::min(all.size(), low + step - 1);
  } else {
    for (; high >= step && !before(all[high - step]); step *= 2) high -= step;
    low = high >= step ? high - step + 1 : 0;
  }
  const auto first = all.begin();
  place = static_cast<std::size_t>(std::partition_point(first + static_cast<std::ptrdiff_t>(low),
                                                        first + static_cast<std::ptrdiff_t>(high), before) -
                                   first);
  return place;
}

}  // namespace

std::vector<RankCall> rank_calls(const std::vector<CallRecord>& all) {
  auto counts = [](const CallRecord& call) { return call.thread == 0 && call.end >= call.begin; };
  std::vector<RankCall> out;
  out.reserve(static_cast<std::size_t>(std::count_if(all.begin(), all.end(), counts)));
  constexpr std::int32_t kMostPeers = (1 << 21) - 1;
  for (const CallRecord& call : all)
    if (counts(call))
      out.push_back({call.begin, call.end,
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(call.bytes, UINT32_MAX)),
                     call.call & 0x3ffu, std::clamp(call.peer, -kMostPeers, kMostPeers)});
  auto earlier = [](const RankCall& a, const RankCall& b) { return a.begin < b.begin; };
  if (!std::is_sorted(out.begin(), out.end(), earlier)) std::stable_sort(out.begin(), out.end(), earlier);
  return out;
}

void CriticalPath::add(const PathPiece& piece) {
  WEFT_CHECK(piece.until == (steps_.empty() ? end_ : steps_.back().from), "the critical path has a gap");
  steps_.push_back({piece.from, piece.arrival, static_cast<std::uint32_t>(piece.kind) & 3u,
                    piece.call & 0x3ffu, piece.rank & 0xfffffu});
}

RunHistory::RunHistory(const WaitRecorder& recorder, std::vector<std::vector<RankCall>> calls,
                       std::vector<Time> ends)
    : recorder_(recorder),
      calls_(std::move(calls)),
      ends_(std::move(ends)),
      at_(ends_.size()),
      places_(ends_.size()) {
  calls_.resize(ends_.size());
  const std::vector<Arrival>& all = recorder.arrivals();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    at_[all[i].from].push_back(i);  // it hears of its own operations' ends
    if (!all[i].comes_back && all[i].to != all[i].from) at_[all[i].to].push_back(i);
  }
  auto earlier = [&](std::uint32_t a, std::uint32_t b) { return all[a].end < all[b].end; };
  for (auto& mine : at_)
    if (!std::is_sorted(mine.begin(), mine.end(), earlier))
      std::stable_sort(mine.begin(), mine.end(), earlier);
}

const RankCall* RunHistory::call_at(std::uint32_t rank, std::int64_t time) const {
  const auto& mine = calls_[rank];
  const std::size_t after =
      place_near(mine, places_[rank].calls, [&](const RankCall& call) { return call.begin <= time; });
  if (after == 0) return nullptr;
  const RankCall& call = mine[after - 1];
  return time <= call.end ? &call : nullptr;
}

std::size_t RunHistory::wait_after(std::uint32_t rank, std::int64_t time) const {
  return place_near(waits(rank), places_[rank].waits,
                    [&](const RankWait& wait) { return wait.until <= time; });
}

std::uint32_t RunHistory::cause(std::uint32_t rank, const RankWait& wait) const {
  const std::vector<Arrival>& all = arrivals();
  const auto& mine = at_[rank];
  std::size_t at =
      place_near(mine, places_[rank].arrivals, [&](std::uint32_t i) { return all[i].end <= wait.until; });
  // What others sent before what it posted itself: it seldom waits for the latter, and both may end together.
  std::uint32_t own = kNoArrival, others = kNoArrival;
  while (others == kNoArrival && at > 0 && all[mine[--at]].end > wait.from) {
    if (all[mine[at]].from != rank)
      others = mine[at];
    else if (own == kNoArrival)
      own = mine[at];
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
                          CriticalPath& out) const {
  const auto& mine = calls_[rank];
  for (std::int64_t at = until; at > from;) {
    const std::size_t after =
        place_near(mine, places_[rank].calls, [&](const RankCall& call) { return call.begin < at; });
    const RankCall* call = after == 0 ? nullptr : &mine[after - 1];
    if (call && call->end >= at) {
      const std::int64_t begin = std::max(from, call->begin);
      out.add({Kind::InMpi, static_cast<std::uint16_t>(call->call), rank, kNoArrival, begin, at});
      at = begin;
    } else {
      const std::int64_t begin = std::max(from, call ? call->end : from);
      out.add({Kind::Computing, 0, rank, kNoArrival, begin, at});
      at = begin;
    }
  }
}

CriticalPath RunHistory::critical_path() const {
  if (ends_.empty()) return CriticalPath();
  auto rank = static_cast<std::uint32_t>(std::max_element(ends_.begin(), ends_.end()) - ends_.begin());
  CriticalPath out(ends_[rank].value);
  for (std::int64_t at = ends_[rank].value; at > 0;) {
    const auto& mine = waits(rank);
    const std::size_t after =
        place_near(mine, places_[rank].waits, [&](const RankWait& w) { return w.from < at; });
    if (after == 0) {
      own_time(rank, 0, at, out);
      break;
    }
    const RankWait& wait = mine[after - 1];
    const std::int64_t until = std::min(at, wait.until);
    own_time(rank, until, at, out);
    const RankCall* call = call_at(rank, until);
    const auto in = static_cast<std::uint16_t>(call ? call->call : 0);
    const std::uint32_t cause_of = cause(rank, {wait.from, until});
    if (cause_of == kNoArrival) {
      const std::uint32_t last = last_at_meeting(rank, {wait.from, until});
      if (last == rank) {  // nobody else is seen that it waits for
        out.add({Kind::Meeting, in, rank, kNoArrival, wait.from, until});
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
          out.add({Kind::Meeting, in, rank, kNoArrival, own.from, at});
          at = own.from;
        }
      }
      continue;
    }
    const Arrival& what = arrivals()[cause_of];
    const std::int64_t begin = std::min(what.begin, until - 1);
    out.add({Kind::Network, in, rank, cause_of, begin, until});
    rank = what.from;
    at = begin;
  }
  return out;
}

}  // namespace weft::measure
