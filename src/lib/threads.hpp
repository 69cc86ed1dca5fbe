// Threads of a program in virtual time.
//
// Threads that have a lane run one at a time (host/simulation.cpp), so that what they do to each other does
// not depend on the system. One that waits for another is outside meanwhile, and whoever ends its wait lets
// it go on, at the time at which that happens.
#pragma once

#include <pthread.h>

#include "lib/lane.hpp"

namespace weft::lib {

/// MPI was asked for MPI_THREAD_MULTIPLE: threads that are started have lanes from their beginning.
void expect_threads();

/// As pthread_create; the new thread has a lane from its beginning, at the time of this one.
int start_thread(abi::Lane& parent, pthread_t* thread, const pthread_attr_t* attributes,
                 void* (*function)(void*), void* argument);

/// The calling thread's lane is given up: those who wait for its end go on.
void thread_ends(abi::Lane& lane);

}  // namespace weft::lib
