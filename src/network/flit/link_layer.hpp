// Links that can fail, between the routers of the flit network.
//
// Cables of a type with bit errors or with lanes to be tested, and those a fault script names, have a link
// layer: their flits and credits go through the link protocol (network/link) instead of straight into the
// other side's inbox. All other cables keep their direct path. Without an error a cable with a link layer has
// exactly the timing of a direct one.
//
// What happens to a whole machine (a script's next event, links that report themselves dead, routes that
// change) happens between two cycles, while all threads are at rest.
//
// Where ranks share the machine, each has the ends of its own routers, and the wires that leave or come to
// them. All know how every end fares, so all take the same steps between cycles; what goes by a cable to
// another rank is the exchange's (exchange.hpp).
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
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
#include "network/part.hpp"

namespace weft::network::flit {

/// What the engine knows of the whole network between two cycles.
struct Standing {
  bool moved;                // some flit did in the last cycle
  std::uint64_t in_network;  // flits injected and not delivered
  bool sending;              // an endpoint is amid a packet; where routes are about to change
};

/// How an end fares.
struct EndNews {
  EndNumber end;
  link::LinkState state;
  link::LaneSet lanes;
};

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
  Entry arrived(EndNumber end, unsigned channel) const { return Entry(at(end).packets[channel]); }
  bool ready(topology::PortId port, Cycle now) const;
  void offer(EndNumber end, unsigned channel, Entry entry, unsigned index);
  void credit(EndNumber end, unsigned channel) { at(end).link.credit(channel); }
  /// `occupied`: flits standing in the buffer behind the end, for the other one to know. Returns the cycle
  /// in which something arrives there, or kNever.
  Cycle transmit(EndNumber end, Cycle now, std::uint32_t occupied);
  /// After transmit(): when this end has something to do by itself.
  Cycle wakes_at(EndNumber end, Cycle now) const { return at(end).link.wakes_at(now); }

  // Ends of cables to other ranks. A packet has other numbers there, and a record of its own: that of each
  // head taken from its router goes ahead of it, and waits at the other end in the order of heads.
  bool is_here(EndNumber end) const { return slot_[end] != kEnd; }
  const std::vector<EndNumber>& borders() const { return borders_; }  // those here
  bool is_border(EndNumber end) const { return is_here(end) && !is_here(other_end(end)); }
  struct Offer {
    Entry entry;
    unsigned channel, index;
  };
  /// What the end was offered in this cycle, once.
  std::optional<Offer> take_offer(EndNumber end) { return std::exchange(at(end).offer, std::nullopt); }
  void expect(EndNumber end, unsigned channel, const PacketRecord& record) {
    at(end).expected.push_back({channel, record});
  }
  /// The record of the head that has just arrived; it has a number here from now on.
  PacketRecord take_expected(EndNumber end, unsigned channel, PacketId number);
  /// The number here of the packet that arrived last on a channel.
  PacketId number_here(EndNumber end, unsigned channel) const { return at(end).numbers[channel]; }
  /// The packet whose tail was offered last on a channel: its record, where its head has not arrived.
  PacketRecord* last_expected(EndNumber end, unsigned channel);
  /// All packets that wait for their heads, which are given up.
  std::vector<PacketRecord> drop_expected();
  link::Wire& wire_to(EndNumber end) { return wires_[wire_slot_[other_end(end)]]; }
  unsigned flit_bytes() const { return static_cast<unsigned>(machine_.description.router.flit.value); }
  /// What all others must hear of the ends here; and what they have told.
  std::vector<EndNews> take_news();
  void hear(const EndNews& news);

  /// Between two cycles. True: the network is another than before, packets wait elsewhere.
  bool between_cycles(Recovery& network, Cycle now, const Standing& standing);
  /// The first cycle after `now` before which between_cycles() must be called even if no end does anything:
  /// a script's event, a step on the way to new routes.
  Cycle next_step(Cycle now) const;

  /// Is there no route between two endpoints, as far as whoever computes the routes knows?
  bool cut_off(EndpointId source, EndpointId destination) const;
  /// Something is under way that will go on by itself: a script's event, new routes, a link in training or
  /// not yet at rest. The links here are asked apart, since others have more.
  bool busy() const;
  bool links_busy() const;
  /// Routes are about to change, and it counts whether endpoints are sending; or may be before long.
  bool draining() const { return reconfigurer_.phase() == link::Reconfigurer::Phase::Draining; }
  bool may_drain() const {
    return draining() || reconfigurer_.phase() == link::Reconfigurer::Phase::Collecting;
  }

  const std::vector<TimelineEntry>& timeline() const { return timeline_; }
  /// Of all ranks together, as is corrupted(): called by all of them.
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
    // Only where the other end is another rank's:
    struct Expected {
      unsigned channel;
      PacketRecord record;
    };
    std::optional<Offer> offer;
    std::deque<Expected> expected;
    std::vector<PacketId> numbers;  // by channel: of the packet that arrives, here
  };
  /// How an end fares, as far as all know, and what has been said of it.
  struct Known {
    link::LinkState state, told;
    link::LaneSet lanes;
    unsigned told_lanes;
  };
  /// What one end has to say for its cable's record.
  struct EndRecord {
    EndNumber end;
    link::LinkCounters counters;
    std::uint64_t bits_damaged, corrupted;
    unsigned lanes_up, fullest, ill;
    double rate_share;
  };
  End& at(EndNumber end) { return ends_[slot_[end]]; }
  const End& at(EndNumber end) const { return ends_[slot_[end]]; }
  std::vector<EndRecord> end_records() const;
  void add_cable(const Settings& settings, topology::CableId cable);
  void apply(const link::FaultEvent& event, Recovery& network, Cycle now);
  void update_cut(topology::CableId cable);
  void switch_routes(Recovery& network, Cycle now);
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
  Ranks* ranks_;
  Part part_;
  std::vector<std::uint32_t> slot_, wire_slot_;  // by end: where it and the wire that leaves it are, or kEnd
  std::vector<End> ends_;                        // those here
  std::vector<link::Wire> wires_;
  std::vector<EndNumber> borders_;
  std::vector<Known> known_;        // by end
  std::atomic<bool> news_ = false;  // the state or lanes of a link here have changed since take_news()
  bool heard_ = false;              // news since watch_links()
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
