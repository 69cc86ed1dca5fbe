#include "network/network.hpp"

namespace weft::network {

Stalled::Stalled(std::vector<std::string> who_waits)
    : std::runtime_error("nothing moves in the network, and packets wait"), who(std::move(who_waits)) {}

std::vector<Network::Incident> Network::incidents() const { return {}; }

std::vector<std::string> Network::explain() const { return {}; }

ReductionNumber Network::reserve_reduction(std::span<const EndpointId>, unsigned) {
  WEFT_CHECK(false, "reductions are asked for only where routers reduce");
  return kNoReduction;
}

void Network::release_reduction(ReductionNumber) {}

std::vector<ReductionStep> Network::reduction_steps(ReductionNumber) const { return {}; }

}  // namespace weft::network
