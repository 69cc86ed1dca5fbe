#include "nic/reductions.hpp"

#include <algorithm>
#include <utility>

#include "nic/operation_units.hpp"

namespace weft::nic {

namespace {

std::size_t place_of(const GroupReduction& group, network::EndpointId member) {
  return static_cast<std::size_t>(std::lower_bound(group.members.begin(), group.members.end(), member) -
                                  group.members.begin());
}

}  // namespace

const GroupReduction* Reductions::join(std::uint64_t key, std::vector<network::EndpointId> nodes,
                                       network::EndpointId root, unsigned rounds) {
  if (!there_are()) return nullptr;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (std::erase(nodes, root) != 1 || nodes.empty()) return nullptr;
  auto [at, fresh] = groups_.try_emplace(key);
  GroupReduction& group = at->second;
  if (fresh) {
    group.members = std::move(nodes);
    group.root = root;
    group.senders.resize(group.members.size());
    group.sent.resize(group.members.size());
    group.number = reducer_->reduction(group.members, root, rounds);
    ++(group.number == network::kNoGroup ? refused_ : granted_);
  } else if (group.members != nodes || group.root != root) {
    return nullptr;
  }
  ++group.processes;
  return group.number == network::kNoGroup ? nullptr : &group;
}

void Reductions::leave(std::uint64_t key) {
  const auto at = groups_.find(key);
  if (at == groups_.end() || --at->second.processes) return;
  if (at->second.number != network::kNoGroup) reducer_->end_reduction(at->second.number);
  groups_.erase(at);
}

void Reductions::note_sender(std::uint64_t key, const TriggerTarget& sender, const TriggerTarget& target) {
  GroupReduction& group = *find(key);
  group.senders[place_of(group, sender.node)] = sender;
  group.target = target;
}

void Reductions::note_sent(std::uint64_t key, network::EndpointId member) {
  GroupReduction& group = *find(key);
  ++group.sent[place_of(group, member)];
}

void Reductions::fold(Slab<Packet>& packets, std::uint32_t arrived, std::vector<std::uint32_t>& others) {
  const network::GroupNumber number = packets[arrived].header.group;
  tags_.clear();
  reducer_->take_round(number, static_cast<std::uint32_t>(packets[arrived].header.operand), tags_);
  const auto packet = [&](std::uint32_t member) -> Packet& {
    return packets[static_cast<std::uint32_t>(tags_[member])];
  };
  const routing::FoldOrder& order = reducer_->order(number);
  Packet& first = packet(order.first);
  const RoundKind kind = RoundKind::of(first.header.compare);
  for (const routing::Fold& fold : order.folds) {
    Packet &into = packet(fold.into), &from = packet(fold.from);
    into.header.damaged |= from.header.damaged;
    if (from.header.compare != first.header.compare || from.data.size() != into.data.size()) {
      // Who made it is told at the root (Triggered::receive).
      first.header.status = Status::Mismatch;
      first.header.value = from.header.compare;
      first.header.offset = from.header.from;
      first.header.length = from.data.size();
    } else if (needs_units(kind.combine)) {
      combine(kind.combine, kind.type, into.data.data(), from.data.data(), into.data.size());
    }
  }
  if (Packet& result = packets[arrived]; &result != &first) {
    std::swap(result.header, first.header);
    std::swap(result.data, first.data);
    std::swap(result.stamps, first.stamps);
  }
  for (network::Tag tag : tags_) {
    const auto index = static_cast<std::uint32_t>(tag);
    packets[arrived].stamps.sent = std::max(packets[arrived].stamps.sent, packets[index].stamps.sent);
    if (index != arrived) others.push_back(index);
  }
}

}  // namespace weft::nic
