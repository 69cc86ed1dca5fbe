// Threads that are kept from one run of an engine to the next: a run may be a few cycles long, and to start a
// thread takes longer than that.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::network::flit {

class ThreadTeam {
 public:
  /// `threads`: all of them, with the one that calls run().
  explicit ThreadTeam(unsigned threads) {
    for (unsigned t = 1; t < threads; ++t) threads_.emplace_back([this, t] { serve(t); });
  }
  ~ThreadTeam() {
    over_ = true;
    begin_round();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls work(t) for every thread t at once, and returns when all have returned.
  template <class Work>
  void run(Work& work) {
    call_ = [](void* what, unsigned t) { (*static_cast<Work*>(what))(t); };
    what_ = &work;
    at_work_.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
    begin_round();
    work(0);
    for (unsigned looks = 0; at_work_.load(std::memory_order_acquire) > 0; ++looks)
      if (looks > kLooks) std::this_thread::yield();
  }

 private:
  // Between two runs a thread first looks, then gives the processor away, then sleeps: what is above the
  // engine takes microseconds to answer, or minutes.
  static constexpr unsigned kLooks = 500, kYields = 200;

  void begin_round() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void serve(unsigned t) noexcept {
    for (std::uint32_t seen = 0;;) {
      for (unsigned looks = 0; round_.load(std::memory_order_acquire) == seen; ++looks) {
        if (looks > kLooks + kYields)
          round_.wait(seen, std::memory_order_acquire);
        else if (looks > kLooks)
          std::this_thread::yield();
      }
      ++seen;
      if (over_) return;
      call_(what_, t);
      at_work_.fetch_sub(1, std::memory_order_release);
    }
  }

  void (*call_)(void* what, unsigned t) = nullptr;
  void* what_ = nullptr;
  bool over_ = false;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
  alignas(64) std::atomic<std::uint32_t> at_work_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace weft::network::flit
