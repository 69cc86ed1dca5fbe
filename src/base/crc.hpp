// The CRC-32 of Ethernet and gzip.
#pragma once

#include <libdeflate.h>

#include <cstddef>
#include <cstdint>

namespace weft {

/// Of these bytes, going on from `before`, the CRC of those ahead of them; 0 where there are none.
inline std::uint32_t crc32(std::uint32_t before, const void* bytes, std::size_t size) {
  return size == 0 ? before : libdeflate_crc32(before, bytes, size);
}

}  // namespace weft
