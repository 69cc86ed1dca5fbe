// Taking what arrived, in order of time.
#include <algorithm>
#include <utility>

#include "lib/fi/engine.hpp"

namespace weft::fi {

using abi::Lane;

bool Engine::progress(Lane& lane, const Completions* until) {
  // Where MPI ends, nobody needs anything any more; where it starts, what others send is taken as it comes.
  if (lib::outside() && port->header->phase.load() != abi::MpiPhase::Starting) return false;
  bool any = false;
  ThreadPort at(*this, lane);
  const abi::Costs& costs = port->header->costs;
  if (owed_ && !computing_) lib::move_on(lane, std::exchange(owed_, 0));
  for (;;) {
    if (until && !until->empty()) return any;
    nic::Message* m = lib::next_message(port);
    nic::Event* e = lib::next_event(port);
    std::int64_t seen = lib::outside() ? INT64_MAX : lib::now(lane);
    bool message = m && m->time <= seen && !(e && e->time < m->time);
    if (!message && !(e && e->time <= seen)) return any;
    any = true;
    if (lib::outside()) lib::jump_to(lane, message ? m->time : e->time);
    if (computing_) {
      owed_ += costs.look + costs.receive;
    } else {
      lib::move_on(lane, costs.look + costs.receive);
    }
    if (message) {
      nic::Message copy = *m;
      lib::message_taken(port);
      take(at, copy);
    } else {
      nic::Event copy = *e;
      lib::event_taken(port);
      take(at, copy);
    }
  }
}

void Engine::work_until(Lane& lane, std::int64_t time) {
  computing_ = true;
  while (lib::now(lane) < time && (requests_open() || waits_for_messages())) {
    std::int64_t next = abi::kNoDeadline;
    if (const nic::Message* m = lib::next_message(port)) next = m->time;
    if (const nic::Event* e = lib::next_event(port)) next = std::min<std::int64_t>(next, e->time);
    if (next > lane.safe_until || next > time) {
      if (time <= lane.safe_until) break;
      lib::ask(lane, abi::Call::Wait, port->index, std::min(next, time), abi::kNoRank);
    } else {
      lib::jump_to(lane, next);
    }
    progress(lane);
  }
  computing_ = false;
}

void Engine::drain(Lane& lane) {
  while (waiting()) {
    if (progress(lane)) continue;
    lib::ask(lane, abi::Call::Wait, port->index, abi::kNoDeadline, abi::kNoRank);
  }
}

}  // namespace weft::fi
