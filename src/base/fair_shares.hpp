// Classes that share something by weights. Each unit a class gets moves the class's own time on by what a
// unit costs it, 1 / weight; who is behind goes first (start-time fair queueing, Goyal, Vin and Cheng 1996).
// A class that wanted nothing for a while begins where the place is now: it gets no more for having been
// silent, and what it left was not lost for others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft {

/// Of any number of places, each shared for itself; units are what is shared, flits or bytes.
class FairShares {
 public:
  FairShares() = default;
  FairShares(const std::vector<unsigned>& weights, std::size_t places)
      : classes_(static_cast<unsigned>(weights.size())),
        now_(places, 0),
        free_at_(places * weights.size(), 0) {
    for (unsigned weight : weights) cost_.push_back(kUnit / weight);
  }

  /// The class with the lowest goes first.
  std::uint64_t start(std::size_t place, unsigned c) const {
    return std::max(now_[place], free_at_[place * classes_ + c]);
  }
  void charge(std::size_t place, unsigned c, std::uint64_t units) {
    const std::uint64_t begin = start(place, c);
    now_[place] = begin;
    free_at_[place * classes_ + c] = begin + cost_[c] * units;
  }

 private:
  static constexpr std::uint64_t kUnit = 1u << 24;  // shares are exact to a weight in so much
  unsigned classes_ = 1;
  std::vector<std::uint64_t> cost_;           // of a unit, by class
  std::vector<std::uint64_t> now_, free_at_;  // by place; by place and class
};

}  // namespace weft
