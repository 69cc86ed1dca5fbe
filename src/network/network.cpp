#include "network/network.hpp"

namespace weft::network {

Stalled::Stalled(std::vector<std::string> who_waits)
    : std::runtime_error("nothing moves in the network, and packets wait"), who(std::move(who_waits)) {}

std::vector<Network::Incident> Network::incidents() const { return {}; }

std::vector<std::string> Network::explain() const { return {}; }

}  // namespace weft::network
