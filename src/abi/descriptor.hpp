// What a process and its interface exchange, as it lies in shared memory: descriptors of work one way,
// messages and events the other. Fixed sizes, no pointers; programs link against code that includes this
// file, so it needs nothing else of Weft. A descriptor is untrusted: it is copied once, then checked.
#pragma once

#include <cstdint>

namespace weft::nic {

enum class Operation : std::uint8_t {
  Message = 1,       // at most message_limit bytes, into the ring of a port
  Put = 2,           // from local to remote memory
  Get = 3,           // from remote to local memory
  ImmediatePut = 4,  // a put whose data is in the descriptor; without any, a notification and no more
  FetchAdd = 5,      // on eight bytes of remote memory; the old value comes back
  CompareSwap = 6,
  BoundedAdd = 7,  // adds where the value is at most `compare` (a signed lock of RMA)
  Arm = 8,         // a sequence that waits for control packets (triggered.hpp)
  Trigger = 9,     // a control packet to such a sequence
  Disarm = 10,
  Join = 11,    // a group whose members a put may be for at once: `length` bytes of memory list its nodes
  Expect = 12,  // where the put of round `operand` goes here; see below
  Leave = 13,
  Load = 14,  // in events alone: no descriptor asks for these
  Store = 15,
};

constexpr bool is_atomic(Operation operation) {
  return operation >= Operation::FetchAdd && operation <= Operation::BoundedAdd;
}
constexpr bool is_of_groups(Operation operation) {
  return operation >= Operation::Join && operation <= Operation::Leave;
}
constexpr bool is_triggered(Operation operation) {
  return operation >= Operation::Arm && operation <= Operation::Disarm;
}

// Groups are joined under a number of the port, `tag`. A put to a group names the round in `operand` and a
// key in `remote_key`; its `compare` comes to the event of members. Who expects a round names the same key,
// and may name a sequence of its own port that is triggered when all is there and whole: its tag
// (triggered.hpp) and one more in spare[0], round in spare[1], RoundKind in spare[2], what a swap puts in
// place in spare[3] and [4].

// Who joins with a number of rounds in `operand` takes part in reductions by routers instead: of those who
// name the same key in `remote_key`, one port on each node of the list. `compare` is the sequence that gives
// the node's contributions and spare[0] the members, for messages to people. The event's status says whether
// routers have room; who has joined leaves with the same `operand`.

// A put or get of registers names the chip in `remote_key`: 0 is the interface of `node`, any other number is
// one more than that of a router, for which a node is found. `remote_offset` and `length` are whole
// registers.

// Flags of an operation.
inline constexpr std::uint16_t kNotifyLocal = 1;   // an event once the local buffer is free again
inline constexpr std::uint16_t kNotifyRemote = 2;  // an event at the target: arrived, or responded to a get
inline constexpr std::uint16_t kNotifyDone = 4;    // an event here once it is done there
inline constexpr std::uint16_t kFence = 8;         // not before all earlier work of the port is done
inline constexpr std::uint16_t kReliable = 16;     // end to end: connection, check sums, repetition
inline constexpr std::uint16_t kMore = 32;         // a message that others follow: a fragment
inline constexpr std::uint16_t kInterrupt = 64;    // interrupt the target's processor when it has arrived
inline constexpr std::uint16_t kGlobal = 128;      // the remote memory is named by a global address
inline constexpr std::uint16_t kPhysical = 256;    // offsets are physical addresses: of a kernel's port alone
inline constexpr std::uint16_t kToGroup = 512;     // a put for all members of the group joined as `tag`
inline constexpr std::uint16_t kRegisters = 1024;  // a put or get of registers of a chip (registers.hpp)
inline constexpr std::uint16_t kLogical = 2048;    // offsets are network logical addresses; see below
inline constexpr std::uint16_t kCounted = 4096;    // a control packet, or waits for such (counted.hpp)
inline constexpr std::uint16_t kAllFlags = 8191;
inline constexpr std::uint16_t kDamaged = 0x8000;  // of a message that arrived with an error

enum class Status : std::uint16_t {
  Ok = 0,
  BadOperation,  // no such operation or flag
  BadNode,       // nobody is there
  NoPort,        // the node has no such port open
  BadKey,        // no such memory, or not of that port
  NoRight,       // the memory may not be used so
  BadRange,      // beyond the end of the memory
  BadLength,     // more than the operation may carry
  BadMemory,     // registered, but the process has unmapped it
  Unreachable,   // the network has no way there, or lost it
  TimedOut,      // a reliable operation, after all its repetitions
  Closed,        // the port was closed before it was done
  NoRoom,        // too many ports, queues or registrations
  Busy,
  Damaged,   // done, but an error that no link noticed is in the data
  Mismatch,  // control packets of one round are of different collectives
};

enum class EventKind : std::uint8_t {
  Local = 1,      // the local buffer of a put or message is free
  Done = 2,       // done at the target; for a get and the atomics, the data is here
  Arrived = 3,    // a put has arrived in memory here
  Responded = 4,  // a get has read memory here
  Failed = 5,     // `status` says why; nothing was written
  Stalled = 6,    // a message has waited for room in this port's ring for the watchdog's time
  Overflow = 7,   // this queue was full; what follows waited, nothing was lost
  Interrupt = 8,  // the interrupt an operation asked for; its cause was in memory before
  Triggered = 9,  // a waiting sequence was run: `tag` is its number, `data` the round
  Armed = 10,     // a sequence waits from now on
};

inline constexpr unsigned kInlineBytes = 128;

struct Descriptor {
  Operation operation{};
  std::uint8_t reserved = 0;
  std::uint16_t flags = 0;
  std::uint32_t node = 0, port = 0;  // whom it is for
  std::uint32_t tag = 0;
  std::uint64_t length = 0;
  std::uint64_t context = 0;  // handed back in events here
  std::uint64_t local_key = 0, local_offset = 0;
  std::uint64_t remote_key = 0, remote_offset = 0;  // global: the lower 64 bits, the domain in `port`
  std::uint64_t operand = 0;  // what to add or store; for puts, handed over in the event at the target
  std::uint64_t compare = 0;
  std::int64_t posted = 0;  // the process's clock, picoseconds
  std::uint8_t data[kInlineBytes] = {};
  std::uint64_t spare[5] = {};
};
static_assert(sizeof(Descriptor) == 256);

struct Event {
  EventKind kind{};
  Operation operation{};
  Status status{};
  std::uint32_t node = 0, port = 0;  // the other side
  std::uint32_t tag = 0;
  std::uint64_t length = 0;
  std::uint64_t context = 0;
  std::uint64_t data = 0;  // the old value of an atomic; the operand of a put at its target
  std::int64_t time = 0;   // when it is there to be seen
  // Of what names memory: the descriptor's `compare`, on both sides; then here its spare[0] or, where it
  // failed, whether that was after it had been started; at the target of an atomic its operand. Groups and
  // sequences say what is here of theirs.
  std::uint64_t spare[2] = {};
};
static_assert(sizeof(Event) == 64);

struct Message {
  std::int64_t time = 0;             // when it is there to be seen; 0: nothing is in this slot
  std::uint32_t node = 0, port = 0;  // who sent it
  std::uint32_t tag = 0;
  std::uint16_t length = 0;
  std::uint16_t flags = 0;
  std::uint64_t sequence = 0;  // counts what one port sent to another
  std::uint8_t data[kInlineBytes] = {};
  std::uint64_t spare[4] = {};
};
static_assert(sizeof(Message) == 192);

// Rights on registered memory.
inline constexpr std::uint32_t kRemoteRead = 1, kRemoteWrite = 2, kRemoteAtomic = 4;
inline constexpr std::uint32_t kHasLogical = 8;  // it has network logical addresses
inline constexpr std::uint32_t kIsLocks = 16;    // it is the port's table of locks, eight bytes each
inline constexpr std::uint32_t kAllRights = 31;

// Memory with network logical addresses (EXTOLL's NLA) is named by one number instead of a key and an offset,
// and who knows a port may reach it. Each region has a range of 2^40 of them, which follows from its key, so
// that addresses within it can be computed.
inline constexpr unsigned kLogicalBits = 40;
inline constexpr std::uint64_t kRegions = 1u << 20;  // of an interface; a key's lower bits number them
constexpr std::uint64_t logical_address(std::uint64_t key, std::uint64_t offset) {
  return ((key % kRegions + 1) << kLogicalBits) + offset;
}
// With kLogical, the key of an atomic that is for the locks of the port; no memory has it.
inline constexpr std::uint64_t kLocksKey = 1;

}  // namespace weft::nic
