#include "base/statements.hpp"

namespace weft {

std::vector<Statement> split_statements(std::string_view text) {
  std::vector<Statement> out(1);
  std::uint32_t line = 1, column = 1;
  bool comment = false, in_word = false;
  for (char c : text) {
    comment = (comment || c == '#') && c != '\n';
    const bool ends = c == '\n' || (!comment && c == ';');
    const bool space = comment || ends || c == ' ' || c == '\t' || c == '\r';
    in_word = in_word && !space;
    if (ends && !out.back().empty()) out.emplace_back();
    if (!space) {
      if (!in_word) out.back().push_back({"", line, column});
      in_word = true;
      out.back().back().text += c;
    }
    ++column;
    if (c == '\n') ++line, column = 1;
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

}  // namespace weft
