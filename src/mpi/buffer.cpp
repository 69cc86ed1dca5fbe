#include "mpi/buffer.hpp"

#include <string.h>

#include <algorithm>

namespace weft::mpi {

Buffer::Buffer(const iovec* v, std::size_t count) : parts(static_cast<unsigned>(count)) {
  for (unsigned i = 0; i < parts; ++i) {
    part[i] = v[i];
    length += v[i].iov_len;
  }
}

Buffer::Buffer(const void* base, std::size_t bytes) : parts(1), length(bytes) {
  part[0] = {const_cast<void*>(base), bytes};
}

namespace {

/// Calls `visit(address, bytes)` for each part of [offset, offset + bytes).
template <class Visit>
void for_parts(const Buffer& b, std::size_t offset, std::size_t bytes, Visit visit) {
  for (unsigned i = 0; i < b.parts && bytes; ++i) {
    if (offset >= b.part[i].iov_len) {
      offset -= b.part[i].iov_len;
      continue;
    }
    std::size_t here = std::min(bytes, b.part[i].iov_len - offset);
    visit(static_cast<char*>(b.part[i].iov_base) + offset, here);
    bytes -= here;
    offset = 0;
  }
}

}  // namespace

void Buffer::write(std::size_t offset, const void* from, std::size_t bytes) const {
  auto* at = static_cast<const char*>(from);
  for_parts(*this, offset, bytes, [&](char* part_at, std::size_t here) {
    memcpy(part_at, at, here);
    at += here;
  });
}

void Buffer::read(std::size_t offset, void* to, std::size_t bytes) const {
  auto* at = static_cast<char*>(to);
  for_parts(*this, offset, bytes, [&](char* part_at, std::size_t here) {
    memcpy(at, part_at, here);
    at += here;
  });
}

}  // namespace weft::mpi
