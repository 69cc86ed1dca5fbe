#include "host/wait_explainer.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "host/call_log.hpp"

namespace weft::host {

using State = Scheduler::State;

std::string WaitExplainer::request(std::uint32_t rank, const Request& r) const {
  const std::string whom = r.for_rank < scheduler_.ranks() ? fmt::format(" from rank {}", r.for_rank) : "";
  switch (r.call) {
    case Call::Wait:
      return "waits for a message or an event" + whom;
    case Call::Spin:
      return "polls for a message or an event" + whom;
    case Call::Sleep:
      return fmt::format("sleeps until {}", time_text(r.deadline));
    case Call::LookUp:
      return fmt::format("waits for rank {} to open its port", r.argument[0]);
    case Call::Leave:
      return "waits for its last operations to be done";
    case Call::Yield:
      return "waits for a lock of another thread";
    case Call::YieldUntil:
      return fmt::format("waits for another of its threads until {}", time_text(r.deadline));
    case Call::Pause:
      return "looks at its memory";
    case Call::Files:
      return fmt::format("waits in {}", system_call_name(static_cast<long>(r.argument[3])));
    case Call::Stall:
      return "stands before its full queue";
    case Call::Room:
      return "waits for room in its queue";
    case Call::Meet:
      return "waits for the other ranks";
    case Call::Storage:
      return "waits for the file system";
    case Call::DeviceRead:
      return "reads a register";
    case Call::DeviceCopy:
      return "copies memory of a device";
    case Call::Load:
      return "loads from memory of another node";
    case Call::DeviceWait:
      return fmt::format("waits for an interrupt of device '{}'", calls_.device_name(rank, r.argument[0]));
    default:
      return "asks for a port or memory";
  }
}

std::string WaitExplainer::thread(ThreadRef r) const {
  const Scheduler::Thread& t = scheduler_.thread(r);
  const Doing doing = doing_of(segments_[r.rank]->thread(r.thread));
  auto in_call = [&](const std::string& what) {
    return doing.inside() ? fmt::format("{}: {}", doing_text(doing), what) : what;
  };
  switch (t.state) {
    case State::Absent:
      return "";
    case State::Running:
      return in_call(activity_text(activity_of(supervisor_.process(r.rank), supervisor_.tid(r))));
    case State::Asleep:
      return in_call("waits for another of its threads");
    case State::Outside: {
      Activity activity = activity_of(supervisor_.process(r.rank), supervisor_.tid(r));
      const bool known = activity.kind == Activity::Sleeps && activity.call >= 0;
      return in_call(known ? activity_text(activity) + " for something outside"
                           : "waits for something outside");
    }
    case State::Gone:
      return in_call("is about to end");
    case State::Waiting:
      break;
  }
  if (doing.inside()) return in_call(request(r.rank, t.request));
  return fmt::format("{}, since {}", request(r.rank, t.request), time_text(t.request.clock));
}

std::string WaitExplainer::rank(std::uint32_t rank) const {
  if (supervisor_.ended(rank)) return supervisor_.ending(rank).text();
  std::string text;
  for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
    const std::string what = thread({rank, i});
    if (what.empty()) continue;
    text += (text.empty() ? "" : "; ") + (i ? fmt::format("thread {} {}", i, what) : what);
  }
  return text;
}

std::string WaitExplainer::last_call(std::uint32_t rank) const {
  const Doing doing = doing_of(segments_[rank]->thread(0));
  if (!doing.call()) return "";
  return fmt::format(" {} {}", doing.inside() ? "in" : "after", call_facts(doing.call()).name);
}

std::uint32_t WaitExplainer::awaited_by(std::uint32_t rank) const {
  const Scheduler::Thread& t = scheduler_.thread({rank, 0});
  const bool waits = !supervisor_.ended(rank) && t.state == State::Waiting;
  return waits && t.request.for_rank < scheduler_.ranks() ? t.request.for_rank : kNoRank;
}

/// Follows who waits for whom, from each rank, until one comes again.
std::string WaitExplainer::cycle() const {
  for (std::uint32_t first = 0; first < scheduler_.ranks(); ++first) {
    std::vector<std::string> names{fmt::format("rank {}", first)};
    for (std::uint32_t at = awaited_by(first); at != kNoRank && names.size() <= scheduler_.ranks();
         at = awaited_by(at)) {
      if (at == first)
        return fmt::format("a cycle: {} waits for {}{}", names.front(),
                           join({names.begin() + 1, names.end()}, ", that for "),
                           names.size() > 1 ? ", that for the first" : "itself");
      names.push_back(fmt::format("rank {}", at));
    }
  }
  return "";
}

void WaitExplainer::tell_why_all_wait() const {
  fmt::print(stderr, "weft: for 10 s all ranks have waited for something outside of the simulated network\n");
  for (std::uint32_t rank = 0; rank < scheduler_.ranks() && rank < 8; ++rank)
    fmt::print(stderr, "  rank {}: {}\n", rank, this->rank(rank));
}

std::vector<std::string> WaitExplainer::ranks() const {
  constexpr std::uint32_t kMost = 32;
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < scheduler_.ranks(); ++i) {
    if (i == kMost) {
      out.push_back(fmt::format("and {} more", scheduler_.ranks() - kMost));
      break;
    }
    out.push_back(fmt::format("rank {}: {}", i, rank(i)));
  }
  if (std::string text = cycle(); !text.empty()) out.push_back(text);
  return out;
}

}  // namespace weft::host
