// The proof before cycle 0: every pair connected, every path as short as claimed, and no cycle of channels.
// Routes with an intermediate place are proved leg by leg, for every place a source may draw.
//
// Channels are the vertices of the dependency graph. There is an edge from one to another when some packet
// can hold the first while it asks for the second. Without a cycle no deadlock can form (Dally and Seitz). An
// adaptive routing with escape channels may have cycles; then the escape channels alone must be reachable
// from every state and free of cycles, counting also the dependencies a packet makes by leaving them and
// coming back (Duato).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "routing/balance.hpp"

namespace weft::routing {

/// One channel of a cycle: the cable's sending port and the first channel of the class.
struct CycleHop {
  PortId out_port;
  unsigned channel;
  /// A packet to this endpoint (or, on the first of two legs, to this intermediate place) holds the channel
  /// and asks for the next one. kNone: it asks as it starts its second leg.
  std::uint32_t target;
  bool via_leg = false;
};

/// A pair that cannot talk, or may go round for ever.
struct BrokenPair {
  RouterId source;
  EndpointId destination;
  bool endless = false;
  bool cut_off = false;       // no route exists on what is left of the network
  std::uint32_t via = kNone;  // the intermediate place on whose route it breaks; kNone: on the direct one
};

struct Verdict {
  std::uint64_t destinations = 0;  // representative destinations there are
  std::uint64_t visited = 0;       // ... and visited; fewer only when sampled
  std::uint64_t pairs = 0;         // source routers x destinations looked at
  std::uint64_t broken_pairs = 0;
  std::uint64_t cut_off_pairs = 0;  // ... of which no routing could join, because no route is left
  std::vector<BrokenPair> broken;   // the first few
  std::uint32_t longest = 0;        // most cables any route crosses
  std::uint64_t detours = 0;        // pairs with a route longer than claimed
  BrokenPair first_detour{};
  std::uint64_t channels = 0;        // vertices: (cable direction, channel class)
  std::uint64_t dependencies = 0;    // edges
  bool escape_proof = false;         // proved on the escape channels
  std::uint64_t without_escape = 0;  // states a packet can be in with no escape channel to ask for
  std::vector<CycleHop> cycle;       // empty: none
  std::vector<TableUse> tables;
  std::uint64_t states = 0;          // visited in all
  bool enough_channels = true;       // every class has channels of its own; engines refuse a machine without
  std::vector<TierBalance> balance;  // where asked for

  bool tables_fit() const;
  bool connected() const { return broken_pairs == 0; }
  bool deadlock_free() const { return cycle.empty() && without_escape == 0; }
  bool exact() const { return visited == destinations; }
  /// Does the routing serve every pair that anything could serve, without deadlock?
  bool serves_what_is_left() const {
    return broken_pairs == cut_off_pairs && detours == 0 && deadlock_free() && tables_fit() &&
           enough_channels;
  }
  bool holds() const {
    return connected() && detours == 0 && deadlock_free() && tables_fit() && enough_channels;
  }
};

struct VerifyOptions {
  unsigned channels = 1;
  unsigned threads = 0;      // 0: the cores there are
  std::uint64_t sample = 0;  // destinations to visit; 0: all, which makes it a proof
  double max_states = 4e10;  // refuse larger proofs, saying how large they would be
  bool balance = false;      // how evenly uniform traffic loads the cables, beside the proof
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

/// Throws UserError where an exact proof would be too large.
Verdict verify(const Routing& routing, const VerifyOptions& options);

}  // namespace weft::routing
