// All interfaces of a machine over one network, functional and timed.
//
// The fabric is a set of events in time: descriptors that reach a chip, units that become free, data that
// reaches memory, and what the network tells. Above it stands a `Host` that owns processes and their memory.
//
//   post -> bus -> [doorbell: fetch] -> port's queue -> unit, in turn -> network -> unit -> checks -> bus ->
//   memory
//
// Every operation keeps the time of each of these steps, so that its parts add up to its whole.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "event/event_queue.hpp"
#include "machine/machine.hpp"
#include "network/network.hpp"
#include "nic/bus.hpp"
#include "nic/descriptor.hpp"
#include "nic/domains.hpp"
#include "nic/memory_table.hpp"
#include "nic/physical_memory.hpp"
#include "nic/slab.hpp"
#include "nic/translation.hpp"

namespace weft::nic {

using NicId = std::uint32_t;   // interfaces in use, numbered from 0
using PortNo = std::uint32_t;  // of one interface

/// A port of an interface.
struct PortRef {
  NicId nic = 0;
  PortNo port = 0;
};

/// What the fabric asks of those who own processes and memory. Calls come in the order of their times.
class Host {
 public:
  virtual ~Host() = default;
  /// False where the memory is not there.
  virtual bool read(std::uint32_t owner, std::uint64_t address, void* to, std::uint64_t length) = 0;
  virtual bool write(std::uint32_t owner, std::uint64_t address, const void* from, std::uint64_t length) = 0;
  virtual void message(PortRef port, const Message& message) = 0;
  virtual void event(PortRef port, const Event& event) = 0;
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
};

struct Counters {
  std::uint64_t messages = 0, puts = 0, gets = 0, atomics = 0, failed = 0;
  std::uint64_t packets_sent = 0, packets_received = 0, bytes_sent = 0, bytes_received = 0;
  std::uint64_t translations = 0, translation_misses = 0;
  std::uint64_t retries = 0, corrupted = 0, context_pauses = 0, context_refusals = 0;
  std::uint64_t window_stalls = 0, messages_held = 0, events_held = 0, reordered = 0;
  std::uint64_t deepest_queue = 0, interrupts = 0, refused = 0;
  std::uint64_t split_stores = 0, buffer_waits = 0;
  std::uint64_t core_stalls = 0, watchdog_ends = 0, held_back = 0, channel_waits = 0, untranslated = 0;
  std::uint64_t table_waits = 0;
  TimeSum busy;             // of the sending units together
  TimeSum core_stall_time;  // of processors before full queues
  Time table_busy{0};       // of the microcontroller
};

/// An entry of an interface's interrupt queue, which all its ports share.
struct Interrupt {
  enum class Cause : std::uint8_t { Asked, Error };
  Cause cause;
  std::uint32_t node;  // where it comes from
  PortNo port;         // whom it is for
  Time written;
};

/// A packet that was refused, kept for those who look for the mistake.
struct ErrorPacket {
  Status status;
  Operation operation;
  std::uint32_t node, port;  // who sent it
  std::uint64_t key, offset, length;
  Time at;
};

class Fabric : private event::EventHandler {
 public:
  /// The events of its interfaces are in `queue`, which may have others' as well.
  Fabric(const machine::Machine& machine, network::Network& network, event::EventQueue& queue, Host& host,
         const std::vector<network::EndpointId>& nodes, std::uint64_t seed);
  ~Fabric() override;

  NicId nics() const { return static_cast<NicId>(nics_.size()); }
  network::EndpointId node(NicId nic) const;
  const machine::NicParameters& parameters() const { return p_; }

  /// `slots`: messages its ring holds, at most nic.message_slots; 0: as many as that.
  Status open(NicId nic, std::uint32_t owner, bool memory_queue, PortNo& port, unsigned slots = 0);
  /// One of the ports whose work may use physical addresses.
  Status open_for_kernel(NicId nic, std::uint32_t owner, PortNo& port);
  unsigned ring_slots(PortRef port) const;
  void close(PortRef port);
  /// `simulated`: the address that is translated in place of its own, which differs from run to run; 0: its
  /// own.
  Status register_memory(PortRef port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                         std::uint64_t& key, std::uint64_t simulated = 0);
  /// Memory that has a simulated address lies elsewhere in its process: to the interface it is the same.
  Status move_memory(PortRef port, std::uint64_t key, std::uint64_t address);
  /// What registering takes from `from` on, and so does unregistering where a microcontroller keeps the
  /// table.
  Time registration_cost(std::uint64_t address, std::uint64_t length) const;
  Time registration_time(NicId nic, Time from, std::uint64_t address, std::uint64_t length);
  Time unregistration_time(NicId nic, Time from, std::uint64_t length);
  Status unregister_memory(PortRef port, std::uint64_t key, std::uint64_t* length = nullptr);

  /// Makes the port's process the one that has this protection domain on its node; a port joins once.
  Status join_domain(PortRef port, std::uint32_t domain);
  /// Registers memory in the port's domain; `global` is the lower part of its address (domains.hpp).
  Status register_global(PortRef port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                         std::uint64_t& global);
  Status unregister_global(PortRef port, std::uint64_t global, std::uint64_t* length = nullptr);
  /// Other memory behind the same global address; `length` is the region's. Not where the map is static.
  Status move_global(PortRef port, std::uint64_t global, std::uint64_t address, std::uint64_t& length);

