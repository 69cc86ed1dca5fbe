// An array with an element for everything there is, of which a process has some runs only: addresses for all,
// memory for its own. So everything keeps its number wherever it is, an element is one addition away, and
// what is not here cannot be touched without being noticed.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/large_pages.hpp"

namespace weft {

/// Elements [begin, end).
struct Run {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  friend bool operator==(const Run&, const Run&) = default;
};

template <class T>
class PartArray {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

 public:
  PartArray() = default;
  /// `own`: in order, apart from each other; each of them becomes `value`.
  PartArray(std::size_t size, std::vector<Run> own, const T& value = {}) : size_(size) {
    for (const Run& run : own)
      if (run.begin < run.end) own_.push_back(run);
    if (own_.size() == 1 && own_.front() == Run{0, size})
      data_ = LargePages<T>().allocate(size);
    else if (!own_.empty())
      reserve();
    for (const Run& run : own_) std::uninitialized_fill(data_ + run.begin, data_ + run.end, value);
  }
  PartArray(PartArray&& other) noexcept { *this = std::move(other); }
  PartArray& operator=(PartArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(own_, other.own_);
    std::swap(reserved_, other.reserved_);
    std::swap(reserved_bytes_, other.reserved_bytes_);
    return *this;
  }
  ~PartArray() {
    if (reserved_)
      munmap(reserved_, reserved_bytes_);
    else if (data_)
      LargePages<T>().deallocate(data_, size_);
  }

  /// Of everything there is.
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  bool has(std::size_t i) const {
    for (const Run& run : own_)
      if (i - run.begin < run.size()) return true;
    return false;
  }
  /// What is here.
  const std::vector<Run>& own() const { return own_; }
  std::uint64_t own_bytes() const {
    std::uint64_t bytes = 0;
    for (const Run& run : own_) bytes += run.size() * sizeof(T);
    return bytes;
  }
  /// Over what is here, in order.
  template <class Array, class Element>
  struct Iterator {
    Array* array;
    std::size_t run, at;
    Element& operator*() const { return array->data_[at]; }
    Iterator& operator++() {
      if (++at == array->own_[run].end) at = ++run < array->own_.size() ? array->own_[run].begin : 0;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return run != other.run; }
  };
  Iterator<PartArray, T> begin() { return {this, 0, own_.empty() ? 0 : own_.front().begin}; }
  Iterator<PartArray, T> end() { return {this, own_.size(), 0}; }
  Iterator<const PartArray, const T> begin() const {
    return {this, 0, own_.empty() ? 0 : own_.front().begin};
  }
  Iterator<const PartArray, const T> end() const { return {this, own_.size(), 0}; }

 private:
  /// Takes addresses for all, and memory where an element is of this process.
  void reserve() {
    constexpr std::size_t kLarge = LargePages<T>::kPage;
    reserved_bytes_ = size_ * sizeof(T) + kLarge;
    reserved_ = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ == MAP_FAILED) {
      reserved_ = nullptr;
      throw std::bad_alloc();
    }
    const auto start = (reinterpret_cast<std::uintptr_t>(reserved_) + kLarge - 1) / kLarge * kLarge;
    data_ = reinterpret_cast<T*>(start);
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (const Run& run : own_) {
      const auto from = reinterpret_cast<std::uintptr_t>(data_ + run.begin) / page * page;
      const auto bytes = reinterpret_cast<std::uintptr_t>(data_ + run.end) - from;
      void* at = reinterpret_cast<void*>(from);
      if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(reserved_, reserved_bytes_);
        throw std::bad_alloc();
      }
      madvise(at, bytes, MADV_HUGEPAGE);  // only advice: nothing depends on it
    }
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::vector<Run> own_;
  void* reserved_ = nullptr;  // where the array is not whole
  std::size_t reserved_bytes_ = 0;
};

}  // namespace weft
