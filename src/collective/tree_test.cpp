#include "collective/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collective/sequences.hpp"

namespace weft::collective {
namespace {

TEST(Tree, EveryMemberIsReachedOnceAndKnowsItsParent) {
  for (Shape shape : {Shape::Kary, Shape::Knomial})
    for (unsigned arity : {2u, 3u, 4u, 8u})
      for (Place members : {1u, 2u, 3u, 7u, 16u, 17u, 64u, 100u, 1000u}) {
        Tree tree(shape, arity, members);
        std::set<Place> seen{0};
        for (Place place = 0; place < members; ++place) {
          std::vector<Place> children = tree.children(place);
          for (std::size_t i = 0; i < children.size(); ++i) {
            EXPECT_TRUE(seen.insert(children[i]).second);
            EXPECT_EQ(tree.parent(children[i]), place);
            EXPECT_EQ(tree.rank_among_children(children[i]), i);
          }
          EXPECT_LE(children.size(), std::max<std::size_t>(tree.widest(), arity));
        }
        EXPECT_EQ(seen.size(), members);
        std::vector<Place> all = tree.subtree(0);
        std::sort(all.begin(), all.end());
        for (Place place = 0; place < members; ++place) EXPECT_EQ(all[place], place);
      }
}

TEST(Tree, InTwoLevelsGroupsMeetAtTheirFirstMembersAlone) {
  const std::vector<std::vector<Place>> partitions{
      {1}, {4, 4}, {3, 1, 5, 2}, std::vector<Place>(40, 24), {7}};
  for (Shape shape : {Shape::Kary, Shape::Knomial})
    for (const std::vector<Place>& groups : partitions) {
      const Arities arities = arities_of_fewest_levels(shape, groups, 15);
      Tree tree(shape, arities.within, arities.across, groups);
      std::vector<std::size_t> group_of;
      for (std::size_t g = 0; g < groups.size(); ++g) group_of.insert(group_of.end(), groups[g], g);
      ASSERT_EQ(tree.members(), group_of.size());
      EXPECT_LE(tree.widest(), 15u);
      std::set<Place> seen{0};
      std::size_t between = 0;
      for (Place place = 0; place < tree.members(); ++place) {
        std::vector<Place> children = tree.children(place);
        EXPECT_LE(children.size(), tree.widest());
        for (std::size_t i = 0; i < children.size(); ++i) {
          EXPECT_TRUE(seen.insert(children[i]).second);
          EXPECT_EQ(tree.parent(children[i]), place);
          EXPECT_EQ(tree.rank_among_children(children[i]), i);
          between += group_of[children[i]] != group_of[place];
        }
        EXPECT_LE(tree.depth(place), tree.levels());
      }
      EXPECT_EQ(seen.size(), tree.members());
      EXPECT_EQ(between, groups.size() - 1) << "no more edges than needed leave a group";
    }
}

TEST(Tree, DepthsAreThoseOfTheShapes) {
  EXPECT_EQ(Tree(Shape::Kary, 4, 64).depth(63), 3u);
  EXPECT_EQ(Tree(Shape::Kary, 2, 7).depth(6), 2u);
  // Binomial: as many steps as ones in the number.
  EXPECT_EQ(Tree(Shape::Knomial, 2, 64).depth(63), 6u);
  EXPECT_EQ(Tree(Shape::Knomial, 2, 64).children(0), (std::vector<Place>{32, 16, 8, 4, 2, 1}));
  EXPECT_EQ(Tree(Shape::Knomial, 4, 64).widest(), 9u);
}

TEST(Tree, NearestMembersBecomeChildren) {
  // On a line, numbered so that neighbours are far apart in number.
  auto at = [](std::uint32_t member) { return static_cast<int>(member * 7 % 15); };
  Tree tree(Shape::Kary, 2, 15);
  std::vector<std::uint32_t> placed = nearest_first(tree, [&](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(std::abs(at(a) - at(b)));
  });
  std::set<std::uint32_t> all(placed.begin(), placed.end());
  EXPECT_EQ(all.size(), 15u);
  EXPECT_EQ(placed[0], 0u);
  EXPECT_EQ(at(placed[1]), 1);  // the two nearest to place 0 of the line
  EXPECT_EQ(at(placed[2]), 2);
  EXPECT_EQ(at(placed[3]), 3);  // the nearest that are left
}

TEST(Sequences, TargetsAreTheTreesEdges) {
  Tree tree(Shape::Kary, 2, 7);
  std::vector<Member> members;
  for (std::uint32_t i = 0; i < 7; ++i) members.push_back({i, 3, 10});
  Sequence up = sequence_for(tree, members, 2, Part::Up);
  EXPECT_EQ(up.image.inputs, 3);
  EXPECT_EQ(up.targets[0], (nic::TriggerTarget{0, 3, 10, 2}));  // the second child of place 0
  EXPECT_EQ(up.image.sources, 2);
  Sequence root = sequence_for(tree, members, 0, Part::Gather);
  EXPECT_EQ(root.image.step[1].action, nic::TriggerAction::Swap);
  EXPECT_EQ(root.image.step[root.image.step[1].step].action, nic::TriggerAction::Send);
  Sequence leaf = sequence_for(tree, members, 6, Part::Down);
  EXPECT_EQ(leaf.image.steps, 1);
  EXPECT_EQ(leaf.image.step[0].action, nic::TriggerAction::Deliver);
}

}  // namespace
}  // namespace weft::collective
