// The interface's translation of addresses: a set-associative cache with the least recently used page
// replaced.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/virtual_time.hpp"
#include "machine/nic_parameters.hpp"

namespace weft::nic {

/// A processor on the interface that keeps the translation table: one piece of work after the other.
class Microcontroller {
 public:
  /// When work is done that comes at `from`.
  Time serve(Time from, Time work) {
    if (free_ > from) ++waits_;
    free_ = later(std::max(free_, from), work);
    busy_ = later(busy_, work);
    return free_;
  }
  std::uint64_t waits() const { return waits_; }
  Time busy() const { return busy_; }

 private:
  Time free_{0}, busy_{0};
  std::uint64_t waits_ = 0;
};

class TranslationCache {
 public:
  explicit TranslationCache(const machine::NicParameters& p)
      : mode_(p.translation),
        page_shift_(__builtin_ctzll(static_cast<std::uint64_t>(p.page.value))),
        ways_(p.translation_ways),
        sets_(p.translation_entries / p.translation_ways),
        microcontroller_(p.microcontroller),
        hit_(p.translation_hit),
        miss_(p.translation_miss + p.second_stage) {
    if (mode_ != machine::Translation::Cache) return;
    // Zero pages of the system: a cache of a million entries costs what is used of it.
    pages_.reset(static_cast<std::uint64_t*>(std::calloc(std::size_t{sets_} * ways_, sizeof(std::uint64_t))));
    if (!pages_) throw std::bad_alloc();
  }

  /// Time to translate the pages of a range from `from` on; `owner` tells address spaces apart.
  Time translate(std::uint32_t owner, std::uint64_t address, std::uint64_t length, Time from = {0}) {
    if (mode_ == machine::Translation::None) return {0};
    std::uint64_t first = address >> page_shift_, last = (address + (length ? length - 1 : 0)) >> page_shift_;
    Time total{0};
    for (std::uint64_t page = first; page <= last; ++page) {
      total = total + hit_;
      if (mode_ != machine::Translation::Cache || look_up(owner, page)) continue;
      total = microcontroller_ ? table_.serve(from + total, miss_) - from : total + miss_;
    }
    return total;
  }

  /// How much longer than `from` it takes until the table holds pages whose entries take `work` to write.
  Time update(Time from, Time work) { return microcontroller_ ? table_.serve(from, work) - from : work; }
  const Microcontroller& table() const { return table_; }

  std::uint64_t lookups() const { return lookups_; }
  std::uint64_t misses() const { return misses_; }

 private:
  bool look_up(std::uint32_t owner, std::uint64_t page) {
    ++lookups_;
    std::uint64_t entry = (std::uint64_t{owner} + 1) << 44 | (page & ((std::uint64_t{1} << 44) - 1));
    std::uint64_t* set = pages_.get() + ((page ^ owner * 0x9e3779b1u) % sets_) * ways_;
    unsigned way = 0;
    while (way < ways_ && set[way] != entry) ++way;
    bool found = way < ways_;
    if (!found) {
      ++misses_;
      way = ways_ - 1;
    }
    for (; way > 0; --way) set[way] = set[way - 1];  // the most recent stands first
    set[0] = entry;
    return found;
  }

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  machine::Translation mode_;
  int page_shift_;
  unsigned ways_, sets_;
  bool microcontroller_;
  Microcontroller table_;
  Time hit_, miss_;
  std::unique_ptr<std::uint64_t, Free> pages_;
  std::uint64_t lookups_ = 0, misses_ = 0;
};

}  // namespace weft::nic
