// `weft show` and `weft check` of a machine of several networks: each network by itself, and what is between
// them.
#pragma once

#include "base/json.hpp"
#include "machine/networks.hpp"

namespace weft::app {

int show_networks(const machine::Description& machine, bool sources, bool json);

/// Why networks that are joined by these gateways do not wait for each other.
std::string gateways_in_words(const machine::Networks& networks);
Json gateways_json(const machine::Networks& networks);

}  // namespace weft::app
