// Numbered objects that are taken and given back; their addresses stay.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

/// `kChunk` are made at once: few where there are many slabs.
template <class T, std::uint32_t kChunk = 256>
class Slab {
 public:
  T& operator[](std::uint32_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](std::uint32_t i) const { return chunks_[i / kChunk][i % kChunk]; }

  std::uint32_t take() {
    if (free_.empty()) {
      auto first = static_cast<std::uint32_t>(chunks_.size()) * kChunk;
      chunks_.push_back(std::make_unique<T[]>(kChunk));
      for (std::uint32_t i = kChunk; i > 0; --i) free_.push_back(first + i - 1);
    }
    std::uint32_t i = free_.back();
    free_.pop_back();
    ++used_;
    return i;
  }
  void give(std::uint32_t i) {
    free_.push_back(i);
    --used_;
  }
  std::uint32_t used() const { return used_; }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace weft
