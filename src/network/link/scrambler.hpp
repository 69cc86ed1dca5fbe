// The scrambler of 64b/66b links, x^58 + x^39 + 1: the line carries each bit xor those 39 and 58 before it.
//
// It is self-synchronous: the descrambler works from the line's own bits, so whatever its register held, it
// is right after 58 good bits, and one wrong bit on the line makes three wrong ones: itself, and those 39 and
// 58 later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::network::link {

class Scrambler {
 public:
  void scramble(std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) shift_in(bytes[i] ^= feedback());
  }
  void descramble(std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      std::uint8_t line = bytes[i];
      bytes[i] ^= feedback();
      shift_in(line);
    }
  }

 private:
  // Both taps lie more than eight bits back, so a byte goes in one step.
  std::uint8_t feedback() const { return static_cast<std::uint8_t>(last_ ^ last_ >> (58 - 39)); }
  void shift_in(std::uint8_t line) { last_ = last_ >> 8 | std::uint64_t{line} << 50; }

  std::uint64_t last_ = 0x2a5'5a5a'3c3c'9669u & ((std::uint64_t{1} << 58) - 1);  // 58 bits, oldest lowest
};

}  // namespace weft::network::link
