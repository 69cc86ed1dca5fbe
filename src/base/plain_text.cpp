#include "base/plain_text.hpp"

#include <fmt/format.h>

namespace weft {

namespace {

/// Those above ASCII are two bytes: 0xc2, and one of 0x80 to 0x9f.
std::optional<unsigned> control_at(std::string_view text, std::size_t i) {
  auto c = static_cast<unsigned char>(text[i]);
  if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f) return c;
  if (c != 0xc2 || i + 1 == text.size()) return std::nullopt;
  auto second = static_cast<unsigned char>(text[i + 1]);
  return second >= 0x80 && second < 0xa0 ? std::optional<unsigned>(second) : std::nullopt;
}

}  // namespace

std::optional<unsigned> control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (auto c = control_at(text, i)) return c;
  return std::nullopt;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = control_at(text, i);
    out += c ? fmt::format("\\x{:02x}", *c) : std::string(1, text[i]);
    i += c && *c >= 0x80;
  }
  return out;
}

}  // namespace weft
