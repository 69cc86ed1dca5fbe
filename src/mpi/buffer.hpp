// A buffer of a program, perhaps in several parts.
#pragma once

#include <sys/uio.h>

#include <cstddef>

namespace weft::mpi {

inline constexpr unsigned kMostParts = 8;

struct Buffer {
  iovec part[kMostParts];
  unsigned parts = 0;
  std::size_t length = 0;

  Buffer() = default;
  Buffer(const iovec* v, std::size_t count);
  Buffer(const void* base, std::size_t bytes);
  void write(std::size_t offset, const void* from, std::size_t bytes) const;
  void read(std::size_t offset, void* to, std::size_t bytes) const;
  bool whole() const { return parts <= 1; }
};

}  // namespace weft::mpi
