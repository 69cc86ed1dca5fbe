// Collectives of MPI programs, run by the interface.
#pragma once

namespace weft::offload {

/// From now on, where this run wants it.
void offer_collectives();

}  // namespace weft::offload
