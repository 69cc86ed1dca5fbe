#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

unsigned default_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

void parallel_for(std::uint64_t count, unsigned threads,
                  const std::function<void(unsigned, std::uint64_t)>& work) {
  threads = static_cast<unsigned>(std::clamp<std::uint64_t>(count, 1, std::max(1u, threads)));
  std::atomic<std::uint64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_guard;
  auto run = [&](unsigned thread) {
    try {
      for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(thread, i);
    } catch (...) {
      std::lock_guard lock(failure_guard);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::jthread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  others.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weft
