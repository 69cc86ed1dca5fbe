// What ranks did over time, in slices: waiting, and in MPI. Slices are merged in pairs as a run grows longer,
// so memory does not grow with it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/quantity.hpp"

namespace weft::measure {

class RankTimes {
 public:
  enum Kind { Waiting, InMpi, Idle, kKinds };  // Idle: in any call that took time, asleep among them
  static constexpr unsigned kSlices = 256;

  /// Of at most 1024 ranks; further ones are not kept.
  explicit RankTimes(unsigned ranks);

  unsigned ranks() const { return static_cast<unsigned>(rows_.size()); }
  void add(Kind kind, std::uint32_t rank, Time from, Time until);

  Time slice() const { return Time{kFirstSlice << doublings_}; }
  /// How long in a slice.
  Time in(Kind kind, std::uint32_t rank, unsigned slice) const;
  Time total(Kind kind, std::uint32_t rank) const;

 private:
  using Row = std::array<std::array<std::int64_t, kSlices>, kKinds>;
  static constexpr std::int64_t kFirstSlice = 1000;
  void merge();

  std::vector<Row> rows_;
  unsigned doublings_ = 0;
};

}  // namespace weft::measure
