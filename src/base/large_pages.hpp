// Memory for large arrays: in large pages where the system has them, which saves a walk through its page
// tables for most records touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace weft {

template <class T>
struct LargePages {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{2} << 20, kWorthIt = kPage / 16;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}
  T* allocate(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    if (bytes < kWorthIt) return std::allocator<T>().allocate(count);
    bytes = (bytes + kPage - 1) / kPage * kPage;
    void* memory = std::aligned_alloc(kPage, bytes);
    if (!memory) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: nothing depends on it
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kWorthIt)
      std::allocator<T>().deallocate(memory, count);
    else
      std::free(memory);
  }
  friend bool operator==(LargePages, LargePages) { return true; }
};
template <class T>
using LargeArray = std::vector<T, LargePages<T>>;

}  // namespace weft
