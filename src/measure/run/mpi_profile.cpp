#include "measure/run/mpi_profile.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace weft::measure {

using abi::CallKind;
using abi::CallRecord;

void MpiProfiler::add(std::uint32_t rank, const std::vector<CallRecord>& calls) {
  for (const CallRecord& r : calls) {
    CallSums& s = sums_[r.call];
    Time took{r.end - r.begin};
    s.call = r.call;
    ++s.count;
    s.bytes += r.bytes;
    s.total += took;
    s.longest = std::max(s.longest, took);
  }
  add_collectives(rank, calls);
}

/// The k-th collective of a communicator is the same one for all its members.
void MpiProfiler::add_collectives(std::uint32_t rank, const std::vector<CallRecord>& calls) {
  struct Turns {
    std::vector<Growing>* all = nullptr;
    std::size_t next = 0;
  };
  std::unordered_map<std::uint64_t, Turns> turns;
  for (const CallRecord& r : calls) {
    if (abi::call_facts(r.call).kind != CallKind::Collective || r.communicator == 0) continue;
    Turns& turn = turns[r.communicator];
    if (!turn.all) turn.all = &growing_[r.communicator];
    if (turn.next == turn.all->size()) turn.all->emplace_back();
    Growing& g = (*turn.all)[turn.next++];
    Collective& c = g.collective;
    if (g.came++ == 0) {
      c = {r.call, r.members, r.bytes, Time{r.begin}, Time{r.begin}, Time{r.end}, rank};
      continue;
    }
    g.alike &= c.call == r.call && c.members == r.members;
    c.bytes = std::max(c.bytes, r.bytes);
    c.first_came = std::min(c.first_came, Time{r.begin});
    if (Time{r.begin} > c.last_came) {
      c.last_came = Time{r.begin};
      c.last_rank = rank;
    }
    c.ended = std::max(c.ended, Time{r.end});
  }
}

/// Those that all members took part in, by kind.
std::vector<CollectiveSums> MpiProfiler::collectives() const {
  std::map<std::tuple<std::uint16_t, std::uint64_t, std::uint32_t>, CollectiveSums> kinds;
  for (const auto& [communicator, turns] : growing_)
    for (const Growing& g : turns) {
      const Collective& c = g.collective;
      if (!g.alike || g.came != c.members || g.came < 2) continue;
      CollectiveSums& s = kinds[{c.call, c.bytes, c.members}];
      if (s.count++ == 0 || c.took() > s.slowest.took()) s.slowest = c;
      s.total += c.took();
      s.waiting += c.last_came - c.first_came;
    }
  std::vector<CollectiveSums> out;
  for (const auto& [key, sums] : kinds) out.push_back(sums);
  std::stable_sort(out.begin(), out.end(), [](const CollectiveSums& a, const CollectiveSums& b) {
    return a.slowest.took() > b.slowest.took();
  });
  return out;
}

MpiProfile MpiProfiler::profile() const {
  MpiProfile out;
  for (const CallSums& s : sums_)
    if (s.count) out.calls.push_back(s);
  std::stable_sort(out.calls.begin(), out.calls.end(),
                   [](const CallSums& a, const CallSums& b) { return a.total > b.total; });
  out.collectives = collectives();
  return out;
}

}  // namespace weft::measure
