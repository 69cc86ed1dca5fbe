// Parts of a block, as ranges that neither touch nor overlap, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::storage {

class Extents {
 public:
  struct Range {
    std::uint64_t begin, end;
  };

  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto first = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.end >= begin; });
    auto last = first;
    for (; last != ranges_.end() && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    first = ranges_.erase(first, last);
    ranges_.insert(first, {begin, end});
  }
  /// What lies behind is forgotten.
  void cut(std::uint64_t end) {
    std::erase_if(ranges_, [&](const Range& r) { return r.begin >= end; });
    if (!ranges_.empty()) ranges_.back().end = std::min(ranges_.back().end, end);
  }
  bool covers(std::uint64_t begin, std::uint64_t end) const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const Range& r) { return r.begin <= begin && end <= r.end; });
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Range& r : ranges_) sum += r.end - r.begin;
    return sum;
  }
  bool empty() const { return ranges_.empty(); }
  void clear() { ranges_.clear(); }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

}  // namespace weft::storage
