#include "measure/run/mpi_profile.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

namespace weft::measure {

using abi::CallKind;
using abi::CallRecord;

namespace {

std::vector<CallSums> add_up(const std::vector<std::vector<CallRecord>>& calls_of_rank) {
  std::array<CallSums, static_cast<std::size_t>(abi::MpiCall::Count)> sums{};
  for (const auto& calls : calls_of_rank)
    for (const CallRecord& r : calls) {
      CallSums& s = sums[r.call];
      Time took{r.end - r.begin};
      s.call = r.call;
      ++s.count;
      s.bytes += r.bytes;
      s.total += took;
      s.longest = std::max(s.longest, took);
    }
  std::vector<CallSums> out;
  for (const CallSums& s : sums)
    if (s.count) out.push_back(s);
  std::stable_sort(out.begin(), out.end(),
                   [](const CallSums& a, const CallSums& b) { return a.total > b.total; });
  return out;
}

/// The k-th collective of a communicator is the same one for all its members.
std::vector<Collective> put_together(const std::vector<std::vector<CallRecord>>& calls_of_rank) {
  struct Growing {
    Collective collective;
    std::uint32_t came = 0;
    bool alike = true;
  };
  std::map<std::uint64_t, std::vector<Growing>> all;  // by communicator, in turn
  for (std::uint32_t rank = 0; rank < calls_of_rank.size(); ++rank) {
    struct Turns {
      std::vector<Growing>* all = nullptr;
      std::size_t next = 0;
    };
    std::unordered_map<std::uint64_t, Turns> turns;
    for (const CallRecord& r : calls_of_rank[rank]) {
      if (abi::call_facts(r.call).kind != CallKind::Collective || r.communicator == 0) continue;
      Turns& turn = turns[r.communicator];
      if (!turn.all) turn.all = &all[r.communicator];
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
  std::vector<Collective> out;
  for (const auto& [communicator, turns] : all)
    for (const Growing& g : turns)
      if (g.alike && g.came == g.collective.members && g.came > 1) out.push_back(g.collective);
  return out;
}

}  // namespace

MpiProfile profile_of(const std::vector<std::vector<CallRecord>>& calls_of_rank) {
  MpiProfile out;
  out.calls = add_up(calls_of_rank);
  std::map<std::tuple<std::uint16_t, std::uint64_t, std::uint32_t>, CollectiveSums> kinds;
  for (const Collective& c : put_together(calls_of_rank)) {
    CollectiveSums& s = kinds[{c.call, c.bytes, c.members}];
    if (s.count++ == 0 || c.took() > s.slowest.took()) s.slowest = c;
    s.total += c.took();
    s.waiting += c.last_came - c.first_came;
  }
  for (const auto& [key, sums] : kinds) out.collectives.push_back(sums);
  std::stable_sort(
      out.collectives.begin(), out.collectives.end(),
      [](const CollectiveSums& a, const CollectiveSums& b) { return a.slowest.took() > b.slowest.took(); });
  return out;
}

}  // namespace weft::measure
