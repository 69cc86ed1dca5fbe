// Looking for a message before it is received.
#include "lib/fi/engine.hpp"
#include "lib/fi/entry.hpp"

namespace weft::fi {

using abi::Thread;

/// Is there a message for this? A look that finds none counts as one at an empty queue, or loops of them
/// would stand still in time.
ssize_t Engine::peek(Thread& thread, Receive wanted) {
  if (!endpoint.receive_cq) return refuse(FI_ENOCQ, FI_LOG_EP_DATA, "a look is answered in a queue\n");
  Incoming* in = nullptr;
  for (int turn = 0; turn < 2 && !in; ++turn) {
    if (turn && (lib::outside() || !lib::look_again(thread, wait_port(), abi::kNoRank))) break;
    progress_others(*endpoint.domain, thread);
    Entry entered(*endpoint.domain, thread);
    progress_all(*endpoint.domain, thread);
    ThreadPort at(*this, thread);
    in = find_unexpected(at, wanted, wanted.flags & FI_CLAIM);
    if (!in) continue;
    lib::found_something();
    if (wanted.flags & FI_CLAIM) claimed_[wanted.context] = in;
    if (wanted.discard) {
      if (!(wanted.flags & FI_CLAIM)) in = find_unexpected(at, wanted, true);
      claimed_.erase(wanted.context);
    }
    std::uint64_t flags =
        FI_RECV | (in->tagged ? FI_TAGGED : FI_MSG) | (in->has_data ? FI_REMOTE_CQ_DATA : 0);
    outcomes_.entry(
        lib::now(thread), endpoint.receive_cq,
        {wanted.context, flags, in->length, nullptr, in->data, in->tag, contact(in->peer).handle, 0, 0, 0});
    if (wanted.discard) {  // this look is its one completion
      wanted.buffer = Buffer();
      wanted.flags = 0;
      take_unexpected(at, in, wanted);
    }
  }
  if (in) return 0;
  Entry entered(*endpoint.domain, thread);
  outcomes_.entry(lib::now(thread), endpoint.receive_cq,
                  {wanted.context, FI_RECV | (wanted.tagged ? FI_TAGGED : FI_MSG), 0, nullptr, 0, wanted.tag,
                   FI_ADDR_NOTAVAIL, FI_ENOMSG, 0, 0});
  return 0;
}

}  // namespace weft::fi
