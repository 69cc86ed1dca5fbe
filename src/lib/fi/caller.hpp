// Waiting in a send for what its caller does nothing but wait for afterwards.
//
// The context of an operation says who hears of its end. One that lies on the stack of the thread that sends
// is gone when the calling function returns, so that function waits; and so does MPI_Ssend for its
// acknowledgement, the only receive it posts. Open MPI would wait for both while it holds a lock that other
// threads try in a loop, in which nobody sees them (lib/turns.hpp). So a send waits itself. When something
// has arrived that the library must hear of, the send says that it is to be tried again (FI_EAGAIN): a
// library then reads its queue, and comes back here.
#pragma once

#include "lib/fi/engine.hpp"

namespace weft::fi {

/// `sent`: what the send has left under way, or 0.
bool will_be_waited_for(abi::Thread& thread, const Engine::Outgoing& out, std::uint32_t sent);
/// Is this the send the thread waits in?
bool is_waited_for(const abi::Thread& thread, const Engine::Outgoing& out);
ssize_t wait_for_caller(Engine& engine, abi::Thread& thread);

}  // namespace weft::fi
