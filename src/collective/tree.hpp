// The trees that collectives run along: who is whose parent, by place in an order of the members.
//
// Place 0 is the root. In a k-ary tree place i has the children k*i+1 ... k*i+k. In a k-nomial tree the root
// has children at the distances k^j, 2*k^j, ... (k-1)*k^j for every j, largest subtrees first; each of them
// is the root of such a tree of the places up to the next. Which member has which place is the caller's
// choice: by number, or by how near they are in the network. A tree in two levels is made of such trees: one
// within each group of members, as those of one node, whose places follow each other, and one of the groups'
// first members. Used by what programs link and by the simulator alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weft::collective {

enum class Shape : std::uint32_t { Kary, Knomial };

using Place = std::uint32_t;

class Tree {
 public:
  Tree(Shape shape, unsigned arity, Place members) : shape_(shape), arity_(arity), members_(members) {}
  /// In two levels: groups of so many members each.
  Tree(Shape shape, unsigned arity_within, unsigned arity_across, const std::vector<Place>& groups);

  Place members() const { return members_; }
  /// Of any place but the root.
  Place parent(Place place) const;
  std::vector<Place> children(Place place) const;
  /// Which of its parent's children it is, from 0.
  unsigned rank_among_children(Place place) const;
  unsigned depth(Place place) const;
  /// Steps from the root to the member that is furthest from it, at most.
  unsigned levels() const;
  /// Most children of a member.
  unsigned widest() const;
  /// The places of a subtree in the order in which a gather puts their blocks together: itself, then each
  /// child's subtree.
  std::vector<Place> subtree(Place place) const;

 private:
  /// The group of a place.
  Place group_of(Place place) const;

  Shape shape_;
  unsigned arity_, across_ = 0;
  Place members_;
  std::vector<Place> first_;  // of each group; empty: one level
};

/// The narrowest of the trees with the fewest levels whose members have at most so many children.
unsigned arity_of_fewest_levels(Shape shape, Place members, unsigned most);

/// The same of a tree in two levels: of all that are allowed, the one with the fewest levels.
struct Arities {
  unsigned within = 2, across = 2;
};
Arities arities_of_fewest_levels(Shape shape, const std::vector<Place>& groups, unsigned most);

/// Brings members of one group together, groups in the order of their first members; how many are in each.
std::vector<Place> bring_together(std::vector<std::uint32_t>& members,
                                  const std::vector<std::uint32_t>& group_of_member);

/// Members in places so that each has the nearest of those that are left as its children, the nearest first;
/// the first member is the root.
std::vector<std::uint32_t> nearest_first(
    const Tree& tree, const std::function<std::uint32_t(std::uint32_t a, std::uint32_t b)>& distance);

}  // namespace weft::collective
