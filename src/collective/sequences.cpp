#include "collective/sequences.hpp"

#include <algorithm>

#include "abi/group_steps.hpp"

namespace weft::collective {

namespace {

using nic::TriggerAction;

void add(Sequence& s, TriggerAction action, unsigned input = 0, unsigned step = 0) {
  s.image.step[s.image.steps++] = {
      action, static_cast<std::uint8_t>(input), static_cast<std::uint8_t>(step), 0, 0, 0};
}

void send(Sequence& s, const std::vector<nic::TriggerTarget>& targets) {
  if (targets.empty()) return;
  s.image.step[s.image.steps++] = {TriggerAction::Send,
                                   0,
                                   0,
                                   0,
                                   static_cast<std::uint16_t>(s.targets.size()),
                                   static_cast<std::uint16_t>(targets.size())};
  s.targets.insert(s.targets.end(), targets.begin(), targets.end());
}

std::vector<nic::TriggerTarget> children_of(const Tree& tree, const std::vector<Member>& members, Place place,
                                            Part part) {
  std::vector<nic::TriggerTarget> out;
  for (Place child : tree.children(place)) out.push_back(members[child].input(part));
  return out;
}

/// One packet that the network copies or joins.
void send(Sequence& s, nic::Sending how, std::size_t first, std::uint16_t group) {
  s.image.step[s.image.steps++] = {
      TriggerAction::Send, 0, 0, static_cast<std::uint8_t>(how), static_cast<std::uint16_t>(first), group};
}

/// Those of the same node.
std::vector<Place> near_children(const Tree& tree, const std::vector<Member>& members, Place place) {
  std::vector<Place> out;
  for (Place child : tree.children(place))
    if (members[child].node == members[place].node) out.push_back(child);
  return out;
}

/// Up, where routers join what the first members of nodes give: the root has an input for that, its last.
Sequence up_by_routers(const Tree& tree, const std::vector<Member>& members, Place place,
                       const InNetwork& network) {
  Sequence s;
  const std::vector<Place> near = near_children(tree, members, place);
  const auto after_near = static_cast<std::uint16_t>(1 + near.size());
  s.image.inputs = static_cast<std::uint16_t>(after_near + (place == 0));
  add(s, TriggerAction::Combine);
  if (place == 0) {
    send(s, nic::Sending::ToMembers, static_cast<std::size_t>(Part::Down), network.group);
    add(s, TriggerAction::Deliver);
  } else if (const Place parent = tree.parent(place); members[parent].node == members[place].node) {
    const std::vector<Place> same = near_children(tree, members, parent);
    const auto rank = std::find(same.begin(), same.end(), place) - same.begin();
    send(s, {members[parent].input(Part::Up, static_cast<std::uint16_t>(1 + rank))});
  } else {
    const auto last = static_cast<std::uint16_t>(1 + near_children(tree, members, 0).size());
    s.targets.push_back(members[0].input(Part::Up, last));
    send(s, nic::Sending::Contribution, s.targets.size() - 1, network.group);
  }
  for (Place child : near) s.targets.push_back(members[child].input(Part::Up));
  s.image.sources = static_cast<std::uint16_t>(near.size());
  s.image.targets = static_cast<std::uint16_t>(s.targets.size());
  return s;
}

}  // namespace

unsigned inputs_where_routers_join(const Tree& tree, const std::vector<Member>& members) {
  std::size_t most = 0;
  for (Place place = 0; place < members.size(); ++place)
    most = std::max(most, 1 + near_children(tree, members, place).size() + (place == 0));
  return static_cast<unsigned>(most);
}

Sequence sequence_for(const Tree& tree, const std::vector<Member>& members, Place place, Part part,
                      const InNetwork& network) {
  if (part == Part::Up && network.joins) return up_by_routers(tree, members, place, network);
  Sequence s;
  const auto upwards = static_cast<std::uint16_t>(1 + tree.children(place).size());
  auto to_parent = [&](Part same) {
    const auto input = static_cast<std::uint16_t>(1 + tree.rank_among_children(place));
    send(s, {members[tree.parent(place)].input(same, input)});
  };
  auto to_children = [&](Part same) {
    if (!network.copies)
      send(s, children_of(tree, members, place, same));
    else if (place == 0)
      send(s, nic::Sending::ToMembers, static_cast<std::size_t>(same), network.group);
  };
  s.image.inputs = part == Part::Up || part == Part::Gather ? upwards : 1;
  switch (part) {
    case Part::Up:
      add(s, TriggerAction::Combine);
      if (place) {
        to_parent(Part::Up);
      } else {
        to_children(Part::Down);
        add(s, TriggerAction::Deliver);
      }
      break;
    case Part::Gather:
      add(s, TriggerAction::Combine);
      if (place) {
        to_parent(Part::Gather);
      } else {
        add(s, TriggerAction::Swap, 0, 2);
        send(s, {members[0].input(Part::Result)});
      }
      break;
    case Part::Down:
    case Part::Spread:
      to_children(part);
      add(s, TriggerAction::Deliver);
      break;
    case Part::Result:
      add(s, TriggerAction::Deliver);
      break;
  }
  if (s.image.inputs > 1) {
    const std::vector<nic::TriggerTarget> sources = children_of(tree, members, place, part);
    s.targets.insert(s.targets.end(), sources.begin(), sources.end());
    s.image.sources = static_cast<std::uint16_t>(sources.size());
  }
  s.image.targets = static_cast<std::uint16_t>(s.targets.size());
  return s;
}

}  // namespace weft::collective
