// Who waits for what, in words: for reports of runs that cannot go on.
#pragma once

#include <string>
#include <vector>

#include "host/call_handler.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

class WaitExplainer {
 public:
  WaitExplainer(const Scheduler& scheduler, const Supervisor& supervisor, const Segments& segments,
                const CallHandler& calls)
      : scheduler_(scheduler), supervisor_(supervisor), segments_(segments), calls_(calls) {}

  /// What a rank waits for, thread by thread; or how it ended.
  std::string rank(std::uint32_t rank) const;
  /// " in MPI_Recv", or after the call it had come back from; nothing where it has called none.
  std::string last_call(std::uint32_t rank) const;
  /// All of the first ranks, and a cycle of ranks that wait for each other, where programs say for whom.
  std::vector<std::string> ranks() const;
  /// On standard error, where nothing has happened for long.
  void tell_why_all_wait() const;

 private:
  std::string thread(ThreadRef thread) const;
  std::string request(std::uint32_t rank, const Request& request) const;
  std::uint32_t awaited_by(std::uint32_t rank) const;
  std::string cycle() const;

  const Scheduler& scheduler_;
  const Supervisor& supervisor_;
  const Segments& segments_;
  const CallHandler& calls_;
};

}  // namespace weft::host
