// Threads of a program in virtual time.
//
// Threads in virtual time run one at a time (host/simulation.cpp), so that what they do to each other does
// not depend on the system. One that waits for another is outside meanwhile, and whoever ends its wait lets
// it go on, at the time at which that happens.
#pragma once

#include <pthread.h>

#include "lib/rank_thread.hpp"

namespace weft::lib {

/// MPI was asked for MPI_THREAD_MULTIPLE: threads that are started are in virtual time from their beginning.
void expect_threads();

/// As pthread_create; the new thread is in virtual time from its beginning, at the time of this one.
int start_thread(abi::Thread& parent, pthread_t* pthread, const pthread_attr_t* attributes,
                 void* (*function)(void*), void* argument);

/// The calling thread leaves virtual time: those who wait for its end go on.
void thread_ends(abi::Thread& thread);

}  // namespace weft::lib
