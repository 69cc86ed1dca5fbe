// `weft run --slow` and `--noise`: from text to what ranks suffer.
#pragma once

#include <string>
#include <vector>

#include "host/simulation.hpp"

namespace weft::app {

/// Fills in `slow` and the noise of `run`. Throws UserError with all errors.
void read_disturbance(const std::vector<std::string>& slow, const std::string& noise, host::RunOptions& run);

}  // namespace weft::app
