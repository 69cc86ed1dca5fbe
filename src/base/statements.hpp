// Scripts of statements: words with their places, for what reads them. A statement ends with its line or with
// a ';', and a '#' begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Word {
  std::string text;
  std::uint32_t line, column;  // from 1
};

using Statement = std::vector<Word>;

/// None of them is empty.
std::vector<Statement> split_statements(std::string_view text);

}  // namespace weft
