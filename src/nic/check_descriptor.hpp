// What a descriptor may ask for, before anything is done about it: it comes from a process and is not
// trusted.
#pragma once

#include "nic/registration.hpp"

namespace weft::nic {

Status check_descriptor(const Context& context, const Registration& registration, const Port& from,
                        PortNo port, const Descriptor& descriptor);

}  // namespace weft::nic
