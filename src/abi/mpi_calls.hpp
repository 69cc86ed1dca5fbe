// The calls of MPI that are watched, and the log a process keeps of them.
//
// One table names each call, how many arguments it has, and at which place stand count, datatype, peer (or
// root), tag and communicator; the library makes its wrappers from it and the simulator its words. Programs
// link against code that includes this file, so it needs nothing else of Weft.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::abi {

inline constexpr const char* kCallsVariable = "WEFT_CALLS";  // descriptor of the log

enum class CallKind : std::uint8_t { Message, Finish, Collective, Window, Other };

// X(name, arguments, kind, count, datatype, peer or root, tag, communicator); -1: it has none.
#define WEFT_MPI_CALLS(X)                                          \
  X(Send, 6, Message, 1, 2, 3, 4, 5)                               \
  X(Bsend, 6, Message, 1, 2, 3, 4, 5)                              \
  X(Ssend, 6, Message, 1, 2, 3, 4, 5)                              \
  X(Rsend, 6, Message, 1, 2, 3, 4, 5)                              \
  X(Recv, 7, Message, 1, 2, 3, 4, 5)                               \
  X(Isend, 7, Message, 1, 2, 3, 4, 5)                              \
  X(Ibsend, 7, Message, 1, 2, 3, 4, 5)                             \
  X(Issend, 7, Message, 1, 2, 3, 4, 5)                             \
  X(Irsend, 7, Message, 1, 2, 3, 4, 5)                             \
  X(Irecv, 7, Message, 1, 2, 3, 4, 5)                              \
  X(Sendrecv, 12, Message, 1, 2, 8, 9, 10)                         \
  X(Sendrecv_replace, 9, Message, 1, 2, 5, 6, 7)                   \
  X(Probe, 4, Message, -1, -1, 0, 1, 2)                            \
  X(Iprobe, 5, Message, -1, -1, 0, 1, 2)                           \
  X(Mprobe, 5, Message, -1, -1, 0, 1, 2)                           \
  X(Improbe, 6, Message, -1, -1, 0, 1, 2)                          \
  X(Mrecv, 5, Message, 1, 2, -1, -1, -1)                           \
  X(Imrecv, 5, Message, 1, 2, -1, -1, -1)                          \
  X(Send_init, 7, Other, 1, 2, 3, 4, 5)                            \
  X(Ssend_init, 7, Other, 1, 2, 3, 4, 5)                           \
  X(Rsend_init, 7, Other, 1, 2, 3, 4, 5)                           \
  X(Start, 1, Message, -1, -1, -1, -1, -1)                         \
  X(Startall, 2, Message, -1, -1, -1, -1, -1)                      \
  X(Request_free, 1, Other, -1, -1, -1, -1, -1)                    \
  X(Wait, 2, Finish, -1, -1, -1, -1, -1)                           \
  X(Waitall, 3, Finish, -1, -1, -1, -1, -1)                        \
  X(Waitany, 4, Finish, -1, -1, -1, -1, -1)                        \
  X(Waitsome, 5, Finish, -1, -1, -1, -1, -1)                       \
  X(Test, 3, Finish, -1, -1, -1, -1, -1)                           \
  X(Testall, 4, Finish, -1, -1, -1, -1, -1)                        \
  X(Testany, 5, Finish, -1, -1, -1, -1, -1)                        \
  X(Testsome, 5, Finish, -1, -1, -1, -1, -1)                       \
  X(Barrier, 1, Collective, -1, -1, -1, -1, 0)                     \
  X(Bcast, 5, Collective, 1, 2, 3, -1, 4)                          \
  X(Gather, 8, Collective, 1, 2, 6, -1, 7)                         \
  X(Gatherv, 9, Collective, 1, 2, 7, -1, 8)                        \
  X(Scatter, 8, Collective, 4, 5, 6, -1, 7)                        \
  X(Scatterv, 9, Collective, 5, 6, 7, -1, 8)                       \
  X(Allgather, 7, Collective, 1, 2, -1, -1, 6)                     \
  X(Allgatherv, 8, Collective, 1, 2, -1, -1, 7)                    \
  X(Alltoall, 7, Collective, 1, 2, -1, -1, 6)                      \
  X(Alltoallv, 9, Collective, -1, -1, -1, -1, 8)                   \
  X(Alltoallw, 9, Collective, -1, -1, -1, -1, 8)                   \
  X(Reduce, 7, Collective, 2, 3, 5, -1, 6)                         \
  X(Allreduce, 6, Collective, 2, 3, -1, -1, 5)                     \
  X(Reduce_scatter, 6, Collective, -1, -1, -1, -1, 5)              \
  X(Reduce_scatter_block, 6, Collective, 2, 3, -1, -1, 5)          \
  X(Scan, 6, Collective, 2, 3, -1, -1, 5)                          \
  X(Exscan, 6, Collective, 2, 3, -1, -1, 5)                        \
  X(Ibarrier, 2, Collective, -1, -1, -1, -1, 0)                    \
  X(Ibcast, 6, Collective, 1, 2, 3, -1, 4)                         \
  X(Igather, 9, Collective, 1, 2, 6, -1, 7)                        \
  X(Iscatter, 9, Collective, 4, 5, 6, -1, 7)                       \
  X(Iallgather, 8, Collective, 1, 2, -1, -1, 6)                    \
  X(Ialltoall, 8, Collective, 1, 2, -1, -1, 6)                     \
  X(Ialltoallv, 10, Collective, -1, -1, -1, -1, 8)                 \
  X(Ireduce, 8, Collective, 2, 3, 5, -1, 6)                        \
  X(Iallreduce, 7, Collective, 2, 3, -1, -1, 5)                    \
  X(Neighbor_allgather, 7, Collective, 1, 2, -1, -1, 6)            \
  X(Neighbor_alltoall, 7, Collective, 1, 2, -1, -1, 6)             \
  X(Neighbor_alltoallv, 9, Collective, -1, -1, -1, -1, 8)          \
  X(Comm_split, 4, Collective, -1, -1, -1, -1, 0)                  \
  X(Comm_split_type, 5, Collective, -1, -1, -1, -1, 0)             \
  X(Comm_dup, 2, Collective, -1, -1, -1, -1, 0)                    \
  X(Comm_create, 3, Collective, -1, -1, -1, -1, 0)                 \
  X(Cart_create, 6, Collective, -1, -1, -1, -1, 0)                 \
  X(Graph_create, 6, Collective, -1, -1, -1, -1, 0)                \
  X(Dist_graph_create, 9, Collective, -1, -1, -1, -1, 0)           \
  X(Dist_graph_create_adjacent, 10, Collective, -1, -1, -1, -1, 0) \
  X(Cart_sub, 3, Collective, -1, -1, -1, -1, 0)                    \
  X(Comm_dup_with_info, 3, Collective, -1, -1, -1, -1, 0)          \
  X(Comm_idup, 3, Collective, -1, -1, -1, -1, 0)                   \
  X(Comm_idup_with_info, 4, Collective, -1, -1, -1, -1, 0)         \
  X(Comm_create_group, 4, Other, -1, -1, -1, -1, 0)                \
  X(Comm_create_from_group, 5, Other, -1, -1, -1, -1, -1)          \
  X(Barrier_init, 3, Other, -1, -1, -1, -1, 0)                     \
  X(Bcast_init, 7, Other, 1, 2, 3, -1, 4)                          \
  X(Gather_init, 10, Other, 1, 2, 6, -1, 7)                        \
  X(Reduce_init, 9, Other, 2, 3, 5, -1, 6)                         \
  X(Allreduce_init, 8, Other, 2, 3, -1, -1, 5)                     \
  X(Intercomm_create, 6, Other, -1, -1, 3, 4, 2)                   \
  X(Intercomm_merge, 3, Other, -1, -1, -1, -1, -1)                 \
  X(Comm_spawn, 8, Other, -1, -1, 4, -1, 5)                        \
  X(Comm_spawn_multiple, 9, Other, -1, -1, 5, -1, 6)               \
  X(Comm_free, 1, Other, -1, -1, -1, -1, -1)                       \
  X(Comm_disconnect, 1, Other, -1, -1, -1, -1, -1)                 \
  X(Win_create, 6, Window, -1, -1, -1, -1, 4)                      \
  X(Win_allocate, 6, Window, -1, -1, -1, -1, 3)                    \
  X(Win_allocate_shared, 6, Window, -1, -1, -1, -1, 3)             \
  X(Win_shared_query, 5, Window, -1, -1, -1, -1, -1)               \
  X(Win_get_attr, 4, Window, -1, -1, -1, -1, -1)                   \
  X(Win_create_dynamic, 3, Window, -1, -1, -1, -1, 1)              \
  X(Win_attach, 3, Window, -1, -1, -1, -1, -1)                     \
  X(Win_detach, 2, Window, -1, -1, -1, -1, -1)                     \
  X(Win_free, 1, Window, -1, -1, -1, -1, -1)                       \
  X(Win_fence, 2, Window, -1, -1, -1, -1, -1)                      \
  X(Win_post, 3, Window, -1, -1, -1, -1, -1)                       \
  X(Win_start, 3, Window, -1, -1, -1, -1, -1)                      \
  X(Win_complete, 1, Window, -1, -1, -1, -1, -1)                   \
  X(Win_wait, 1, Window, -1, -1, -1, -1, -1)                       \
  X(Win_lock, 4, Window, -1, -1, 1, -1, -1)                        \
  X(Win_lock_all, 2, Window, -1, -1, -1, -1, -1)                   \
  X(Win_unlock, 2, Window, -1, -1, 0, -1, -1)                      \
  X(Win_unlock_all, 1, Window, -1, -1, -1, -1, -1)                 \
  X(Win_flush, 2, Window, -1, -1, 0, -1, -1)                       \
  X(Win_flush_all, 1, Window, -1, -1, -1, -1, -1)                  \
  X(Win_flush_local, 2, Window, -1, -1, 0, -1, -1)                 \
  X(Win_flush_local_all, 1, Window, -1, -1, -1, -1, -1)            \
  X(Win_test, 2, Window, -1, -1, -1, -1, -1)                       \
  X(Win_sync, 1, Window, -1, -1, -1, -1, -1)                       \
  X(Put, 8, Window, 1, 2, 3, -1, -1)                               \
  X(Get, 8, Window, 1, 2, 3, -1, -1)                               \
  X(Accumulate, 9, Window, 1, 2, 3, -1, -1)                        \
  X(Get_accumulate, 12, Window, 1, 2, 6, -1, -1)                   \
  X(Rput, 9, Window, 1, 2, 3, -1, -1)                              \
  X(Rget, 9, Window, 1, 2, 3, -1, -1)                              \
  X(Raccumulate, 10, Window, 1, 2, 3, -1, -1)                      \
  X(Fetch_and_op, 7, Window, -1, -1, 3, -1, -1)                    \
  X(Compare_and_swap, 7, Window, -1, -1, 4, -1, -1)                \
  X(Abort, 2, Other, -1, -1, -1, -1, 0)

