// The bytes of a fuzzer as values. At their end everything is 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  bool empty() const { return at_ >= bytes_.size(); }

  template <class T>
  T take() {
    T value{};
    fill(&value, sizeof value);
    return value;
  }
  unsigned below(unsigned limit) { return take<std::uint8_t>() % limit; }

  void fill(void* to, std::size_t length) {
    std::size_t there = std::min(length, bytes_.size() - at_);
    std::memset(to, 0, length);
    std::memcpy(to, bytes_.data() + at_, there);
    at_ += there;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace weft::fuzz
