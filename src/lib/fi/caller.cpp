#include "lib/fi/caller.hpp"

#include "lib/fi/entry.hpp"
#include "lib/turns.hpp"

namespace weft::fi {

using abi::Thread;

namespace {

/// What the thread waits for in a send.
struct CallersWait {
  bool any = false;
  bool quiet = false;
  const void* context = nullptr;
  std::uint64_t tag = 0, destination = 0;
  std::uint32_t sent = 0;        // its request, or 0
  const void* answer = nullptr;  // context of the receive that acknowledges it, or null
};

thread_local CallersWait waits;

/// The caller is about to look into its queue.
void look_without_others(Thread& thread) {
  for (unsigned times = 0; lib::others_read(thread);) lib::give_way(thread, times);
}

bool in_ssend(const Thread& thread) {
  return thread.doing.call() == static_cast<std::uint16_t>(abi::MpiCall::Ssend);
}

}  // namespace

bool will_be_waited_for(Thread& thread, const Engine::Outgoing& out, std::uint32_t sent) {
  // What it sends while it goes through what has arrived is not what the program sends.
  if (!lib::shares_open_mpi(thread) || lib::reads(thread)) return false;
  if (!out.context || !lib::on_own_stack(out.context)) sent = 0;
  const void* answer = in_ssend(thread) ? last_receive : nullptr;
  waits.any = false;
  if (sent || answer) waits = {true, out.quiet, out.context, out.tag, out.destination, sent, answer};
  return waits.any;
}

bool is_waited_for(const Thread& thread, const Engine::Outgoing& out) {
  return waits.any && !lib::reads(thread) && waits.quiet == out.quiet && waits.context == out.context &&
         waits.tag == out.tag && waits.destination == out.destination;
}

ssize_t wait_for_caller(Engine& engine, Thread& thread) {
  Endpoint& endpoint = engine.endpoint;
  for (;;) {
    bool entries;
    progress_others(*endpoint.domain, thread);
    {
      Entry entered(*endpoint.domain, thread);
      if (progress_all(*endpoint.domain, thread)) lib::found_something();
      if (!(waits.sent && engine.is_under_way(waits.sent)) &&
          !(waits.answer && engine.is_posted(waits.answer)))
        break;
      entries = (endpoint.send_cq && !endpoint.send_cq->entries.empty()) ||
                (endpoint.receive_cq && !endpoint.receive_cq->entries.empty());
    }
    if (entries) {
      look_without_others(thread);
      return -FI_EAGAIN;
    }
    lib::look_again(thread, wait_port(), engine.rank_of(waits.destination));
  }
  waits.any = false;
  look_without_others(thread);
  return 0;
}

}  // namespace weft::fi
