// The fabric's inner state; only its own files include this.
#pragma once

#include <map>
#include <tuple>

#include "nic/fabric.hpp"

namespace weft::nic {

inline constexpr std::uint32_t kNobody = 0xffffffff;

/// An operation from its descriptor to its last event. Both ends keep their notes here.
struct Fabric::Transfer {
  Descriptor d;
  std::uint32_t generation = 0;  // tells uses of this slot apart
  NicId from = 0, to = 0;
  PortNo from_port = 0;
  std::uint32_t port_generation = 0, owner = 0;
  std::uint64_t local_address = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t local_shift = 0, remote_shift = 0;  // to the addresses that are translated
  std::uint64_t remote_physical = 0;
  std::uint32_t local_owner = 0, remote_owner = 0;
  std::uint32_t domain = kNoDomain;                    // of the global address it goes to
  std::uint32_t channel = kNoDomain;                   // domain whose DMA channel it has
  bool buffered = false;                               // it has room in a buffer its queue shares
  bool queued = false;                                 // in a port's or responder's queue
  bool held_back = false, waited_for_channel = false;  // for counters: once each
  bool finished = false;                               // its end has been told
  bool rejected = false;
  bool complete = false;  // all of it has arrived
  bool connected = false, connecting = false, has_context = false, remote_context = false;
  bool remote_checked = false;
  std::uint64_t issued = 0;   // bytes handed to the network
  std::uint64_t arrived = 0;  // bytes in the memory they were for
  std::uint32_t flights = 0;  // packets that refer to it
  std::uint32_t attempt = 0;
  std::uint32_t epoch = 0;  // alarms set in an earlier one are out of date
  bool slot_freed = false;
  Status status = Status::Ok;
  std::vector<bool> have;             // packets that arrived, where they may come twice
  std::vector<std::uint8_t> staging;  // data read ahead of its packets
  std::uint64_t staged = 0;           // offset of its first byte
  bool damaged = false;               // an error no link noticed reached memory
  bool executed = false;              // an atomic, which must not happen twice
  Time at_chip{0}, first_data{0}, first_started{0}, request_sent{0}, request_delivered{0};
  // Steps of the packet that came last.
  Time started{0}, sent{0}, delivered{0}, received{0}, ready{0}, visible{0};
  std::uint64_t old_value = 0;

  bool reliable() const { return d.flags & kReliable; }
  bool carries_inline() const {
    return d.operation == Operation::Message || d.operation == Operation::ImmediatePut;
  }
  bool atomic() const { return d.operation >= Operation::FetchAdd; }
};

/// A packet on its way.
struct Fabric::Flight {
  Kind kind{};
  std::uint32_t transfer = 0, generation = 0;
  NicId from = 0, to = 0;
  std::uint32_t sequence = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t crc = 0;
  bool last = false;
  bool ordered = false;  // its place in the order of its port counts
  bool gone = false;     // lost; only its place in the order is left
  bool damaged = false;
  PortNo port = 0;                    // it was posted on
  std::uint32_t ring_generation = 0;  // of the port it is for: a later one's messages are not its own
  Time started{0}, sent{0}, delivered{0}, received{0}, ready{0};
  std::vector<std::uint8_t> data;
};

struct Fabric::Port {
  bool open = false;
  bool memory_queue = false;
  bool kernel = false;
  unsigned ring_slots = 0;
  std::uint32_t owner = 0;
  std::uint32_t generation = 0;
  std::deque<std::uint32_t> queue;    // transfers on the chip
  std::uint32_t on_the_way = 0;       // posted, not in the queue yet
  std::uint32_t unfinished = 0;       // issued, not done
  unsigned messages = 0, events = 0;  // entries in the rings
  unsigned messages_coming = 0;       // on the bus towards the ring
  std::deque<std::uint32_t> held;     // messages that wait for room
  std::deque<Event> held_events;
  std::uint32_t watchdogs = 0;
  std::vector<std::uint32_t> next_sequence;  // of its packets, by receiving nic
  std::uint64_t sent_messages = 0;
  std::uint32_t domain = kNoDomain;
  unsigned buffered = 0;  // descriptors in the buffer it shares
  Time last_on_chip{0};   // of its descriptors
};

/// Order of packets between two interfaces, kept by the receiver.
struct Fabric::Pair {
  std::uint32_t next = 0;
  std::vector<std::uint32_t> early;  // flights that came before their turn
};

/// Room on the chip that several queues in memory share. Each may always have one descriptor in it; the rest
/// is taken by whoever comes first.
struct Fabric::QueueBuffer {
  unsigned shared = 0;                // descriptors beyond the first of each queue
  std::deque<std::uint32_t> waiting;  // transfers that wait to be fetched
};

struct Fabric::Nic {
  Nic(const machine::NicParameters& p, const machine::HostParameters& h, std::uint64_t seed,
      network::EndpointId at)
      : node(at),
        bus(h),
        translation(p),
        memory(seed, at),
        physical(p.physical_bits,
                 static_cast<unsigned>(__builtin_ctzll(static_cast<std::uint64_t>(p.page.value)))),
        unit_free(p.units),
        receive_free(p.units) {}

  network::EndpointId node;
  HostBus bus;
  TranslationCache translation;
  MemoryTable memory;
  DomainTable domains;
  PhysicalMemory physical;
  std::map<std::uint32_t, std::uint32_t>
      channels;                // by domain: the transfer its DMA channel works on, or kNobody
  unsigned held = 0;           // messages that wait for room in rings
  std::vector<NicId> stopped;  // interfaces that wait until this one takes packets again
  std::uint64_t stores = 0;    // posts by the processor's stores
  std::vector<QueueBuffer> buffers;
  std::vector<Port> ports;
  std::deque<std::uint32_t> responses;  // gets of others that this interface answers
  std::vector<PortNo> working;  // ports with something in their queues, in turn; kNobody: the responses
  std::size_t turn = 0;
  std::vector<Time> unit_free, receive_free;
  Time dispatch_at = network::kForever;  // when dispatching is planned
  bool dispatching = false;
  unsigned in_window = 0;
  unsigned send_contexts = 0, receive_contexts = 0;  // in use
  std::vector<std::vector<Pair>> pairs;              // by sending nic and port
  std::deque<Interrupt> interrupts;
  std::deque<ErrorPacket> errors;
  Counters counters;
};

inline std::uint64_t packet_bytes(const machine::NicParameters& p, std::uint64_t data) {
  return static_cast<std::uint64_t>(p.header.value) + data;
}

}  // namespace weft::nic
