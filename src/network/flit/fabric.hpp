// The routers of a machine as flat arrays, and how they are wired: which input each output leads to, after
// how many cycles, and which thread looks after it.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flit/inner_fabric.hpp"
#include "network/flit/multicast_state.hpp"
#include "network/flit/settings.hpp"
#include "network/flit/state.hpp"
#include "network/flit/traffic_classes.hpp"
#include "network/part.hpp"
#include "topology/graph.hpp"

namespace weft::network::flit {

/// What a thread looks after; tiles are numbered within their process.
struct Share {
  std::uint32_t tile_begin, tile_end;
  std::uint32_t endpoint_begin, endpoint_end;
};

/// A tile of another rank that something here leads to. Tiles are counted over all ranks; the links of a
/// thread count as a tile of their own, numbered behind all tiles.
struct Beyond {
  std::uint32_t tile, rank;
};

/// Plain data for the stages of a cycle; what is above the state does not change in a run.
struct Fabric {
  /// `link_layer`: some cables have one (lead_through_links()).
  Fabric(const topology::Graph& graph, Settings settings, bool link_layer);

  /// Flits of these ports go through their link layer, and so do their credits. The links of a thread have
  /// inboxes like those of a tile: credits for them are put there in the cycle they arise, and ends at which
  /// something will arrive in the cycle it will. Returns the thread, of all ranks, that looks after each.
  std::vector<unsigned> lead_through_links(const std::vector<topology::PortId>& link_ports);
  /// A router that is dead delivers nothing.
  void freeze(topology::RouterId router, bool frozen);
  /// Every queue and inbox empty, every credit back.
  void empty();

  /// Where a thread of this process has its inboxes in the slot of a cycle.
  std::uint32_t row(Cycle cycle, unsigned thread) const {
    return static_cast<std::uint32_t>(cycle & (state.slots - 1)) * state.slot_inboxes +
           (thread - first_thread) * state.thread_inboxes;
  }
  /// The inbox of a tile for what arrives in a cycle from a thread.
  std::size_t inbox_index(Cycle cycle, std::uint32_t tile, unsigned thread) const {
    return std::size_t{row(cycle, thread)} + tile;
  }
  /// Where the inboxes of a thread's links are, counted as if it were a tile.
  std::uint32_t links_tile(unsigned thread) const {
    return static_cast<std::uint32_t>(state.tiles.size()) + thread - first_thread;
  }
  /// The thread that looks after a router, of all ranks together.
  unsigned thread_of(topology::RouterId router) const {
    return static_cast<unsigned>(((std::uint64_t{router} + 1) * settings.threads - 1) / graph.routers());
  }
  /// The tile of a router of this process.
  std::uint32_t tile_of(topology::RouterId router) const { return router_tile[router] - first_tile; }
  unsigned own_threads() const { return static_cast<unsigned>(shares.size()); }
  /// Which of a thread's inboxes in a slot is for a tile of all ranks.
  std::uint32_t inbox_for(std::uint32_t tile) const;
  /// The first of those for tiles of other ranks, in the order of `beyond`.
  std::uint32_t first_beyond() const {
    return static_cast<std::uint32_t>(state.tiles.size()) + (link_layer_ ? own_threads() : 0);
  }
  /// Flits in the input queues of a port now.
  std::uint32_t occupancy(PortNumber port) const;
  std::uint64_t bytes() const;

  const topology::Graph& graph;
  Settings settings;
  InnerFabric inner;
  Part part;                                   // what is here; the state has memory for no other ports
  std::vector<Share> shares;                   // by thread of this process
  unsigned first_thread = 0;                   // of this process, among those of all ranks,
  std::uint32_t first_tile = 0;                // and its first tile
  std::uint32_t tiles_of_thread = 1;           // the same for all
  std::vector<Beyond> beyond;                  // in order of tiles
  std::vector<std::uint32_t> endpoint_router;  // by endpoint
  std::vector<PortNumber> endpoint_port;       // by endpoint
  std::vector<std::uint32_t> endpoint_tile;    // by endpoint of this process
  std::vector<std::uint32_t> router_tile;      // by router: of the tiles of all ranks
  std::vector<std::uint32_t> link_inbox;  // by end of a cable with a link layer: for the links of its thread
  std::vector<Remainder> port_remainder;  // by port: of a hop over its cable, where cables differ
  Remainder hop_remainder = 0;            // where they do not
  std::uint16_t endpoint_flight = 0;      // of a flit from its source to the router
  unsigned delivery_lead = 1;   // cycles from a tail's winning its last switch to its delivery, at least
  unsigned longest_window = 1;  // cycles a tile can run without what others send it

  State state;
  MulticastState multicast;  // of packets for many, where routers copy them
  TrafficClasses classes;    // where there are several

  std::uint32_t every_channel() const {
    return settings.all_channels() == 32 ? ~0u : (1u << settings.all_channels()) - 1;
  }

 private:
  void size_arrays();
  void share_out();
  void find_beyond();
  void connect_ports();
  void connect_port(PortNumber p);
  void connect_inner_ports();
  void share_remainders();
  void rank_local_ports();
  std::uint16_t flight_number(unsigned cycles);

  const bool link_layer_;
};

}  // namespace weft::network::flit
