// A program's MPI_Init and MPI_Finalize in virtual time.
#pragma once

#include "lib/weft.h"

namespace weft::lib {

/// The port opened for MPI before MPI_Init began; null where MPI_Init is not under way and was not called.
weft_port* mpi_port();

/// Called before MPI_Finalize, in virtual time: what is still to be sent must leave now.
void set_mpi_drain(void (*drain)());

}  // namespace weft::lib