  /// The physical address of registered memory of this port, which a kernel's port may ask for.
  Status physical_address(PortRef port, std::uint64_t key, std::uint64_t offset,
                          std::uint64_t& physical) const;

  /// A processor stood before this port's full queue; `ended`: until the watchdog let it go.
  void core_stalled(PortRef port, Time time, bool ended);

  /// Work a process posted at `descriptor.posted`; not yet trusted.
  void post(PortRef port, const Descriptor& descriptor);
  /// Has it work that is not done?
  bool busy(PortRef port) const;
  /// The process has taken entries out of its rings.
  void consumed(PortRef port, unsigned messages, unsigned events);

  Time now() const { return queue_.now(); }
  /// Runs up to `until`, or up to the first time at which the host was told something; true then.
  bool advance(Time until);
  /// Nothing is under way: only new work can make anything happen.
  bool idle() const;
  /// Operations that are not done, in words, for reports on what hangs.
  std::vector<std::string> pending(NicId nic) const;

  Counters counters(NicId nic) const;
  /// The last ones, up to nic.interrupt_slots and nic.error_slots.
  const std::deque<Interrupt>& interrupts(NicId nic) const;
  const std::deque<ErrorPacket>& error_packets(NicId nic) const;
  std::function<void(const Record&)> on_record;

 private:
  struct Transfer;
  struct Flight;
  struct Port;
  struct QueueBuffer;
  struct Nic;
  struct Pair;
  enum What : std::uint32_t {
    Post,
    Fetch,
    Ready,
    Dispatch,
    Data,
    Tell,
    Watchdog,
    Timeout,
    Reconnect,
    Loopback
  };
  enum class Kind : std::uint8_t {
    Whole,
    PutData,
    GetRequest,
    GetData,
    Reply,
    Connect,
    ConnectAck,
    ConnectNack
  };

  void at(Time when, What what, std::uint32_t index);
  void handle(const event::Event& due) override;

  Status open_among(NicId nic, std::uint32_t owner, PortNo first, PortNo end, PortNo& port);
  Time page_time(std::uint64_t address, std::uint64_t length) const;

  // Submission (submit.cpp).
  void submit(std::uint32_t transfer);
  void fetch(std::uint32_t transfer);
  void leave_queue(Transfer& x);

  // Sending (send.cpp).
  void reach_chip(std::uint32_t transfer);
  Status check(const Nic& nic, const Transfer& x) const;
  void dispatch(NicId nic);
  void serve(NicId nic);
  bool blocked(Nic& nic, Transfer& x);
  void leave_channel(Transfer& x, std::uint32_t index);
  Time translate(Nic& nic, const Transfer& x, std::uint32_t owner, std::uint64_t address,
                 std::uint64_t length, Time from);
  Status check_physical(const Nic& nic, std::uint64_t physical, std::uint64_t length,
                        PhysicalMemory::Behind& behind) const;
  void issue(NicId nic, Transfer& x, std::uint32_t index, unsigned unit);
  Time data_on_chip(Nic& nic, Transfer& x, Flight& f, std::uint32_t owner, std::uint64_t address, Time from);
  std::uint32_t new_flight(Kind kind, std::uint32_t transfer, NicId from, NicId to);
  void launch(std::uint32_t flight, Time when);
  void reply(std::uint32_t transfer, Time when);
  void respond(std::uint32_t transfer);
  void start_connection(NicId nic, Transfer& x, std::uint32_t index);
  void time_out(std::uint32_t transfer, std::uint32_t attempt);

  // Receiving (receive.cpp).
  void delivered(std::uint32_t flight, Time when);
  void lost(std::uint32_t flight, Time when);
  void departed(std::uint32_t flight, Time when);
  void receive(std::uint32_t flight, Time when);
  bool intact(Flight& f);
  Status place(Flight& f, Transfer& x, Time& ready);
  void to_ring(std::uint32_t flight);
  void let_senders_go(Nic& nic);
  void land(std::uint32_t flight);
  void land_data(Flight& f, Transfer& x);
  void execute_atomic(Transfer& x);
  void arrived(std::uint32_t transfer);
  void reject(std::uint32_t transfer, Status status, Time when);
  void interrupt(NicId nic, const Interrupt& entry, const Event& event, std::uint32_t generation);

  // Ends (fabric.cpp).
  void finish(std::uint32_t transfer, Status status, Time when);
  void notify(NicId nic, PortNo port, std::uint32_t generation, const Event& event, Time when);
  void tell(std::uint32_t index);
  Event event_for(const Transfer& x, EventKind kind, bool at_target) const;
  void release_flight(std::uint32_t flight);
  void release_transfer(std::uint32_t transfer);
  Port* live_port(NicId nic, PortNo port, std::uint32_t generation);
  NicId nic_of_node(std::uint32_t node) const;

  const machine::NicParameters p_;
  const machine::HostParameters h_;
  network::Network& network_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  Host& host_;
  std::uint64_t seed_;
  std::uint64_t payload_;  // of a packet, as large as the network takes
  unsigned classes_;
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<NicId> nic_of_node_;
  std::uint64_t packets_ = 0;
  std::vector<network::Notice> notices_;
  std::unique_ptr<Slab<Transfer>> transfers_;
  std::unique_ptr<Slab<Flight>> flights_;
  struct Telling {
    NicId nic;
    PortNo port;
    std::uint32_t generation;
    Event event;
  };
  Slab<Telling> tellings_;
};

}  // namespace weft::nic
