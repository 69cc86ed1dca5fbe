// Numbers drawn one after the other, and small machines drawn from everything that is registered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace weft::measure {

/// Each scenario has its own.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t number) : seed_(seed), number_(number) {}
  std::uint32_t below(std::uint32_t bound) { return random_below(seed_, number_, step_++, bound); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(static_cast<std::uint32_t>(list.size()))];
  }

 private:
  std::uint64_t seed_, number_, step_ = 0;
};

/// A topology, one of its examples, and a routing that does not refuse it, with one of its variants.
struct DrawnMachine {
  std::string topology, routing;
  std::vector<std::string> settings;  // "topology.dims=[4,4]", "routing.mode=\"ugal\""
  std::string text() const;           // [topology] and [routing] of a description
};
DrawnMachine draw_machine(Draws& draw);

}  // namespace weft::measure
