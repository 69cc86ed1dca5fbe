// What a process's segment holds for MPI: how messages are carried and what that costs, and what was carried.
// Programs link against code that includes this file, so it needs nothing else of Weft.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::abi {

/// Ranks in the order in which trees of collectives take them, where that is not by number.
inline constexpr const char* kTreeOrderVariable = "WEFT_TREE_ORDER";

/// The group of each rank, where trees have two levels.
inline constexpr const char* kTreeGroupsVariable = "WEFT_TREE_GROUPS";

/// Collectives that interfaces can run.
enum class Offloaded : std::uint32_t { Barrier, Broadcast, Reduce, AllReduce, Gather };
inline constexpr unsigned kOffloaded = 5;

/// Why one was left to the library.
enum class Fallback : std::uint32_t {
  TooLong,       // more bytes than may be
  Table,         // software is as fast, as measured
  Type,          // elements no unit combines
  Operation,     // of the user's own, or none that units have
  NoUnits,       // the interface combines nothing
  Communicator,  // of two groups
  NoTrigger,     // a member's interface has no sequence left
  Alone,         // nobody to talk to
  Persistent,    // prepared once and started often
  NotMet,        // its members have not met in a call that may wait for all of them
};
inline constexpr unsigned kFallbacks = 10;

/// Why a barrier or an all-reduce that interfaces ran was not combined in routers, where they can do that.
enum class NotInRouters : std::uint32_t {
  Engine,   // the engine does not model it
  Errors,   // errors pass that no link notices
  NoRoom,   // a router of the tree has no room for another group
  OneNode,  // all members are on one node
  Inputs,   // a node has more members than a sequence has inputs for
};
inline constexpr unsigned kNotInRouters = 5;

/// Which collectives the interfaces run, and how.
struct CollectiveModel {
  static constexpr unsigned kRankClasses = 17;    // members from 2^(i-1) + 1 to 2^i; the last: and more
  std::uint32_t most[kOffloaded][kRankClasses];   // bytes that are offloaded, and one more; 0: nothing is
  std::uint32_t on;                               // any of them
  std::uint32_t by_table;                         // as was measured; else whatever can be
  std::uint32_t tree, arity, by_topology;         // machine::Tree, its k
  std::uint32_t triggers, inputs, rounds, units;  // of the interface
  std::uint32_t piece;                            // bytes of a control packet
  std::uint32_t multicast_from;  // bytes of a broadcast that is sent once for all; 0: none is
  std::uint32_t reduction;       // kRoutersReduce; 0: routers cannot; else NotInRouters + 2
  std::int64_t copy_bits_per_second;
};
inline constexpr std::uint32_t kRoutersReduce = 1;

/// The oldest collective of a process that its interface has not ended, for reports on what hangs.
struct OpenCollective {
  std::uint64_t under_way;  // all of them; 0: none
  std::uint64_t key, round, kind;
  std::uint32_t root;  // in the world
  std::uint32_t members;
  std::uint32_t gives;  // this process gives data to the tree, or only gets some
  std::uint32_t gone;   // its rank in the world and one more: a member that does not exist any longer
};

/// Counted by each process for itself.
struct CollectiveSums {
  std::uint64_t offloaded[kOffloaded];
  std::uint64_t fallen_back[kOffloaded][kFallbacks];
  std::uint64_t in_routers[kOffloaded];         // of the offloaded ones: combined by routers,
  std::uint64_t not_in_routers[kNotInRouters];  // and those that were not though routers can
  std::uint64_t other;                          // collectives that interfaces do not run
  OpenCollective open;
};

/// The choices and costs of machine::MpiParameters; times in picoseconds.
struct MpiModel {
  std::uint64_t eager_limit;
  std::uint32_t eager, rendezvous, ack, matching;
  std::int64_t send_cost, receive_cost, match_cost;
  std::int64_t copy_bits_per_second;
  std::uint64_t get_size;
  std::uint32_t gets;
  std::int64_t send_delay, send_delay_per_kib;
  std::uint32_t credits, credits_most;
  std::uint32_t block, blocks, ring_blocks;
  std::uint32_t in_order;  // the interface keeps the order of packets
  std::uint32_t reliable;  // errors pass that no link notices: the interface is asked to repair them
  std::uint32_t progress;  // machine::Progress
  CollectiveModel collectives;
};

/// Settings of Open MPI for windows that the interface reaches itself; set by the launcher, or by a process
/// that finds this variable once it is known what it needs.
inline constexpr const char* kWindowsVariable = "WEFT_WINDOWS";
inline constexpr struct { const char *btl, *osc; } kRdmaWindows{"self,ofi", "rdma"};

/// Where a process stands between MPI_Init and MPI_Finalize.
enum class MpiPhase : std::uint32_t { None, Starting, Running, Ending, Ended };

/// The ways a message can go.
enum class Protocol : std::uint32_t {
  Small,      // one small message
  Fragments,  // several
  Shared,     // blocks of the receiver's pool
  Exclusive,  // the ring of the pair
  RendezvousGet,
  RendezvousPut,
  Put,  // one-sided
  Get,
  Atomic,
  Control,  // requests, acknowledgements and credits
};
inline constexpr unsigned kProtocols = 10;

struct ProtocolSums {
  std::uint64_t count, bytes;
  std::int64_t cost;  // the processor's time for it, picoseconds
};

/// Counted by each process for itself; a sender counts messages, both sides count their cost.
struct MpiSums {
  ProtocolSums protocol[kProtocols];
  std::uint64_t expected, unexpected;   // messages that found their receive, and that waited for it
  std::uint64_t compared;               // entries of queues
  std::uint64_t most_unexpected;        // in the queue at once
  std::uint64_t copied;                 // bytes
  std::uint64_t reordered;              // small messages that came before their turn
  std::uint64_t stalls, credits_grown;  // sends that waited for credit; receivers that gave more
  std::uint64_t stalled_ps;             // while anything waited for credit or blocks
  std::uint64_t registrations;
  CollectiveSums collectives;
};

}  // namespace weft::abi
