// Threads that let each other go on.
//
// Threads of a process run one at a time. One that looks for something again and again, or wants what another
// holds, must let the others run, and must not wait while it holds what they look for in ways nobody sees.
// Open MPI guards its looks at the network (fi_cq_read) with a lock made of plain instructions, which threads
// try in a loop; so a thread of such a program does not wait there, but where it holds no lock: when it
// yields the processor (sched_yield), or in the call by which it sends, where it would do nothing but wait
// afterwards.
#pragma once

#include <cstdint>

#include "lib/rank_thread.hpp"

namespace weft::lib {

/// Is the calling thread within Open MPI, in a process that has other threads in virtual time? Threads of an
/// MPICH wait where they look: its lock is a mutex, and who waits for it is seen.
bool shares_open_mpi(const abi::Thread& thread);

/// Lets other threads run: until one has, or for a time that doubles with `times`, which it counts up.
void give_way(abi::Thread& thread, unsigned& times);

/// Waits for something at the port, or the deadline; and looks again where another thread has run, which may
/// have brought or told it something.
void wait_or_be_called(abi::Thread& thread, std::uint32_t port, std::int64_t deadline,
                       std::uint32_t for_rank);

/// After a look that found nothing: true where the thread is to come back from it at once, because it waits
/// when it yields.
bool waits_when_it_yields(abi::Thread& thread, std::uint32_t port, std::uint32_t for_rank);

/// A look that was left out, because the one before had found something: the thread looks again at once.
void skipped_look();

/// The thread is looking through what has arrived, and may hold locks of MPI until it has found nothing more.
void set_reading(abi::Thread& thread, bool reading);
bool reads(const abi::Thread& thread);
/// Is another one? It waits for the simulator then, and nobody must try those locks.
bool others_read(const abi::Thread& thread);

/// Does the calling thread's stack hold this? Then nobody but the functions it is in can wait for it.
bool on_own_stack(const void* at);

}  // namespace weft::lib