enum class MpiCall : std::uint16_t {
  None = 0,
#define WEFT_CALL_NUMBER(name, ...) name,
  WEFT_MPI_CALLS(WEFT_CALL_NUMBER)
#undef WEFT_CALL_NUMBER
      Count
};

struct CallFacts {
  const char* name;  // "MPI_Send"
  int arguments;
  CallKind kind;
  int count, type, peer, tag, communicator;
  bool only_looks;  // it comes back at once, whatever it finds
  bool waits;       // it does not come back before something has come for it, unless it never had to look
};

constexpr bool only_looks(std::string_view name) {
  return name.starts_with("Test") || name == "Iprobe" || name == "Improbe" || name == "Win_test" ||
         name == "Win_sync";
}

constexpr bool waits(std::string_view name, CallKind kind) {
  if (name == "Recv" || name == "Mrecv" || name == "Probe" || name == "Mprobe" ||
      name.starts_with("Sendrecv"))
    return true;
  return name.starts_with("Wait") || (kind == CallKind::Collective && !name.starts_with("I"));
}

inline const CallFacts& call_facts(std::size_t call) {
  static constexpr CallFacts facts[] = {{"no call", 0, CallKind::Other, -1, -1, -1, -1, -1, false, false},
#define WEFT_CALL_FACTS(name, arguments, kind, ...) \
  {"MPI_" #name, arguments, CallKind::kind, __VA_ARGS__, only_looks(#name), waits(#name, CallKind::kind)},
                                        WEFT_MPI_CALLS(WEFT_CALL_FACTS)
#undef WEFT_CALL_FACTS
  };
  return facts[call < static_cast<std::size_t>(MpiCall::Count) ? call : 0];
}

/// Collectives that a recording names; each process numbers those it calls, from 1.
constexpr bool is_named(std::uint16_t call) {
  switch (static_cast<MpiCall>(call)) {
    case MpiCall::Barrier:
    case MpiCall::Bcast:
    case MpiCall::Reduce:
    case MpiCall::Allreduce:
      return true;
    default:
      return false;
  }
}

/// Messages, puts and gets bear, in `spare[4]` of their descriptors, the number of the collective that sent
/// them; this with it where more messages follow from one, which bear none.
inline constexpr std::uint64_t kOthersFollow = std::uint64_t{1} << 63;

/// In place of a rank: whoever sends, nobody at all, or the call has none.
inline constexpr std::int32_t kAnyPeer = -1, kNullPeer = -2, kNoPeer = -1000;

/// What a thread does in MPI, or did last; it lies in the thread's record.
struct Doing {
  std::uint64_t
      packed;  // nanoseconds at which it began, whether it is still inside, the call: 48, 1 and 15 bits
  std::int32_t peer, tag;

  static Doing begun(std::uint16_t call, std::int64_t picoseconds, std::int32_t peer, std::int32_t tag) {
    return {static_cast<std::uint64_t>(picoseconds / 1000) << 16 | 0x8000u | call, peer, tag};
  }
  void returned() { packed &= ~std::uint64_t{0x8000}; }

  std::uint16_t call() const { return packed & 0x7fff; }  // MpiCall; 0: it has not called anything yet
  bool inside() const { return packed & 0x8000; }         // the call has not returned
  std::int64_t since() const { return static_cast<std::int64_t>(packed >> 16) * 1000; }
};

// Flags of collectives that a recording names.
inline constexpr std::uint8_t kCombines = 1;  // interfaces have units for its type and operation
inline constexpr std::uint8_t kBeside = 2;    // others were open that do not wait: they send during any call

struct CallRecord {
  std::int64_t begin, end;     // virtual time
  std::uint64_t bytes;         // that this process gives or asks for
  std::uint64_t communicator;  // the same number in all its members, another one than others have
  std::uint32_t members;       // of the communicator
  std::int32_t peer;           // by its rank in the world
  std::int32_t tag;  // of a collective: this one's rank in the communicator; less than 0: that has two sides
  std::uint16_t call;
  std::uint8_t thread, flags;
};

/// Records follow it in memory. Written by the process, believed by nobody.
struct CallLog {
  std::uint64_t capacity;            // records
  std::atomic<std::uint64_t> count;  // calls; more than capacity: the last ones are not here
};

inline CallRecord* records_of(CallLog* log) { return reinterpret_cast<CallRecord*>(log + 4); }
inline std::size_t log_bytes(std::uint64_t capacity) {
  return 4 * sizeof(CallLog) + capacity * sizeof(CallRecord);
}

static_assert(sizeof(CallRecord) == 48 && sizeof(Doing) == 16 && sizeof(CallLog) == 16);

}  // namespace weft::abi
