#include "measure/run/rank_times.hpp"

#include <algorithm>
#include <numeric>

namespace weft::measure {

namespace {
constexpr unsigned kMostRanks = 1024;
}

RankTimes::RankTimes(unsigned ranks) : rows_(std::min(ranks, kMostRanks)) {}

void RankTimes::merge() {
  for (Row& row : rows_)
    for (auto& kind : row) {
      for (unsigned i = 0; i < kSlices / 2; ++i) kind[i] = kind[2 * i] + kind[2 * i + 1];
      std::fill(kind.begin() + kSlices / 2, kind.end(), 0);
    }
  ++doublings_;
}

void RankTimes::add(Kind kind, std::uint32_t rank, Time from, Time until) {
  if (rank >= rows_.size() || until <= from) return;
  while (until > slice() * kSlices) merge();
  auto& row = rows_[rank][kind];
  for (std::int64_t at = from.value; at < until.value;) {
    // As a constant and a shift: this is done for every wait and every call.
    const std::int64_t i = at / kFirstSlice >> doublings_;
    const std::int64_t end = std::min(until.value, (i + 1) * slice().value);
    row[static_cast<std::size_t>(i)] += end - at;
    at = end;
  }
}

Time RankTimes::in(Kind kind, std::uint32_t rank, unsigned slice) const {
  return Time{rows_[rank][kind][slice]};
}

Time RankTimes::total(Kind kind, std::uint32_t rank) const {
  const auto& row = rows_[rank][kind];
  return Time{std::accumulate(row.begin(), row.end(), std::int64_t{0})};
}

}  // namespace weft::measure
