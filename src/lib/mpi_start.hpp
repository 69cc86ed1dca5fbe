// A program's MPI_Init and MPI_Finalize in virtual time.
#pragma once

#include "lib/weft.h"

namespace weft::lib {

/// The port opened for MPI before MPI_Init began; null where MPI_Init is not under way and was not called.
weft_port* mpi_port();

/// Called in MPI_Finalize, in virtual time, at first and whenever something has arrived: takes it, answers
/// it, and does not return before what is still to be sent has left.
void set_mpi_service(void (*serve)());

}  // namespace weft::lib
