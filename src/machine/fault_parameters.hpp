// What is broken from the start ([faults]), and what follows when a link dies ([rerouting]).
#pragma once

#include "config/schema.hpp"

namespace weft::machine {

const config::Section& fault_section();
const config::Section& rerouting_section();

}  // namespace weft::machine
