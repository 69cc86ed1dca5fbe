// What a process shares with the simulator: one segment of memory of its own, and one word all processes
// share.
//
//   segment: Header | Thread x kThreads | PortArea x ports (indices, submission ring, message ring, event
//   ring)
//
// A record for each thread in virtual time: its clock, and whether it runs or waits. A process writes its
// rings and records and nobody else's; the simulator believes nothing it reads here (see segment.cpp). The
// simulator acts only while no thread runs, so within a round each word has one writer.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "abi/descriptor.hpp"
#include "abi/mpi_calls.hpp"
#include "abi/mpi_layout.hpp"
#include "abi/storage.hpp"
#include "abi/virtual_time.hpp"

namespace weft::abi {

inline constexpr std::uint32_t kMagic = 0x54464557;  // "WEFT"
inline constexpr std::uint32_t kLayoutVersion = 12;
inline constexpr unsigned kThreads = 32;
inline constexpr unsigned kPortsPerProcess = 16;
inline constexpr std::uint32_t kAnyPort = 0xffffffff, kNoPort = 0xfffffffe;
inline constexpr std::uint32_t kNoRank = 0xffffffff;

// Names of the variables a process finds its place by.
inline constexpr const char* kSegmentVariable = "WEFT_SEGMENT";  // descriptor of its segment
inline constexpr const char* kBellVariable = "WEFT_BELL";        // descriptor of the shared word

enum class ThreadState : std::uint32_t {
  Free = 0,      // nobody's
  Running = 1,   // the program computes; virtual time waits for it
  Blocked = 2,   // it waits for the simulator
  External = 3,  // it waits for something outside; virtual time does not wait for it
  Left = 4,      // it is gone
  Asleep = 5,    // its thread waits for another one of the process, in ways nobody sees
};

enum class Call : std::uint32_t {
  Wait = 0,        // for something in the rings of `port`, room in its queue, or the deadline
  Sleep,           // for the deadline alone
  Open,            // a port; arguments: OpenAs, 1 where it costs nothing, slots of its ring or 0
                   // -> index, node, number, slots
  Close,           // a port; arguments: 1 where it costs nothing
  Register,        // arguments: address, length, rights, simulated address or 0 -> key
  Unregister,      // arguments: key
  LookUp,          // arguments: rank, number of its port -> node, number
  Spin,            // a wait of a program that polls: it may give up; arguments: 1 if it had found something,
                   // and files as for Files, where it looks at such too
  Leave,           // until its posted work is done; the process ends
  Join,            // arguments: protection domain
  RegisterGlobal,  // arguments: address, length, rights -> lower part of the global address
  UnregisterGlobal,  // arguments: lower part of the global address
  Room,              // for room in the queue of `port` alone
  Meet,              // for all ranks to call it, the latest of them; or for something in the rings of `port`
  Yield,             // for another thread of the process to have run, or the deadline; arguments: as Spin
  Stall,             // the processor stands before the full queue of `port`: for room, or the deadline
  MoveGlobal,        // arguments: lower part of the global address, address
  Physical,          // arguments: key, offset -> physical address
  Pause,         // a wait of a program that looks at its memory: for anything that comes, or the deadline;
                 // arguments: as Spin, then 1 where ranks of its node may change it
  YieldUntil,    // as Yield, with a deadline that is the program's own
  Files,         // for files of its own, something in the rings of `port`, or the deadline; arguments: 1,
                 // where they are named (pollfd) and how many, the system call it is about
  MoveMemory,    // arguments: key, address; registered memory lies elsewhere in the process, at no cost
  DeviceOpen,    // arguments: name of a device of its node, filled up with zeros -> number
  DeviceRead,    // arguments: device, register -> value
  DeviceWrite,   // arguments: device, register, value
  DeviceWait,    // for an interrupt of the device, or the deadline; arguments: device
  DeviceMemory,  // memory of a device, mapped by the process; arguments: device, bytes, where it will be
                 // mapped
                 // -> offset in the device's memory, process and file to map, 1 where interfaces reach it
  DeviceFree,    // arguments: where it was mapped
  DeviceCopy,    // until it is done; arguments: where memory of a device is mapped, address of other memory,
                 // bytes, 1 where they go to the device
  DevicePort,    // hands `port` to a device; arguments: device -> number of the port
  Share,         // arguments: key, offset, length -> number
  Unshare,       // arguments: number
  Map,    // arguments: node, number, size, how (0: by its interval, 1: by a mask, 2: unchanged) -> window
  Unmap,  // arguments: window
  Load,   // arguments: window, offset, bytes -> value
  Store,  // arguments: window, offset, value, bytes
  EnableInterrupts,  // arguments: causes
  Storage,           // of the machine's file system: see storage.hpp
  Last = Storage,
};

/// By this signal the simulator asks a thread that has computed for long whether it waits for memory to
/// change; by default it is ignored. Its value says whether a likely answer will do.
inline constexpr int kPoke = SIGURG;

enum class OpenAs : std::uint64_t { Stores = 0, MemoryQueue = 1, Kernel = 2 };

struct alignas(128) Thread {
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> grant;  // counts the simulator's answers; futex
  std::atomic<std::int64_t> clock;   // picoseconds
  std::int64_t safe_until;           // all that happened up to here is in the rings
  std::int64_t deadline;
  Call call;
  std::uint32_t port;      // index of the process's port, or kAnyPort
  std::uint32_t for_rank;  // whom it waits for, where the program says so
  std::int32_t result;     // 0 or a negative errno
  std::uint64_t argument[4];
  std::uint64_t answer[4];
  std::atomic<std::int32_t> tid;       // the system's number for it
  std::atomic<std::uint32_t> awaited;  // it runs for virtual time, even where the system has it asleep
  Doing doing;
};

struct alignas(64) PortArea {
  alignas(64) std::atomic<std::uint32_t> posted;  // by the process
  std::atomic<std::uint32_t> messages_taken, events_taken;
  alignas(64) std::atomic<std::uint32_t> accepted;  // by the simulator: descriptors that left the queue
  std::atomic<std::uint32_t> messages, events;
  std::uint32_t open;
};

struct Limits {
  std::uint32_t queue_slots, message_slots, event_slots;
  std::uint32_t message_limit, immediate_limit;
  std::uint64_t rdma_limit;
  std::uint32_t registrations;  // a port's library remembers
  std::uint64_t page;           // of the interface's translation
  std::int64_t stall;  // how long a processor stands before a full queue, picoseconds; 0: it is refused
  std::uint32_t control_packets;  // a port keeps for sequences to come; 0: it has none
  std::uint32_t operation_units;
};

struct Costs {
  std::int64_t post, poll, receive, look, interrupt, registration_hit;  // picoseconds
  std::int64_t write_latency;  // before that nothing happens by what is posted
  std::uint32_t compute;       // machine::Compute
  std::int64_t fixed;
  double scale;
};

/// What `weft run --slow`, `--noise` and `--power` do to a rank's processor.
struct Disturbance {
  double slow;                    // its work takes so many times as long
  std::int64_t until;             // then the rank asks again how long; kNoDeadline: never
  std::int64_t length, interval;  // of interruptions, on average, picoseconds; length 0: there are none
  std::uint64_t seed;
};

struct Layout {
  Limits limits;
  std::uint64_t bytes;
  std::uint64_t port_offset, port_stride, message_offset, event_offset;
};

struct Header : Layout {
  std::uint32_t magic, version;
  std::uint32_t rank, ranks, node, nodes;
  Costs costs;
  Disturbance disturbance;
  std::int64_t epoch;                 // what the calendar says at virtual time 0, seconds
  std::atomic<std::int32_t> owner;    // process whose threads these are
  std::atomic<std::uint32_t> opened;  // ports, ever
  std::atomic<std::uint32_t> joins;   // threads that have come into virtual time, ever
  std::atomic<std::int32_t> poked;    // process that understands being asked whether it waits (kPoke)
  std::atomic<std::uint32_t> shares;  // it has memory in common with other ranks of its node
  std::atomic<std::uint64_t> clock_reads;
  // A process that the owner waits for may take virtual time for it: whether it waits, and who does.
  std::atomic<std::uint32_t> waits_for_child;
  std::atomic<std::int32_t> borrower;
  MpiModel mpi;
  std::atomic<MpiPhase> phase;
  MpiSums sums;
  Mount mount;
};

/// What all processes of a run share: how many threads run. Only a hint, since any of them may spoil it.
struct Bell {
  std::atomic<std::uint32_t> running;
};

inline std::size_t threads_offset() { return 4096; }

inline Thread* thread_at(void* segment, unsigned i) {
  return reinterpret_cast<Thread*>(static_cast<char*>(segment) + threads_offset()) + i;
}
inline PortArea* port_at(void* segment, const Layout& h, unsigned i) {
  return reinterpret_cast<PortArea*>(static_cast<char*>(segment) + h.port_offset + h.port_stride * i);
}
inline nic::Descriptor* submissions_of(PortArea* port) {
  return reinterpret_cast<nic::Descriptor*>(reinterpret_cast<char*>(port) + 256);
}
inline nic::Message* messages_of(PortArea* port, const Layout& h) {
  return reinterpret_cast<nic::Message*>(reinterpret_cast<char*>(port) + h.message_offset);
}
inline nic::Event* events_of(PortArea* port, const Layout& h) {
  return reinterpret_cast<nic::Event*>(reinterpret_cast<char*>(port) + h.event_offset);
}

static_assert(sizeof(Header) <= 4096 && sizeof(PortArea) <= 256 && sizeof(Thread) == 256);

}  // namespace weft::abi
