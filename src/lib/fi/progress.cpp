// Taking what arrived, in order of time.
#include <algorithm>
#include <utility>

#include "lib/fi/engine.hpp"
#include "lib/offload/group.hpp"

namespace weft::fi {

using abi::Thread;

bool Engine::progress(Thread& thread, const Completions* until) {
  // Where MPI ends, nobody needs anything any more; where it starts, what others send is taken as it comes.
  if (lib::outside() && port->header->phase.load() != abi::MpiPhase::Starting) return false;
  bool any = false;
  ThreadPort at(*this, thread);
  const abi::Costs& costs = port->header->costs;
  if (owed_ && !computing_) lib::move_on(thread, std::exchange(owed_, 0));
  for (;;) {
    if (until && !until->empty()) return any;
    nic::Message* m = lib::next_message(port);
    nic::Event* e = lib::next_event(port);
    std::int64_t seen = lib::outside() ? INT64_MAX : lib::now(thread);
    bool message = m && m->time <= seen && !(e && e->time < m->time);
    if (!message && !(e && e->time <= seen)) return any;
    any = true;
    if (lib::outside()) lib::jump_to(thread, message ? m->time : e->time);
    if (computing_) {
      owed_ += costs.look + costs.receive;
    } else {
      lib::move_on(thread, costs.look + costs.receive);
    }
    if (message) {
      nic::Message copy = *m;
      lib::message_taken(port);
      take(at, copy);
    } else {
      nic::Event copy = *e;
      lib::event_taken(port);
      if (offload::is_own(copy))
        offload::hear(copy);
      else
        take(at, copy);
    }
  }
}

void Engine::work_until(Thread& thread, std::int64_t time) {
  computing_ = true;
  while (lib::now(thread) < time && (requests_open() || waits_for_messages())) {
    std::int64_t next = abi::kNoDeadline;
    if (const nic::Message* m = lib::next_message(port)) next = m->time;
    if (const nic::Event* e = lib::next_event(port)) next = std::min<std::int64_t>(next, e->time);
    if (next > thread.safe_until || next > time) {
      if (time <= thread.safe_until) break;
      lib::ask(thread, abi::Call::Wait, port->index, std::min(next, time), abi::kNoRank);
    } else {
      lib::jump_to(thread, next);
    }
    progress(thread);
  }
  computing_ = false;
}

void Engine::drain(Thread& thread) {
  while (waiting()) {
    if (progress(thread)) continue;
    lib::ask(thread, abi::Call::Wait, port->index, abi::kNoDeadline, abi::kNoRank);
  }
}

}  // namespace weft::fi
