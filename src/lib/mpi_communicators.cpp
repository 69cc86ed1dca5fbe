// Members cannot see each other's handles. They agree on a number because all of them know its members, and
// how many communicators of the same they have met before: making one is collective, so they meet them in the
// same order.
#include "lib/mpi_communicators.hpp"

#include <pthread.h>
#include <stdio.h>

#include "lib/rank_thread.hpp"

namespace weft::lib {

namespace {

struct Entry {
  Word handle = 0;
  Communicator communicator;
};

constexpr unsigned kRemembered = 256, kKinds = 1024;
Entry remembered[kRemembered];
unsigned oldest = 0;

struct Kind {
  std::uint32_t who = 0, members = 0, met = 0;
};
Kind kinds[kKinds];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

class Locked {
 public:
  Locked() { pthread_mutex_lock(&lock); }
  ~Locked() { pthread_mutex_unlock(&lock); }
};

template <class... Words>
int call(const char* name, Words... words) {
  auto function = reinterpret_cast<Word (*)(Words...)>(mpi_function(name));
  return static_cast<int>(function(words...));
}

std::uint32_t times_met(std::uint32_t who, std::uint32_t members) {
  unsigned at = (who * 31 + members) % kKinds;
  for (unsigned i = 0; i < kKinds; ++i, at = (at + 1) % kKinds) {
    Kind& kind = kinds[at];
    if (kind.met == 0) kind = {who, members, 0};
    if (kind.who == who && kind.members == members) return ++kind.met;
  }
  return 0;
}

void free_group(Entry& entry) {
  if (entry.communicator.group) call("PMPI_Group_free", &entry.communicator.group);
  entry = {};
}

bool has_two_sides(Word handle) {
  int two_sides = 0;
  call("PMPI_Comm_test_inter", handle, &two_sides);
  return two_sides;
}

/// Of the other side, where it has two.
Word peers_of(Word handle, bool two_sides) {
  Word group = 0;
  return call(two_sides ? "PMPI_Comm_remote_group" : "PMPI_Comm_group", handle, &group) == 0 ? group : 0;
}

void translate(Word group, int count, const int* ranks, int* out) {
  static Word world = [] {
    Word group_of_all = 0;
    call("PMPI_Comm_group", mpi_world(), &group_of_all);
    return group_of_all;
  }();
  static auto function = reinterpret_cast<Word (*)(Word, Word, const int*, Word, int*)>(
      mpi_function("PMPI_Group_translate_ranks"));
  function(group, count, ranks, world, out);
}

int translated(Word group, int rank) {
  int out = rank;
  translate(group, 1, &rank, &out);
  return out;
}

/// A number of 24 bits that members of other communicators hardly ever have, too.
std::uint32_t mixed(Word group, std::uint32_t count) {
  constexpr std::uint32_t kAtOnce = 64;
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (std::uint32_t first = 0; first < count; first += kAtOnce) {
    int ranks[kAtOnce], world[kAtOnce] = {};
    const auto here = static_cast<int>(count - first < kAtOnce ? count - first : kAtOnce);
    for (int i = 0; i < here; ++i) ranks[i] = static_cast<int>(first) + i;
    translate(group, here, ranks, world);
    for (int i = 0; i < here; ++i) sum = (sum ^ static_cast<std::uint32_t>(world[i])) * 0x100000001b3u;
  }
  return static_cast<std::uint32_t>((sum ^ sum >> 24 ^ sum >> 48) & 0xff'ffff);
}

}  // namespace

Communicator communicator(Word word) {
  Word handle = mpi_handle(word);
  if (mpi_null(handle)) return {};  // the call it is for will complain, in its own words
  Locked locked;
  for (const Entry& entry : remembered)
    if (entry.handle == handle && handle) return entry.communicator;
  int members = 0;
  if (call("PMPI_Comm_size", handle, &members) != 0 || members <= 0) return {};
  Communicator c;
  c.members = static_cast<std::uint32_t>(members);
  const bool two_sides = has_two_sides(handle);
  Word peers = peers_of(handle, two_sides);
  if (int rank = -1; !two_sides && call("PMPI_Comm_rank", handle, &rank) == 0) c.rank = rank;
  int count = 0;
  if (call("PMPI_Group_size", peers, &count) == 0) c.peers = static_cast<std::uint32_t>(count);
  const std::uint32_t who = mixed(peers, c.peers);
  c.number = std::uint64_t{times_met(who, c.members)} << 48 | std::uint64_t{who} << 24 | c.members;
  if (handle != mpi_world()) {
    c.group = peers;
  } else {
    call("PMPI_Group_free", &peers);
  }
  free_group(remembered[oldest]);
  remembered[oldest] = {handle, c};
  oldest = (oldest + 1) % kRemembered;
  return c;
}

void forget_communicator(Word address) {
  if (!address) return;
  Word handle = mpi_handle(mpi_handle(-1) == -1 ? *reinterpret_cast<Word*>(address)
                                                : *reinterpret_cast<std::int32_t*>(address));
  Locked locked;
  for (Entry& entry : remembered)
    if (entry.handle == handle) free_group(entry);
}

int rank_in_world(const Communicator& c, int rank) {
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= c.peers) return -1;  // the call itself will complain
  return c.group ? translated(c.group, rank) : rank;
}

Word split_by_node(Word communicator, Word type, Word key, Word info, Word out) {
  constexpr int kUndefined = -32766;  // in both
  const int kShared = is_mpich() ? 1 : 0;
  auto color = static_cast<int>(type);
  if (color != kShared && color != kUndefined)
    return call("PMPI_Comm_split_type", communicator, type, key, info, out);
  if (color == kShared) color = static_cast<int>(run()->node);
  return call("PMPI_Comm_split", communicator, Word{color}, key, out);
}

namespace {

/// In words, once; with the class of error that MPI has for it, for each process asked for, too.
Word refuse_to_spawn(const char* name, Word communicator, Word root, Word asked, Word codes) {
  const int kSpawn = is_mpich() ? 42 : 50;  // MPI_ERR_SPAWN
  int me = -1;
  call("PMPI_Comm_rank", communicator, &me);
  if (me == static_cast<int>(root))
    fprintf(
        stderr,
        "weft: rank %u: %s: ranks cannot be added to a run; it has %u, as MPI_UNIVERSE_SIZE says. Start as "
        "many as are needed with -n, and let MPI_Comm_split make groups of them\n",
        run()->rank, name, run()->ranks);
  for (Word i = 0; codes && i < asked; ++i) reinterpret_cast<int*>(codes)[i] = kSpawn;
  call("PMPI_Comm_call_errhandler", communicator, Word{kSpawn});
  return kSpawn;
}

}  // namespace

Word refuse_spawn(Word, Word, Word most, Word, Word root, Word communicator, Word, Word codes) {
  return refuse_to_spawn("MPI_Comm_spawn", communicator, root, static_cast<int>(most), codes);
}

Word refuse_spawn_multiple(Word count, Word, Word, Word most, Word, Word root, Word communicator, Word,
                           Word codes) {
  int me = -1;
  call("PMPI_Comm_rank", communicator, &me);
  Word asked = 0;  // only the root knows
  for (int i = 0; me == static_cast<int>(root) && i < static_cast<int>(count); ++i)
    asked += reinterpret_cast<const int*>(most)[i];
  return refuse_to_spawn("MPI_Comm_spawn_multiple", communicator, root, asked, codes);
}

Word begin_with_first_byte(Word& buffer, Word& datatype) {
  if (mpi_null(datatype)) return 0;
  static auto true_extent = reinterpret_cast<Word (*)(Word, std::int64_t*, std::int64_t*)>(
      mpi_function("PMPI_Type_get_true_extent"));
  std::int64_t first = 0, extent = 0;
  if (true_extent(datatype, &first, &extent) != 0 || first == 0) return 0;
  Word made = 0;
  std::int64_t back = -first;
  if (call("PMPI_Type_create_hindexed_block", Word{1}, Word{1}, &back, datatype, &made) != 0) return 0;
  call("PMPI_Type_commit", &made);
  buffer += first;
  datatype = made;
  return made;
}

void free_type(Word datatype) { call("PMPI_Type_free", &datatype); }

std::uint64_t type_bytes(Word datatype) {
  if (mpi_null(datatype)) return 0;
  static auto size = reinterpret_cast<Word (*)(Word, int*)>(mpi_function("PMPI_Type_size"));
  int bytes = 0;
  return size(datatype, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace weft::lib
