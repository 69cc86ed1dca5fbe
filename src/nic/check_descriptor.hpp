// What a descriptor may ask for, before anything is done about it: it comes from a process and is not
// trusted.
#pragma once

#include "nic/registration.hpp"

namespace weft::nic {

/// The node that a descriptor is for, where it names something else: a global address, or a chip whose
/// registers it is about. Every node has an interface for these, also one that no process has used so far.
void find_node(Context& context, Descriptor& descriptor);

Status check_descriptor(const Context& context, const Registration& registration, const Port& from,
                        PortNo port, const Descriptor& descriptor);

}  // namespace weft::nic
