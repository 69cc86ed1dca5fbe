// What is to break during a run, and when: a few words a line, checked against the machine before it starts.
//
//   at 3us cut r12.p3            # the cable at that port, both directions
//   at 5us kill router 7         # and everything plugged into it
//   at 8us restore r12.p3        # or: restore router 7
//   at 9us lane r0.p1 5 stuck    # or: heal, or the fastest rate it still passes, 10Gbps
//   at 9us flip r0.p1 packet 4 bit 17
//   at 9us stall r0.p1 for 2us   # sends nothing for so long
//
// Statements end at the end of a line or at a semicolon; # starts a comment. Times go forward.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "topology/graph.hpp"

namespace weft::network::link {

struct FaultEvent {
  enum class Kind : std::uint8_t { Cut, Restore, KillRouter, RestoreRouter, Lane, Flip, Stall };
  enum class Lane : std::uint8_t { Stuck, Limited, Heal };
  Kind kind = Kind::Cut;
  Time at;
  topology::PortId port = topology::kNone;  // that was named; cut and restore are for both directions
  topology::RouterId router = topology::kNone;
  Lane lane_fault = Lane::Stuck;
  unsigned lane = 0, rate = 0;        // rate: number of the fastest it passes, 0 the nominal one
  std::uint32_t packet = 0, bit = 0;  // packet: counted from 1, among those sent from then on
  Time duration;
  std::string text;  // as written, without the time: "cut r12.p3"
};

/// Reads a script; `source` names it in messages. Mistakes go to `problems`, each with its line and column.
std::vector<FaultEvent> parse_fault_script(std::string_view text, const std::string& source,
                                           const topology::Graph& graph, Diagnostics& problems);

/// What `--fault` was given: a script, or the name of a file that holds one. Throws UserError.
std::vector<FaultEvent> read_faults(const std::string& given, const topology::Graph& graph);

/// Both directions of these cables can fail: those named, and those plugged into a router that is killed.
std::vector<topology::CableId> cables_of(const std::vector<FaultEvent>& events, const topology::Graph& graph);

}  // namespace weft::network::link
