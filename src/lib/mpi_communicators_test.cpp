// Communicators of a fake MPI library: numbers that members agree on without seeing each other's handles.
#include "lib/mpi_communicators.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "abi/port_layout.hpp"
#include "lib/rank_thread.hpp"

namespace weft::lib {
namespace {

/// By handle: its ranks in the world. A group's handle is its communicator's, less than 0.
std::map<Word, std::vector<int>> communicators;
std::map<Word, unsigned> groups_freed;

Word comm_size(Word handle, int* out) {
  *out = static_cast<int>(communicators.at(handle).size());
  return 0;
}
Word comm_group(Word handle, Word* out) {
  *out = -handle;
  return 0;
}
Word test_inter(Word, int* out) {
  *out = 0;
  return 0;
}
Word group_size(Word group, int* out) { return comm_size(-group, out); }
Word group_free(Word* group) {
  ++groups_freed[*group];
  return 0;
}
Word comm_rank(Word, int* out) {
  *out = 0;
  return 0;
}
Word translate(Word group, Word count, const int* ranks, Word, int* out) {
  for (Word i = 0; i < count; ++i) out[i] = communicators.at(-group).at(static_cast<std::size_t>(ranks[i]));
  return 0;
}
Word type_size(Word type, int* out) {
  *out = static_cast<int>(type);
  return 0;
}

}  // namespace

// What the code under test needs of the rest of the library.
void* mpi_function(const char* name) {
  static const std::map<std::string, void*> functions = {
      {"PMPI_Comm_rank", reinterpret_cast<void*>(comm_rank)},
      {"PMPI_Comm_size", reinterpret_cast<void*>(comm_size)},
      {"PMPI_Comm_group", reinterpret_cast<void*>(comm_group)},
      {"PMPI_Comm_test_inter", reinterpret_cast<void*>(test_inter)},
      {"PMPI_Group_size", reinterpret_cast<void*>(group_size)},
      {"PMPI_Group_free", reinterpret_cast<void*>(group_free)},
      {"PMPI_Group_translate_ranks", reinterpret_cast<void*>(translate)},
      {"PMPI_Type_size", reinterpret_cast<void*>(type_size)}};
  auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}
bool is_mpich() { return false; }
Word mpi_handle(Word word) { return word; }
Word mpi_world() { return 1; }
bool mpi_null(Word handle) { return handle == 0; }
abi::Header* run() { return nullptr; }

namespace {

TEST(Communicators, AreToldApartAndKnownAgain) {
  communicators = {{1, {0, 1, 2, 3}}, {2, {0, 2}}, {3, {1, 3}}, {4, {0, 2}}};
  const Communicator world = communicator(1), even = communicator(2), odd = communicator(3),
                     again = communicator(4);
  EXPECT_EQ(world.members, 4u);
  EXPECT_EQ(world.group, 0) << "ranks are the world's";
  EXPECT_EQ(even.members, 2u);
  EXPECT_EQ(communicator(2).number, even.number) << "the same handle, the same number";
  EXPECT_NE(even.number, odd.number);
  EXPECT_NE(even.number, again.number) << "the second of its kind";
  EXPECT_EQ(rank_in_world(odd, 1), 3);
  EXPECT_EQ(rank_in_world(world, 2), 2);
  EXPECT_EQ(rank_in_world(odd, 2), -1) << "it has no such rank";
  EXPECT_EQ(rank_in_world(odd, -1), -1);
  EXPECT_EQ(communicator(0).members, 0u) << "none";
}

/// Others of the same first member and size were met by some of the members alone.
TEST(Communicators, AreToldApartByAllTheirMembers) {
  communicators[50] = {0, 1, 5};
  communicators[51] = {0, 2, 5};
  const Communicator a = communicator(50), b = communicator(51);
  EXPECT_EQ(a.number >> 48, b.number >> 48) << "each is the first of its kind";
  EXPECT_NE(a.number, b.number);
  EXPECT_EQ(a.rank, 0);
}

TEST(Communicators, AHandleThatWasFreedIsAnotherOneNextTime) {
  communicators[40] = {0, 1};
  const Communicator first = communicator(40);
  Word handle = 40;
  forget_communicator(reinterpret_cast<Word>(&handle));
  EXPECT_GT(groups_freed[-40], 0u);
  communicators[40] = {2, 3};
  const Communicator second = communicator(40);
  EXPECT_NE(second.number, first.number);
  EXPECT_EQ(rank_in_world(second, 0), 2);
  forget_communicator(0);
}

TEST(Communicators, TheOldestOfManyIsForgottenAndItsGroupGivenBack) {
  const unsigned before = groups_freed[-1000];
  for (Word handle = 1000; handle < 1300; ++handle) communicators[handle] = {0, 1, 2};
  for (Word handle = 1000; handle < 1300; ++handle) EXPECT_EQ(communicator(handle).members, 3u);
  EXPECT_GT(groups_freed[-1000], before);
}

TEST(Communicators, BytesOfATypeAreAsked) {
  EXPECT_EQ(type_bytes(8), 8u);
  EXPECT_EQ(type_bytes(0), 0u) << "no type";
}

}  // namespace
}  // namespace weft::lib
