// The name of the section under which a second network is described (collective_network.hpp).
#pragma once

namespace weft::machine {

inline constexpr const char* kCollectiveNetwork = "collective_network";

}  // namespace weft::machine
