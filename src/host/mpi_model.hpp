// A machine's choices and costs for MPI, as the protocol and ranks read them.
#pragma once

#include "abi/mpi_layout.hpp"
#include "machine/description.hpp"

namespace weft::host {

abi::MpiModel mpi_model_of(const machine::Description& description);

}  // namespace weft::host
