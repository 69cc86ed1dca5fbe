#include "host/rank_now.hpp"

#include <algorithm>

#include "host/call_log.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

namespace {

RankNow::State state_of(const Scheduler::Thread& thread, bool in_mpi) {
  switch (thread.state) {
    case Scheduler::State::Absent:
    case Scheduler::State::Gone:
      return RankNow::Ended;
    case Scheduler::State::Outside:
    case Scheduler::State::Asleep:
      return RankNow::Outside;
    case Scheduler::State::Waiting:
      if (thread.request.call == Call::Sleep) return RankNow::Sleeps;
      if (waits_for_others(thread.request.call)) return RankNow::Waits;
      break;
    case Scheduler::State::Running:
      break;
  }
  return in_mpi ? RankNow::InMpi : RankNow::Computes;
}

}  // namespace

std::vector<RankNow> ranks_now(const Scheduler& scheduler, const Supervisor& supervisor,
                               const Segments& segments) {
  std::vector<RankNow> out(scheduler.ranks());
  for (std::uint32_t rank = 0; rank < scheduler.ranks(); ++rank) {
    if (supervisor.ended(rank)) {
      out[rank].state = RankNow::Ended;
      continue;
    }
    const Doing doing = doing_of(segments[rank]->thread(0));
    out[rank].state = state_of(scheduler.thread({rank, 0}), doing.inside());
    if (doing.inside()) out[rank].call = call_facts(doing.call()).name;
  }
  return out;
}

Progress progress_now(Time now, const Supervisor& supervisor, const Segments& segments) {
  Progress out{now, 0};
  for (std::uint32_t rank = 0; rank < segments.size(); ++rank) {
    out.clock_reads += segments[rank]->header().clock_reads.load(std::memory_order_relaxed);
    if (!supervisor.ended(rank))
      out.now = std::max(out.now, Time{segments[rank]->thread(0).clock.load(std::memory_order_relaxed)});
  }
  return out;
}

}  // namespace weft::host
