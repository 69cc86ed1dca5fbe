#include "host/core_shares.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace weft::host {

std::vector<double> slowness_of_ranks(const machine::Description& machine,
                                      std::span<const std::uint32_t> place, std::vector<double> said) {
  if (machine.node_processors.empty()) return said;
  said.resize(place.size(), 1);
  for (std::size_t rank = 0; rank < place.size(); ++rank) said[rank] *= machine.slowness_of(place[rank]);
  return said;
}

std::unique_ptr<CoreShares> CoreShares::make(const machine::Description& machine,
                                             std::span<const std::uint32_t> place,
                                             std::span<const double> slow, const Scheduler& scheduler,
                                             Segments& segments, const Pacing* pace) {
  std::unique_ptr<CoreShares> out(new CoreShares(scheduler, segments, pace));
  std::map<std::uint32_t, std::uint32_t> number;  // of a node of the machine, among those with ranks
  bool any = false;
  for (std::uint32_t rank = 0; rank < place.size(); ++rank) {
    const auto [at, is_new] = number.emplace(place[rank], static_cast<std::uint32_t>(out->nodes_.size()));
    if (is_new) {
      const machine::ProcessorParameters& p = machine.processor_of(place[rank]);
      const bool shared = p.share_cores && p.all_cores() > 0;
      out->nodes_.push_back({{}, shared ? static_cast<double>(p.all_cores()) : 0, p.share_quantum});
      any |= shared;
    }
    out->nodes_[at->second].ranks.push_back(rank);
    out->node_of_.push_back(at->second);
    out->slow_.push_back(rank < slow.size() ? slow[rank] : 1);
  }
  if (!any) return nullptr;
  for (Node& node : out->nodes_) node.at_work = static_cast<unsigned>(node.ranks.size());
  for (std::uint32_t rank = 0; rank < place.size(); ++rank) out->tell(rank, Time{0});
  return out;
}

/// Threads that go on now, and those that have worked already until later than this. One whose turn is to
/// come, since it is of a group, works as well.
unsigned CoreShares::at_work(const Node& node, Time now) const {
  unsigned count = 0;
  for (std::uint32_t rank : node.ranks)
    for (std::uint32_t i = 0; i < scheduler_.threads(rank); ++i) {
      const Scheduler::Thread& t = scheduler_.thread({rank, i});
      if (t.state == Scheduler::State::Running ||
          (t.state == Scheduler::State::Waiting && (t.request.clock > now || t.wake <= now)))
        ++count;
    }
  return count;
}

void CoreShares::share(std::span<const ThreadRef> runnable) {
  ++round_;
  auto goes_on = [&](ThreadRef r) {
    const Scheduler::Thread& thread = scheduler_.thread(r);
    return std::max(thread.wake, thread.request.clock);
  };
  for (ThreadRef r : runnable) {
    Node& node = nodes_[node_of_[r.rank]];
    if (node.cores > 0 && std::exchange(node.round, round_) != round_) {
      Time latest{0};  // all of a round go on at about one time
      for (ThreadRef other : runnable)
        if (node_of_[other.rank] == node_of_[r.rank]) latest = std::max(latest, goes_on(other));
      node.at_work = at_work(node, latest);
    }
    tell(r.rank, goes_on(r));
  }
}

void CoreShares::tell(std::uint32_t rank, Time now) {
  const Node& node = nodes_[node_of_[rank]];
  if (node.cores == 0) return;
  abi::Disturbance& d = segments_[rank]->header().disturbance;
  d.slow = (pace_ ? pace_->slow(rank) : slow_[rank]) * std::max(1.0, node.at_work / node.cores);
  d.until = (now + node.quantum).value;
  if (pace_) d.until = std::min(d.until, pace_->next().value);
}

}  // namespace weft::host
