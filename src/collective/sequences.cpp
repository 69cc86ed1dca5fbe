#include "collective/sequences.hpp"

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

}  // namespace

Sequence sequence_for(const Tree& tree, const std::vector<Member>& members, Place place, Part part,
                      std::uint32_t routers) {
  Sequence s;
  const auto upwards = static_cast<std::uint16_t>(1 + tree.children(place).size());
  auto to_parent = [&](Part same) {
    const auto input = static_cast<std::uint16_t>(1 + tree.rank_among_children(place));
    send(s, {members[tree.parent(place)].input(same, input)});
  };
  s.image.inputs = part == Part::Up || part == Part::Gather ? upwards : 1;
  switch (part) {
    case Part::Up:
      add(s, TriggerAction::Combine);
      if (place) {
        to_parent(Part::Up);
      } else if (routers != kNoRouters) {
        nic::TriggerTarget back = members[0].input(Part::Down);
        back.node = nic::kToRouters;
        back.port = routers;
        send(s, {back});
      } else {
        send(s, children_of(tree, members, place, Part::Down));
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
      send(s, children_of(tree, members, place, part));
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
