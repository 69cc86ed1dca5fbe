// What stands above the interfaces: who owns processes and their memory, and what is told to it.
#pragma once

#include <cstdint>
#include <deque>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"
#include "nic/descriptor.hpp"
#include "node/node.hpp"

namespace weft::nic {

using NicId = std::uint32_t;   // interfaces in use, numbered from 0
using PortNo = std::uint32_t;  // of one interface

inline constexpr std::uint32_t kNobody = 0xffffffff;

/// A port of an interface.
struct PortRef {
  NicId nic = 0;
  PortNo port = 0;
};

/// What interfaces and other devices need of those who own processes and memory spaces. Calls come in the
/// order of their times.
class Host : public node::Memory, public node::Processor {
 public:
  virtual void message(PortRef port, const Message& message) = 0;
  virtual void event(PortRef port, const Event& event) = 0;
  /// What a load of a program has brought (load_store.hpp).
  virtual void loaded(std::uint64_t token, Status status, std::uint64_t value) {
    (void)token, (void)status, (void)value;
  }
  /// A descriptor has left the submission queue.
  virtual void slot_free(PortRef port, Time at) = 0;
};

/// The parts of an operation's time; their sum is `end - begin`.
struct Breakdown {
  enum Part { HostBus, Queue, Nic, Wire, RemoteQueue, RemoteNic, RemoteBus, kParts };
  static const char* name(int part);
  Time part[kParts] = {};
};

/// An operation that is done, for counters and traces.
struct Record {
  Operation operation;
  Status status;
  NicId from, to;
  PortNo from_port, to_port;
  std::uint64_t length;
  Time begin, end;
  Breakdown parts;
  std::uint64_t physical = 0;  // address of the target's memory; messages have none
  std::uint64_t mark = 0;      // spare[4] of the descriptor: a number of the process's own
};

struct Counters {
  std::uint64_t messages = 0, puts = 0, gets = 0, atomics = 0, failed = 0;
  std::uint64_t packets_sent = 0, packets_received = 0, bytes_sent = 0, bytes_received = 0;
  std::uint64_t translations = 0, translation_misses = 0;
  std::uint64_t retries = 0, corrupted = 0, context_pauses = 0, context_refusals = 0;
  std::uint64_t window_stalls = 0, messages_held = 0, events_held = 0;
  std::uint64_t reordered = 0, order_waits = 0;  // packets that came too early; that were kept back for it
  std::uint64_t deepest_queue = 0, interrupts = 0, interrupts_held = 0, refused = 0;
  std::uint64_t split_stores = 0, buffer_waits = 0;
  std::uint64_t core_stalls = 0, watchdog_ends = 0, held_back = 0, channel_waits = 0, untranslated = 0;
  std::uint64_t table_waits = 0;
  std::uint64_t control_packets = 0, local_triggers = 0;  // sent to other interfaces; for others of its own
  std::uint64_t reduced_packets = 0;                      // of control packets: combined by routers
  std::uint64_t triggered = 0;                            // rounds of sequences that were run
  TimeSum busy;                                           // of the sending units together
  TimeSum core_stall_time;                                // of processors before full queues
  Time table_busy{0};                                     // of the microcontroller
};

/// An entry of an interface's interrupt queue, which all its ports share.
struct Interrupt {
  enum Cause : std::uint8_t {
    Asked = 1,  // by the descriptor of what has arrived
    Queue = 2,  // a message is in a ring that was empty
    Error = 4,  // something for the port was refused
  };
  Cause cause;
  std::uint32_t node;  // where it comes from
  PortNo port;         // whom it is for
  Time written;
};

/// A packet that was refused, kept for those who look for the error.
struct ErrorPacket {
  Status status;
  Operation operation;
  std::uint32_t node, port;  // who sent it
  std::uint64_t key, offset, length;
  Time at;
};

}  // namespace weft::nic
