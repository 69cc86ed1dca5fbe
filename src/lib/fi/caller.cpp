// Waiting in a send for what its caller does nothing but wait for afterwards.
//
// The context of an operation says who hears of its end. One that lies on the stack of the thread that sends
// is gone when the calling function returns, so that function waits; and so does MPI_Ssend for its
// acknowledgement, the only receive it posts. Open MPI would wait for both while it holds a lock that other
// threads try in a loop, in which nobody sees them (lib/turns.hpp).
#include <algorithm>

#include "lib/fi/engine.hpp"
#include "lib/fi/entry.hpp"
#include "lib/turns.hpp"

namespace weft::fi {

using host::Lane;

namespace {

bool in_ssend(const Lane& lane) {
  return lane.doing.call() == static_cast<std::uint16_t>(host::MpiCall::Ssend);
}

}  // namespace

bool Engine::is_posted(const void* context) const {
  return std::any_of(posted_[1].begin(), posted_[1].end(),
                     [&](const Receive* r) { return r->context == context; });
}

void Engine::wait_for_caller(Lane& lane, const Outgoing& out, Sent sent) {
  if (!lib::shares_mpi(lane)) return;
  const bool by_caller = sent && out.context && lib::on_own_stack(out.context);
  const void* const answer = in_ssend(lane) ? last_receive : nullptr;
  if (!by_caller && !answer) return;
  for (;;) {
    {
      Entry entered(*endpoint.domain, lane);
      if (progress(lane)) lib::found_something();
      if (!(by_caller && request_of(sent)) && !(answer && is_posted(answer))) break;
    }
    lib::look_again(lane, port->index, peers_[peer_of_handle(out.destination)]->rank);
  }
  // The caller is about to look for the end it has been told of.
  for (unsigned times = 0; lib::others_read(lane);) lib::give_way(lane, times);
}

}  // namespace weft::fi
