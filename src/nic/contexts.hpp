// What interfaces have in common, by network: one context where a machine has one network, else one for each.
#pragma once

#include <memory>

#include "base/diagnostics.hpp"
#include "nic/context.hpp"

namespace weft::nic {

/// That of the first network, which owns the others and what is common to all.
std::unique_ptr<Context> make_contexts(const machine::Machine& machine, network::Network& network,
                                       event::EventQueue& queue, Host& host, std::uint64_t seed,
                                       std::unique_ptr<Common> common, Diagnostics& problems);

/// Of an interface on this node: that of the first network the node is on.
Context& context_of(Context& first, network::EndpointId node);

/// Notes how much a packet to and from the next interface holds, which is on this node, where networks
/// differ.
void add_payload(Context& first, network::EndpointId node);

}  // namespace weft::nic
