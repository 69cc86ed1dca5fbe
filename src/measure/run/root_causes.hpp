// Why a run took as long as it did: what of its critical path need not have been there, and whose it is.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "measure/run/critical_path.hpp"
#include "measure/run/transfers.hpp"

namespace weft::measure {

/// Something that made the run longer.
struct RunCause {
  enum class Kind {
    LateRank,     // computes longer than the others, which wait for it
    Noise,        // another rank is late each time
    Chain,        // ranks work one after the other
    Contention,   // messages wait for each other on a link
    Serialised,   // one rank talks to the others one after the other
    FullQueues,   // processors wait for room in their interfaces
    Translation,  // interfaces look up addresses that are not in their tables
    SlowRank,     // takes longer than the others for the same calls of MPI
    Credits,      // messages wait until their receivers have room for them
  };
  Kind kind;
  double share = 0;              // of the run: what it would be shorter by without it, at most
  std::uint32_t rank = 0;        // whose fault it is; of a chain where it begins
  std::uint32_t last_rank = 0;   // of a chain: where it ends
  std::uint16_t call = 0;        // in which others wait
  std::uint32_t waiting = 0;     // ranks that do
  std::uint64_t times = 1;       // so often
  double extra_ps = 0;           // each time; of a slow rank all in all
  double factor = 1;             // of a slow rank: how many times as long
  bool to_send = false;          // they wait to send: their messages wait for the receiver
  std::uint64_t bytes = 0;       // of such a message, or of those on the link
  std::string link;              // where messages wait
  bool between_routers = false;  // that link is; else it is a node's own
  std::uint32_t pairs = 0;       // of ranks that share it
};

/// Where waits come from, over all ranks.
enum class WaitKind {
  LateSender,
  LateReceiver,
  Chain,
  Imbalance,
  Contention,
  Queues,
  Network,
  Meeting,
  kCount
};
inline constexpr auto kWaitKinds = static_cast<std::size_t>(WaitKind::kCount);
const char* wait_kind_name(WaitKind kind);

struct RunAnswer {
  bool known = false;    // there is something to tell
  bool partial = false;  // of the beginning of the run only
  // Of the critical path; they add up to 1.
  double computing = 0, in_mpi = 0, network = 0, meeting = 0;
  double waiting = 0;            // of all ranks' time
  std::vector<RunCause> causes;  // the worst first
  std::array<TimeSum, kWaitKinds> waits;
};

struct CauseFacts {
  const machine::Machine& machine;
  std::vector<network::EndpointId> nodes;  // of each rank
  const std::vector<Transfer>& transfers;
  std::vector<double> short_of_credit;  // share of each rank's time; empty: of none
  double stalled_share = 0;             // of all ranks' time, before full queues
  double translation_share = 0;         // of operations' time, in interfaces whose tables miss most addresses
  std::uint64_t translation_misses = 0;
};

RunAnswer find_causes(const RunHistory& history, const CauseFacts& facts);

}  // namespace weft::measure
