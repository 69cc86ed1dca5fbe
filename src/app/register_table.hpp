// The registers of chips as tables, from their one declaration.
#pragma once

#include <string>

namespace weft::app {

/// For a terminal.
std::string register_text();
/// As Markdown, for the reference page.
std::string register_tables();

}  // namespace weft::app
