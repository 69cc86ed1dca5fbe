// What every engine that goes cycle by cycle does for those who measure it: `weft traffic`, `weft stress` and
// `weft bench` run on this interface and know no engine.
//
// Nothing here is called for a flit. An engine runs for as many cycles as it is told; meanwhile it asks the
// traffic for the packets of all endpoints that are due in a cycle at once, and tells of arrivals in batches.
// What it counts and what stands in its buffers is copied out in one call, for all ports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "machine/machine.hpp"
#include "network/cycle_time.hpp"
#include "network/link/fault_script.hpp"
#include "network/link/protocol.hpp"
#include "network/packet.hpp"
#include "network/ranks.hpp"

namespace weft::network {

struct CycleCounters {
  std::uint64_t flit_hops = 0;  // flits that crossed a cable between routers
  std::uint64_t flits_injected = 0, flits_delivered = 0;
  std::uint64_t packets_created = 0, packets_delivered = 0;
  std::uint64_t packets_lost = 0;  // given up because no route was left to their destination
  std::uint64_t packets_refused = 0, flits_refused = 0;  // made by sources whose queue was full

  std::uint64_t packets_in_network() const { return packets_created - packets_delivered - packets_lost; }
};

/// The first packet of an input queue, and what it waits for.
struct Waiting {
  std::string place;  // the queue's port, or the part of a router it stands in
  unsigned channel;
  EndpointId source, destination;
  Cycle created, injected;
  std::string reason;  // in words
};

/// Something that happened to the machine during a run.
struct TimelineEntry {
  Cycle at;
  std::string what;
};

/// How a cable that can fail has fared, both directions together.
struct CableRecord {
  topology::CableId cable;
  link::LinkCounters counters = {};
  std::uint64_t bits_damaged = 0;
  unsigned lanes_up = 0;
  double rate_share = 1;  // of the full rate, with the lanes there are now; 0: dead
  unsigned fullest = 0;   // the most flits an end was told to stand in the other's buffer
  unsigned ill = 0;       // the most dead links an end was told of by the other's node
};

/// What the link layer of cables that can fail has to tell of a run.
struct LinkReport {
  bool there = false;  // there are such cables
  std::vector<TimelineEntry> timeline;
  std::vector<CableRecord> cables;
  std::uint64_t taken_back = 0;  // packets that went back to their sources
  std::uint64_t corrupted = 0;   // flits whose bytes were not those sent, though their CRC was right
  std::string routing;           // in use at the end
  bool routes_changed = false;
};

/// What does not change while an engine runs a machine.
struct CycleFacts {
  CycleTime cycle;
  unsigned message_classes = 1;
  std::vector<std::uint16_t> cable_interval;  // by cable: 1/256 cycles from flit to flit
  std::vector<std::uint32_t> buffer_flits;    // by port: what its input takes, all virtual channels together
};

/// What an engine may be told beyond the machine.
struct CycleOptions {
  unsigned largest_packet_flits = 1;
  unsigned threads = 1;    // of this process
  Ranks* ranks = nullptr;  // other processes that run parts of the same machine; only where runs_on_ranks
  std::uint64_t seed = 1;
  std::uint32_t most_packets = 1u << 24;  // at once; room is reserved for them
  unsigned source_queue = 0;              // packets that wait at an endpoint before it refuses; 0: any number
  Cycle age_limit = 0;                    // a packet in the network for longer ends the run; 0: none does
  std::vector<link::FaultEvent> faults = {};  // what breaks, in order of time; only where links_fail
  bool link_layer = false;                    // report on links even where nothing can fail
};

class CycleEngine {
 public:
  static constexpr Cycle kPatience = 100'000;

  virtual ~CycleEngine() = default;

  virtual const CycleFacts& facts() const = 0;
  /// Threads it runs on, which may be fewer than it was told.
  virtual unsigned threads() const = 0;

  /// Runs until `until`. `observers` has one for each thread. Returns early, before `until`, only when
  /// nothing will ever happen again, or when nothing has moved for `patience` cycles while packets wait.
  virtual void run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until,
                   Cycle patience = kPatience) = 0;
  virtual Cycle now() const = 0;
  /// Nothing moves any more while packets wait, or a packet is older than the limit.
  virtual bool stalled() const = 0;
  /// Who waits for whom when nothing moves: a cycle of queues where there is one, else the oldest packet and
  /// what it waits for in turn. Empty where an engine does not see it.
  virtual std::vector<Waiting> explain_stall() const = 0;

  /// Of all ranks together, where there are several: called by all of them.
  virtual CycleCounters counters() const = 0;
  /// By port of this process's part (part_of()), from the first on: flits sent so far.
  virtual void copy_sent(std::vector<std::uint64_t>& by_port) const = 0;
  /// The same: flits in the queues of its input now.
  virtual void copy_occupancy(std::vector<std::uint32_t>& by_port) const = 0;
  /// Of all ranks together: called by all of them.
  virtual LinkReport link_report() const = 0;

  /// Of the network's state, without its packets; and of each packet.
  virtual std::uint64_t bytes() const = 0;
  virtual std::uint64_t packet_bytes() const = 0;
};

/// An engine registers itself from its own file: WEFT_REGISTER(network::CycleEngineKind, {"flit", "...",
/// ...}).
struct CycleEngineKind {
  std::string name, about;
  /// Throws UserError where it cannot run the machine with packets of so many flits.
  CycleFacts (*facts)(const machine::Machine& machine, unsigned largest_packet_flits);
  std::unique_ptr<CycleEngine> (*make)(const machine::Machine& machine, const CycleOptions& options);
  bool links_fail = false;  // it has cables whose bits are damaged and that can be cut
  bool runs_on_ranks = false;
};

inline constexpr const char* kReferenceEngine = "flit";

/// The kind of that name; throws UserError where there is none.
const CycleEngineKind& cycle_engine(const std::string& name = kReferenceEngine);

}  // namespace weft::network
