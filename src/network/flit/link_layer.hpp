// Links that can fail, between the routers of the flit network.
//
// Cables of a type with bit errors or with lanes to be tested, and those a fault script names, have a link
// layer: their flits and credits go through the link protocol (network/link) instead of straight into the
// other side's inbox. All other cables keep their direct path. Without an error a cable with a link layer has
// exactly the timing of a direct one.
//
// What happens to a whole machine (a script's next event, links that report themselves dead, routes that
// change) happens between two cycles, while all threads are at rest.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/cycle_engine.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/recovery.hpp"
#include "network/flit/settings.hpp"
#include "network/flit/state.hpp"
#include "network/link/fault_script.hpp"
#include "network/link/protocol.hpp"
#include "network/link/reconfigure.hpp"
#include "network/network.hpp"

namespace weft::network::flit {

class LinkLayer {
 public:
  /// Keeps a reference to the machine.
  LinkLayer(const machine::Machine& machine, const Settings& settings, std::vector<link::FaultEvent> events);

  /// Has this machine, with this script, any cable that needs it?
  static bool needed(const machine::Machine& machine, const std::vector<link::FaultEvent>& events);

  /// The ports with a link layer, by end: both ends of each such cable, one after the other.
  const std::vector<topology::PortId>& ports() const { return ports_; }
  EndNumber end_at(topology::PortId port) const { return end_at_[port]; }
  static EndNumber other_end(EndNumber end) { return end ^ 1; }

  // From the thread that owns the end's router, in this order in each cycle. An end may be left out of a
  // cycle in which nothing arrives, nothing is offered, no credit is given and which is before wakes_at().
  void receive(EndNumber end, Cycle now, link::Arrival& arrival);
  /// The entry of the packet whose flit arrived last at this end, on this channel.
  Entry arrived(EndNumber end, unsigned channel) const { return Entry(ends_[end].packets[channel]); }
  bool ready(topology::PortId port, Cycle now) const;
  void offer(EndNumber end, unsigned channel, Entry entry, unsigned index);
  void credit(EndNumber end, unsigned channel) { ends_[end].link.credit(channel); }
  /// `occupied`: flits standing in the buffer behind the end, for the other one to know. Returns the cycle
  /// in which something arrives there, or kNever.
  Cycle transmit(EndNumber end, Cycle now, std::uint32_t occupied);
  /// After transmit(): when this end has something to do by itself.
  Cycle wakes_at(EndNumber end, Cycle now) const { return ends_[end].link.wakes_at(now); }

  /// Between two cycles. `moved`: some flit did in the last one; `in_network`: flits injected and not
  /// delivered.
  void between_cycles(Recovery& network, Cycle now, bool moved, std::uint64_t in_network);
  /// The first cycle after `now` before which between_cycles() must be called even if no end does anything:
  /// a script's event, a step on the way to new routes.
  Cycle next_step(Cycle now) const;

  /// Is there no route between two endpoints, as far as whoever computes the routes knows?
  bool cut_off(EndpointId source, EndpointId destination) const;
  /// Something is under way that will go on by itself: a script's event, a link in training, new routes.
  bool busy() const;

  const std::vector<TimelineEntry>& timeline() const { return timeline_; }
  std::vector<CableRecord> records() const;
  /// Of a port, without the counts of flits that crossed it; all is well where its cable cannot fail.
  Network::PortState port_state(topology::PortId port) const;
  const routing::Routing& routing() const { return reconfigurer_.routing(); }
  std::uint64_t taken_back() const { return taken_back_; }
  /// Flits whose bytes were not those sent, though their CRC was right; and packets flagged as damaged.
  std::uint64_t corrupted() const;
  const std::string& routing_name() const { return reconfigurer_.routing_name(); }
  bool routes_changed() const { return switches_ > 0; }

 private:
  /// One end of such a cable, with the packet under way on each channel.
  struct End {
    explicit End(const link::LinkSettings& settings)
        : link(settings), packets(settings.channels), flits(settings.channels), bytes(settings.flit_bytes) {}
    link::LinkEnd link;
    std::vector<std::uint64_t> packets;  // by channel: entry of the packet that arrives
    std::vector<unsigned> flits;         // ... and how many of its flits are here
    std::vector<std::uint8_t> bytes;     // scratch
    std::uint64_t corrupted = 0;
    std::uint16_t fullest = 0;  // heard of the other end's buffer,
    std::uint8_t ill = 0;       // and of its node
    link::LinkState told = link::LinkState::Up;
    unsigned told_lanes = 0;
  };
  void apply(const link::FaultEvent& event, Recovery& network, Cycle now);
  void update_cut(topology::CableId cable);
  void watch_links(Cycle now);
  void count_ill(topology::CableId cable, int change);
  bool nobody_can_tell(topology::RouterId router) const;
  void find_pieces();
  void note(Cycle now, std::string what) { timeline_.push_back({now, std::move(what)}); }

  const machine::Machine& machine_;
  const topology::Graph& graph_;
  CycleTime cycle_;
  std::vector<link::FaultEvent> events_;
  std::size_t next_event_ = 0;
  std::vector<topology::PortId> ports_;
  std::vector<EndNumber> end_at_;  // by port
  std::vector<End> ends_;
  std::vector<link::Wire> wires_;   // by end: the one that leaves it
  std::atomic<bool> news_ = false;  // a link's state or lanes have changed since watch_links()
  std::vector<topology::CableId> cables_;
  std::vector<bool> cut_, killed_;  // by cable, by router: as the script says
  std::vector<std::uint8_t> dead_;  // by cable with a link layer: as reported
  std::vector<std::uint8_t> ill_;   // by router: its links reported dead, what its frames say of its health
  link::Reconfigurer reconfigurer_;
  std::vector<std::uint32_t> piece_;  // by router; kNone: cannot even talk to itself
  std::vector<TimelineEntry> timeline_;
  std::uint64_t taken_back_ = 0, switches_ = 0;
};

}  // namespace weft::network::flit
