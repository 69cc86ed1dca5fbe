// Bytes of a disk that take memory only where they were written: of nobody else, or of a sparse file.
#pragma once

#include <cstdint>
#include <string>

namespace weft::node {

class Backing {
 public:
  /// `file` empty: memory. Throws UserError where a file cannot be opened or made so large.
  Backing(std::uint64_t size, const std::string& file);
  ~Backing();
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;

  std::uint8_t* bytes() { return bytes_; }
  std::uint64_t size() const { return size_; }
  /// Zeroes.
  void clear(std::uint64_t from, std::uint64_t bytes);

 private:
  std::uint64_t size_;
  std::uint8_t* bytes_ = nullptr;
};

}  // namespace weft::node
