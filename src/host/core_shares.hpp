// Cores that the ranks of a node share. Who computes at a time divides the cores of his node: where they are
// more than its cores, what each does takes so many times as long. A share is found out when a thread goes on
// and holds until it waits, or for a quantum: then it asks again. A thread that waits leaves its core to
// others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/pacing.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"
#include "machine/machine.hpp"

namespace weft::host {

/// How many times as long the work of each rank takes: what is said of it, and its node's processor
/// ([processor.NAME]).
std::vector<double> slowness_of_ranks(const machine::Description& machine,
                                      std::span<const std::uint32_t> place, std::vector<double> said);

class CoreShares {
 public:
  /// All ranks begin. Nothing where no node has cores that are shared. `place`: the node of each rank;
  /// `slow`: how many times as long its work takes besides; `pace`: what changes that, where something does.
  static std::unique_ptr<CoreShares> make(const machine::Description& machine,
                                          std::span<const std::uint32_t> place, std::span<const double> slow,
                                          const Scheduler& scheduler, Segments& segments, const Pacing* pace);

  /// These are about to go on.
  void share(std::span<const ThreadRef> runnable);

 private:
  struct Node {
    std::vector<std::uint32_t> ranks;
    double cores = 0;  // 0: everybody has one of his own
    Time quantum{0};
    std::uint64_t round = 0;  // when it was counted last
    unsigned at_work = 0;
  };
  CoreShares(const Scheduler& scheduler, Segments& segments, const Pacing* pace)
      : scheduler_(scheduler), segments_(segments), pace_(pace) {}
  void tell(std::uint32_t rank, Time now);
  unsigned at_work(const Node& node, Time now) const;

  const Scheduler& scheduler_;
  Segments& segments_;
  const Pacing* pace_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_of_;  // by rank
  std::vector<double> slow_;
  std::uint64_t round_ = 0;
};

}  // namespace weft::host
