#include "base/crc.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

/// Bit by bit, as the standard writes it.
std::uint32_t slowly(const std::uint8_t* bytes, std::size_t size) {
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

TEST(Crc, IsTheStandardsAtEveryLengthAndPlace) {
  EXPECT_EQ(crc32(0, "123456789", 9), 0xcbf43926u);
  std::vector<std::uint8_t> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i + 31 * i);
  for (std::size_t from = 0; from < 17; ++from)
    for (std::size_t size = 0; size <= 260; ++size)
      ASSERT_EQ(crc32(0, &bytes[from], size), slowly(&bytes[from], size)) << from << " " << size;
}

TEST(Crc, GoesOnWhereItStopped) {
  const char text[] = "bytes that come in two parts";
  for (std::size_t cut = 0; cut < sizeof text; ++cut)
    EXPECT_EQ(crc32(crc32(0, text, cut), text + cut, sizeof text - cut), crc32(0, text, sizeof text));
}

}  // namespace
}  // namespace weft
