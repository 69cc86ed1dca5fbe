#include "host/standstill.hpp"

#include <algorithm>

#include "host/call_log.hpp"

namespace weft::host {

using State = Scheduler::State;

bool all_in_calls(const Supervisor& supervisor, const Scheduler& scheduler, const Segments& segments) {
  if (!supervisor.mpi()) return false;
  for (std::uint32_t rank = 0; rank < segments.size(); ++rank) {
    if (supervisor.ended(rank)) continue;
    for (std::uint32_t i = 0; i < scheduler.threads(rank); ++i) {
      const Scheduler::Thread& t = scheduler.thread({rank, i});
      if (t.state != State::Waiting || !looks(t.request.call)) continue;
      if (t.request.argument[3]) return false;  // it has set a timer
      const Doing doing = doing_of(segments[rank]->thread(i));
      if (!doing.inside() || call_facts(doing.call()).only_looks) return false;
    }
  }
  return true;
}

Time known_until(const nic::Fabric& fabric, nic::NicId nic, const Supervisor& supervisor,
                 Scheduler& scheduler, const CallHandler& calls) {
  const Time now = fabric.now();
  const bool others_wait_here = !supervisor.have_threads() && !supervisor.anyone_outside() &&
                                !supervisor.anyone_asleep() && !calls.watches_files() &&
                                !scheduler.have_spinners();
  if (!others_wait_here) return now;
  return std::max(now, std::min(fabric.quiet_until(nic), scheduler.first_plan()) - Time{1});
}

bool may_go_on_by_itself(const Supervisor& supervisor, const Scheduler& scheduler, const CallHandler& calls) {
  if (supervisor.anyone_outside() || calls.watches_files()) return true;
  for (std::uint32_t rank = 0; rank < scheduler.ranks(); ++rank) {
    if (supervisor.ended(rank)) continue;
    if (calls.has_left(rank)) return true;  // about to end
    unsigned waiting = 0;
    for (std::uint32_t i = 0; i < scheduler.threads(rank); ++i) {
      const State state = scheduler.thread({rank, i}).state;
      waiting += state == State::Waiting || state == State::Asleep;
    }
    if (waiting && supervisor.has_more_threads(rank, waiting)) return true;
  }
  return false;
}

}  // namespace weft::host
