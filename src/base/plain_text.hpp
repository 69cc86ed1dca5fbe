// Texts of others, which may hold more than letters: control characters do things to a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// The first control character in a text of UTF-8; line breaks and tabs are none.
std::optional<unsigned> control_character(std::string_view text);

/// For the terminal: control characters as \x1b.
std::string printable(std::string_view text);

}  // namespace weft
