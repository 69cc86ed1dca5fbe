// What gateways between the networks of a machine did in a run, for the page and result.json.
#pragma once

#include <string>

#include "base/json.hpp"
#include "network/joined_network.hpp"

namespace weft::report {

Json gateways_json(const network::JoinedNetwork& networks);
std::string gateways_section(const network::JoinedNetwork& networks);

}  // namespace weft::report
