// Bytes of a device that take memory only where they were written: of nobody else, of a sparse file, or of
// one without a name that processes can map as well.
#pragma once

#include <cstdint>
#include <string>

namespace weft::node {

class Backing {
 public:
  /// `file` empty: memory. Throws UserError where a file cannot be opened or made so large.
  Backing(std::uint64_t size, const std::string& file);
  /// Memory that other processes may map, by its file.
  explicit Backing(std::uint64_t size);
  ~Backing();
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;

  std::uint8_t* bytes() { return bytes_; }
  std::uint64_t size() const { return size_; }
  /// -1 where nobody else can map it.
  int file() const { return file_; }
  /// Zeroes.
  void clear(std::uint64_t from, std::uint64_t bytes);

 private:
  std::uint64_t size_;
  std::uint8_t* bytes_ = nullptr;
  int file_ = -1;
};

}  // namespace weft::node
