// Times in buckets that grow with the time: exact up to 255 cycles, then within 1 in 128.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "measure/traffic/result.hpp"
#include "network/ranks.hpp"

namespace weft::measure {

/// The bucket of a time: one per cycle up to 255, then 128 for each doubling.
constexpr std::size_t bucket_of(std::uint64_t cycles) {
  unsigned shift = cycles < 256 ? 0 : static_cast<unsigned>(std::bit_width(cycles)) - 8;
  return shift * std::size_t{128} + (cycles >> shift);
}

/// The shortest time in a bucket.
constexpr std::uint64_t bucket_start(std::size_t bucket) {
  if (bucket < 256) return bucket;
  std::size_t shift = bucket / 128 - 1;
  return std::uint64_t{bucket - shift * 128} << shift;
}

/// Counts and sums are whole numbers, so merging in any order gives the same.
class Histogram {
 public:
  void add(std::uint64_t cycles) {
    std::size_t bucket = bucket_of(cycles);
    if (bucket >= counts_.size()) [[unlikely]]
      counts_.resize(bucket + 1);
    ++counts_[bucket];
    ++packets_;
    sum_ += cycles;
    max_ = cycles > max_ ? cycles : max_;
  }
  void merge(const Histogram& other);
  /// With those of all other ranks; they have the result, too.
  void merge_over(network::Ranks& ranks);
  Latency summary() const;

 private:
  double quantile(double share) const;
  std::vector<std::uint64_t> counts_;
  std::uint64_t packets_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace weft::measure
