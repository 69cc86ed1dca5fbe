// Where threads wait for each other after every short piece of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft {

/// Waits by looking, then by giving the processor away: for waits of a microsecond a sleep would cost more
/// than the work, and where there are more threads than processors the one waited for must get its turn.
template <class Last>
class Barrier {
 public:
  /// `last` is called by the last to arrive, while all others wait.
  Barrier(std::uint32_t threads, Last last) : threads_(threads), last_(std::move(last)) {}

  void arrive_and_wait() {
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      last_();
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (unsigned looks = 0; round_.load(std::memory_order_acquire) == round; ++looks)
      if (looks > kLooks) std::this_thread::yield();
  }

 private:
  static constexpr unsigned kLooks = 500;
  const std::uint32_t threads_;
  Last last_;
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
};

}  // namespace weft
