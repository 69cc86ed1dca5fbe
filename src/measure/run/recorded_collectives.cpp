#include "measure/run/recorded_collectives.hpp"

#include <algorithm>
#include <unordered_map>

namespace weft::measure {

using abi::CallKind;
using abi::CallRecord;
using abi::MpiCall;
using workload::Collective;

namespace {

Collective::Kind kind_of(std::uint16_t call) {
  switch (static_cast<MpiCall>(call)) {
    case MpiCall::Bcast:
      return Collective::Kind::Broadcast;
    case MpiCall::Reduce:
      return Collective::Kind::Reduce;
    case MpiCall::Allreduce:
      return Collective::Kind::AllReduce;
    default:
      return Collective::Kind::Barrier;
  }
}

bool has_root(Collective::Kind kind) {
  return kind == Collective::Kind::Broadcast || kind == Collective::Kind::Reduce;
}

}  // namespace

void RecordedCollectives::add(std::uint32_t rank, const std::vector<CallRecord>& calls) {
  std::unordered_map<std::uint64_t, std::size_t> turns;  // by communicator
  for (const CallRecord& r : calls) {
    const bool named = abi::is_named(r.call);
    const auto number = static_cast<std::uint32_t>(calls_[rank].size());
    if (named && r.thread == 0) calls_[rank].push_back({Time{r.begin}, Time{r.end}});
    if (abi::call_facts(r.call).kind != CallKind::Collective || r.communicator == 0) continue;
    std::vector<Growing>& all = growing_[r.communicator];
    const std::size_t turn = turns[r.communicator]++;
    if (turn == all.size()) all.push_back({r.call, r.members});
    Growing& g = all[turn];
    ++g.came;
    g.alike &= named && g.call == r.call && g.size == r.members && r.thread == 0;
    if (!g.alike) continue;
    g.bytes = std::max(g.bytes, r.bytes);
    g.combines &= (r.flags & abi::kCombines) != 0;
    g.whole &= (r.flags & abi::kBeside) == 0;
    g.members.push_back({rank, number, r.tag, r.peer});
  }
}

bool RecordedCollectives::fits(Growing& g) const {
  if (!g.alike || g.came != g.size || g.size < 2 || g.members.size() != g.size) return false;
  std::sort(g.members.begin(), g.members.end(), [](auto& a, auto& b) { return a.place < b.place; });
  const bool rooted = has_root(kind_of(g.call));
  const Member* root = nullptr;
  Time last_came{0}, first_left{INT64_MAX};
  for (std::size_t place = 0; place < g.members.size(); ++place) {
    const Member& m = g.members[place];
    if (m.place != static_cast<std::int32_t>(place)) return false;
    if (rooted && m.root != g.members[0].root) return false;
    if (m.root >= 0 && m.rank == static_cast<std::uint32_t>(m.root)) root = &m;
    last_came = std::max(last_came, calls_[m.rank][m.number].begin);
    first_left = std::min(first_left, calls_[m.rank][m.number].end);
  }
  if (!rooted) return last_came < first_left;
  if (!root) return false;
  const Call& at_root = calls_[root->rank][root->number];
  return kind_of(g.call) == Collective::Kind::Broadcast ? at_root.begin < first_left
                                                        : last_came < at_root.end;
}

void RecordedCollectives::name(const Growing& g) {
  std::vector<workload::Rank> group;
  Collective c;
  for (const Member& m : g.members) {
    if (m.root == static_cast<std::int32_t>(m.rank)) c.root = static_cast<std::uint32_t>(group.size());
    group.push_back(m.rank);
    const auto number = static_cast<std::uint32_t>(collectives_.size());
    calls_[m.rank][m.number].collective = number;
    named_[m.rank].emplace_back(number, m.number);
  }
  c.kind = kind_of(g.call);
  c.bytes = g.bytes;
  c.combines = g.combines;
  c.whole = g.whole;
  const auto [found, fresh] = group_numbers_.try_emplace(group, static_cast<std::uint32_t>(groups_.size()));
  if (fresh) groups_.push_back(group);
  c.group = found->second;
  collectives_.push_back(c);
}

void RecordedCollectives::settle() {
  std::vector<const Growing*> known;
  for (auto& [communicator, turns] : growing_)
    for (Growing& g : turns)
      if (fits(g)) known.push_back(&g);
  // In the order of the first member's calls: so the numbers of a rank's collectives mostly grow.
  auto began = [&](const Growing* g) { return calls_[g->members[0].rank][g->members[0].number].begin; };
  std::stable_sort(known.begin(), known.end(), [&](auto* a, auto* b) { return began(a) < began(b); });
  for (const Growing* g : known) name(*g);
  growing_.clear();
}

const RecordedCollectives::Call* RecordedCollectives::call_of(std::uint32_t collective,
                                                              std::uint32_t rank) const {
  const auto found = std::lower_bound(named_[rank].begin(), named_[rank].end(), std::pair{collective, 0u});
  return found != named_[rank].end() && found->first == collective ? &calls_[rank][found->second] : nullptr;
}

}  // namespace weft::measure
