#include "measure/traffic/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace weft::measure {

void Histogram::merge(const Histogram& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  packets_ += other.packets_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double Histogram::quantile(double share) const {
  auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(packets_))));
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (before + counts_[i] < rank) {
      before += counts_[i];
      continue;
    }
    // Times are taken to lie evenly within their bucket; in a bucket of one cycle that is exact.
    auto width = static_cast<double>(bucket_start(i + 1) - bucket_start(i) - 1);
    double inside = (static_cast<double>(rank - before) - 0.5) / static_cast<double>(counts_[i]);
    return std::min(static_cast<double>(bucket_start(i)) + width * inside, static_cast<double>(max_));
  }
  return 0;
}

void Histogram::merge_over(network::Ranks& ranks) {
  std::uint64_t most[] = {counts_.size(), max_};
  ranks.most(most);
  counts_.resize(most[0]);
  max_ = most[1];
  ranks.sum(counts_);
  std::uint64_t sums[] = {packets_, sum_};
  ranks.sum(sums);
  packets_ = sums[0];
  sum_ = sums[1];
}

Latency Histogram::summary() const {
  Latency out;
  if (packets_ == 0) return out;
  out.packets = packets_;
  out.mean = static_cast<double>(sum_) / static_cast<double>(packets_);
  out.p50 = quantile(0.5);
  out.p99 = quantile(0.99);
  out.p999 = quantile(0.999);
  out.max = static_cast<double>(max_);
  out.histogram = counts_;
  return out;
}

}  // namespace weft::measure
