// Loads as a user writes them.
#pragma once

#include <string>
#include <vector>

namespace weft::app {

/// "0.3", "0.1:0.6:0.1" (first:last:step) or a list of such, "0.1,0.2,0.5:0.9:0.1"; ascending, each once.
/// Throws UserError for anything else and for loads outside (0, 1].
std::vector<double> parse_loads(const std::string& text);

}  // namespace weft::app
