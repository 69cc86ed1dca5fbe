#include "nic/reductions.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "nic/operation_units.hpp"

namespace weft::nic {

bool Reductions::join(const Wish& wish, network::EndpointId node,
                      const std::vector<network::EndpointId>& nodes) {
  const auto same = [&](const Reduction& each) {
    return each.number != network::kNoReduction && each.key == wish.key &&
           std::equal(each.members.begin(), each.members.end(), nodes.begin(), nodes.end(),
                      [](const Member& member, network::EndpointId other) { return member.node == other; });
  };
  auto found = std::find_if(all_.begin(), all_.end(), same);
  if (found == all_.end()) {
    const network::ReductionNumber number = network_.reserve_reduction(nodes, wish.rounds);
    if (number == network::kNoReduction) return false;
    found = std::find_if(all_.begin(), all_.end(),
                         [](const Reduction& each) { return each.number == network::kNoReduction; });
    if (found == all_.end()) found = all_.insert(all_.end(), Reduction{});
    *found = {};
    found->number = number;
    found->key = wish.key;
    found->rounds.resize(std::size_t{2} * wish.rounds);
    for (network::EndpointId each : nodes) found->members.push_back({each, false, {}});
  }
  Member& member = found->members[member_of(*found, node)];
  if (member.joined || found->rounds.size() != 2 * wish.rounds) return false;
  member.joined = true;
  member.wish = wish;
  ++found->joined;
  if (joined_.size() <= wish.nic) joined_.resize(wish.nic + 1);
  auto& ports = joined_[wish.nic];
  if (ports.size() <= wish.port) ports.resize(wish.port + 1);
  ports[wish.port].push_back({wish.tag, static_cast<std::uint32_t>(found - all_.begin())});
  return true;
}

std::uint32_t Reductions::find(NicId nic, PortNo port, std::uint32_t tag) const {
  if (nic >= joined_.size() || port >= joined_[nic].size()) return kNone;
  for (const Joined& each : joined_[nic][port])
    if (each.tag == tag) return each.index;
  return kNone;
}

std::size_t Reductions::member_of(const Reduction& reduction, network::EndpointId node) const {
  const auto found =
      std::lower_bound(reduction.members.begin(), reduction.members.end(), node,
                       [](const Member& member, network::EndpointId n) { return member.node < n; });
  WEFT_CHECK(found != reduction.members.end() && found->node == node, "members alone contribute");
  return static_cast<std::size_t>(found - reduction.members.begin());
}

void Reductions::leave(NicId nic, PortNo port, std::uint32_t tag) {
  const std::uint32_t index = find(nic, port, tag);
  if (index == kNone) return;
  std::erase_if(joined_[nic][port], [&](const Joined& each) { return each.tag == tag; });
  Reduction& reduction = all_[index];
  for (Member& member : reduction.members)
    if (member.joined && member.wish.nic == nic && member.wish.port == port && member.wish.tag == tag)
      member.joined = false;
  --reduction.joined;
  end(index);
}

/// When nobody takes part any more, routers have their room back: unless somebody went away in the middle of
/// a round, whose contributions are still there.
void Reductions::end(std::uint32_t index) {
  Reduction& reduction = all_[index];
  const bool open = std::any_of(reduction.rounds.begin(), reduction.rounds.end(),
                                [](const Round& round) { return round.given_by > 0; });
  if (reduction.joined > 0 || open) return;
  network_.release_reduction(reduction.number);
  reduction = {};
}

void Reductions::close(NicId nic, PortNo port) {
  if (nic >= joined_.size() || port >= joined_[nic].size()) return;
  while (!joined_[nic][port].empty()) leave(nic, port, joined_[nic][port].back().tag);
}

bool Reductions::give(const Packet& packet, network::EndpointId node) {
  const Header& h = packet.header;
  Reduction& reduction = all_[h.reduction];
  Round& round = reduction.rounds[h.operand % reduction.rounds.size()];
  if (round.given_by == 0) {
    round = {};
    round.number = h.operand;
    round.given.resize(reduction.members.size());
  }
  Given& given = round.given[member_of(reduction, node)];
  if (round.number != h.operand || given.here) return false;
  given = {true, false, h.compare, packet.data};
  ++round.given_by;
  return true;
}

/// As the routers of the tree do it, each in the order of its inputs.
void Reductions::make(const Reduction& reduction, Round& round) {
  const RoundKind about = RoundKind::of(round.given.front().kind);
  round.made = true;
  round.alike = std::all_of(round.given.begin(), round.given.end(), [&](const Given& given) {
    return given.kind == round.given.front().kind && given.data.size() == round.given.front().data.size();
  });
  if (!round.alike) return;
  std::vector<std::vector<std::uint8_t>> stack;
  for (const network::ReductionStep& step : network_.reduction_steps(reduction.number)) {
    if (step.combine == 0) {
      stack.push_back(round.given[member_of(reduction, step.member)].data);
      continue;
    }
    const std::size_t first = stack.size() - step.combine;
    if (needs_units(about.combine))
      for (std::size_t i = first + 1; i < stack.size(); ++i)
        combine(about.combine, about.type, stack[first].data(), stack[i].data(), stack[first].size());
    stack.resize(first + 1);
  }
  WEFT_CHECK(stack.size() == 1, "the steps of a tree leave one value");
  round.value = std::move(stack.front());
}

void Reductions::take(Packet& packet, network::EndpointId node) {
  Header& h = packet.header;
  Reduction& reduction = all_[h.reduction];
  Round& round = reduction.rounds[h.operand % reduction.rounds.size()];
  const std::size_t me = member_of(reduction, node);
  WEFT_CHECK(round.number == h.operand && round.given[me].here && !round.given[me].told,
             "what comes back was given, once");
  if (!packet.gone) {
    if (!round.made) make(reduction, round);
    if (round.alike) {
      packet.data = round.value;
    } else {
      const Given& mine = round.given[me];
      const auto other = static_cast<std::size_t>(std::find_if(round.given.begin(), round.given.end(),
                                                               [&](const Given& each) {
                                                                 return each.kind != mine.kind ||
                                                                        each.data.size() != mine.data.size();
                                                               }) -
                                                  round.given.begin());
      h.status = Status::Mismatch;
      h.value = round.given[other].kind;
      h.offset = reduction.members[other].node;
      h.length = round.given[other].data.size();
    }
  }
  round.given[me].told = true;
  if (++round.told < round.given.size()) return;
  round = {};
  end(h.reduction);
}

void Reductions::add_waiting(NicId nic, PortNo port, std::vector<WaitingRound>& out) const {
  if (nic >= joined_.size() || port >= joined_[nic].size()) return;
  for (const Joined& each : joined_[nic][port]) {
    const Reduction& reduction = all_[each.index];
    for (const Round& round : reduction.rounds) {
      if (round.given_by == 0 || round.given_by == round.given.size()) continue;
      WaitingRound waiting;
      waiting.port = port;
      waiting.key = reduction.key;
      waiting.round = round.number;
      bool own = false;
      for (std::size_t i = 0; i < reduction.members.size(); ++i) {
        const Member& member = reduction.members[i];
        const TriggerTarget at{static_cast<std::uint32_t>(member.node), member.wish.port,
                               static_cast<std::uint16_t>(member.wish.sequence), 0};
        if (member.wish.nic == nic && member.wish.port == port) {
          own = round.given[i].here;
          waiting.sequence = member.wish.sequence;
          waiting.members = member.wish.members;
          waiting.kind = round.given[i].kind;
        } else {
          (round.given[i].here ? waiting.here : waiting.missing).push_back(at);
        }
      }
      if (own) out.push_back(std::move(waiting));
    }
  }
}

}  // namespace weft::nic
