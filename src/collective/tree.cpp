#include "collective/tree.hpp"

#include <algorithm>

namespace weft::collective {

namespace {

/// The lowest digit of a place that is not 0: its value, and the power of the arity it stands for.
struct Digit {
  std::uint64_t power, value;
};

Digit lowest(Place place, unsigned arity) {
  std::uint64_t power = 1;
  while (place / power % arity == 0) power *= arity;
  return {power, place / power % arity};
}

// In a tree of one level.
Place parent_in(Shape shape, unsigned arity, Place place) {
  if (shape == Shape::Kary) return (place - 1) / arity;
  Digit digit = lowest(place, arity);
  return place - static_cast<Place>(digit.power * digit.value);
}

std::vector<Place> children_in(Shape shape, unsigned arity, Place members, Place place) {
  std::vector<Place> out;
  if (shape == Shape::Kary) {
    for (std::uint64_t i = std::uint64_t{place} * arity + 1, end = i + arity; i < end && i < members; ++i)
      out.push_back(static_cast<Place>(i));
    return out;
  }
  std::uint64_t power = 1;
  if (place) {
    power = lowest(place, arity).power;
  } else {
    while (power < members) power *= arity;
  }
  for (power /= arity; power > 0; power /= arity)
    for (std::uint64_t value = 1; value < arity; ++value)
      if (place + power * value < members) out.push_back(static_cast<Place>(place + power * value));
  return out;
}

}  // namespace

Tree::Tree(Shape shape, unsigned arity_within, unsigned arity_across, const std::vector<Place>& groups)
    : shape_(shape), arity_(arity_within), across_(arity_across), members_(0) {
  for (Place size : groups) {
    first_.push_back(members_);
    members_ += size;
  }
}

Place Tree::group_of(Place place) const {
  return static_cast<Place>(std::upper_bound(first_.begin(), first_.end(), place) - first_.begin() - 1);
}

Place Tree::parent(Place place) const {
  if (first_.empty()) return parent_in(shape_, arity_, place);
  const Place group = group_of(place), first = first_[group];
  if (place == first) return first_[parent_in(shape_, across_, group)];
  return first + parent_in(shape_, arity_, place - first);
}

std::vector<Place> Tree::children(Place place) const {
  if (first_.empty()) return children_in(shape_, arity_, members_, place);
  const Place group = group_of(place), first = first_[group];
  const Place end = group + 1 < first_.size() ? first_[group + 1] : members_;
  std::vector<Place> out;
  if (place == first)  // those further away first: they have the longest way to go
    for (Place other : children_in(shape_, across_, static_cast<Place>(first_.size()), group))
      out.push_back(first_[other]);
  for (Place other : children_in(shape_, arity_, end - first, place - first)) out.push_back(first + other);
  return out;
}

unsigned Tree::rank_among_children(Place place) const {
  std::vector<Place> all = children(parent(place));
  return static_cast<unsigned>(std::find(all.begin(), all.end(), place) - all.begin());
}

unsigned Tree::depth(Place place) const {
  unsigned out = 0;
  for (; place; place = parent(place)) ++out;
  return out;
}

unsigned Tree::levels() const {
  if (members_ < 2) return 0;
  if (!first_.empty()) {
    unsigned most = 0;
    for (Place place = 0; place < members_; ++place) most = std::max(most, depth(place));
    return most;
  }
  if (shape_ == Shape::Kary) return depth(members_ - 1);
  unsigned digits = 0;  // a step for each that is not 0
  for (std::uint64_t left = members_ - 1; left; left /= arity_) ++digits;
  return digits;
}

unsigned arity_of_fewest_levels(Shape shape, Place members, unsigned most) {
  unsigned best = 2, fewest = ~0u;
  for (unsigned arity = 2; arity <= std::max(most, 2u); ++arity) {
    const Tree tree(shape, arity, members);
    if (tree.widest() > most || tree.levels() >= fewest) continue;
    best = arity;
    fewest = tree.levels();
  }
  return best;
}

Arities arities_of_fewest_levels(Shape shape, const std::vector<Place>& groups, unsigned most) {
  Arities best;
  unsigned fewest = ~0u;
  for (unsigned across = 2; across <= std::max(most, 2u); ++across)
    for (unsigned within = 2; within <= std::max(most, 2u); ++within) {
      const Tree tree(shape, within, across, groups);
      if (tree.widest() > most || tree.levels() >= fewest) continue;
      best = {within, across};
      fewest = tree.levels();
    }
  return best;
}

unsigned Tree::widest() const {
  if (first_.empty()) return static_cast<unsigned>(children(0).size());
  std::size_t most = 0;
  for (Place first : first_) most = std::max(most, children(first).size());
  return static_cast<unsigned>(most);
}

std::vector<Place> Tree::subtree(Place place) const {
  std::vector<Place> out{place};
  for (Place child : children(place)) {
    std::vector<Place> below = subtree(child);
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

std::vector<std::uint32_t> nearest_first(
    const Tree& tree, const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& distance) {
  const Place members = tree.members();
  std::vector<std::uint32_t> member_at(members, ~0u);
  if (!members) return member_at;
  std::vector<std::uint32_t> left;
  for (std::uint32_t i = 1; i < members; ++i) left.push_back(i);
  member_at[0] = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_distance;
  // Parents before their children, nearest to the root first: children() names larger places than its own.
  std::vector<Place> order{0};
  for (std::size_t at = 0; at < order.size(); ++at) {
    std::vector<Place> children = tree.children(order[at]);
    if (children.empty()) continue;
    by_distance.clear();
    for (std::uint32_t member : left)
      by_distance.emplace_back(distance(member_at[order[at]], member), member);
    auto end =
        by_distance.begin() + static_cast<std::ptrdiff_t>(std::min(children.size(), by_distance.size()));
    std::partial_sort(by_distance.begin(), end, by_distance.end());
    for (std::size_t i = 0; i < children.size(); ++i) {
      member_at[children[i]] = by_distance[i].second;
      left.erase(std::lower_bound(left.begin(), left.end(), by_distance[i].second));
      order.push_back(children[i]);
    }
  }
  return member_at;
}

std::vector<Place> bring_together(std::vector<std::uint32_t>& members,
                                  const std::vector<std::uint32_t>& group_of_member) {
  std::vector<std::uint32_t> names;
  std::vector<std::vector<std::uint32_t>> parts;
  for (std::uint32_t member : members) {
    std::size_t at = 0;
    while (at < names.size() && names[at] != group_of_member[member]) ++at;
    if (at == names.size()) {
      names.push_back(group_of_member[member]);
      parts.emplace_back();
    }
    parts[at].push_back(member);
  }
  std::vector<Place> sizes;
  members.clear();
  for (const auto& part : parts) {
    sizes.push_back(static_cast<Place>(part.size()));
    members.insert(members.end(), part.begin(), part.end());
  }
  return sizes;
}

}  // namespace weft::collective
