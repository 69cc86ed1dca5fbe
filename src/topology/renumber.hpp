// Routers in words: "r12.p3", "router 7", with other numbers.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::topology {

/// The same text with every router's number so much higher.
inline std::string renumbered(const std::string& text, std::int64_t by) {
  auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]));
  };
  auto letter = [&](std::size_t i) { return std::isalnum(static_cast<unsigned char>(text[i])); };
  constexpr std::string_view kWord = "router ";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t number = text.size();
    if (i == 0 || !letter(i - 1)) {
      if (text[i] == 'r' && digit(i + 1)) number = i + 1;
      if (text.compare(i, kWord.size(), kWord) == 0 && digit(i + kWord.size())) number = i + kWord.size();
    }
    if (number == text.size()) {
      out += text[i++];
      continue;
    }
    std::size_t end = number;
    while (digit(end)) ++end;
    out += text.substr(i, number - i);
    out += std::to_string(std::stoll(text.substr(number, end - number)) + by);
    i = end;
  }
  return out;
}

}  // namespace weft::topology
