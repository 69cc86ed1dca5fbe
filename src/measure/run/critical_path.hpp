// The critical path of a run: walked back from the rank that ended last, to where it began.
//
// A rank's own time leads back to the end of its last wait. What ended a wait is what arrived last until
// then; the path goes on with the rank that posted it, at the time it did. So it passes through chains of
// ranks, trees of collectives and the handshakes of long messages, without knowing what MPI makes of them.
#pragma once

#include <vector>

#include "abi/mpi_calls.hpp"
#include "measure/run/wait_recorder.hpp"

namespace weft::measure {

inline constexpr std::uint32_t kNoArrival = ~0u;

struct PathPiece {
  enum class Kind : std::uint8_t {
    Computing,  // outside of MPI, asleep or not
    InMpi,      // a rank's own work in a call
    Network,    // something is under way
    Meeting,    // ranks wait for each other without a message, as at the end
  };
  Kind kind;
  std::uint16_t call;     // of the rank: that it is in, or is waiting in; 0 where there is none
  std::uint32_t rank;     // whose time it is; of Network the one that waits
  std::uint32_t arrival;  // of Network: its number
  std::int64_t from, until;
  std::int64_t time() const { return until - from; }
};

class RunHistory {
 public:
  /// The recorder must live as long as this. `ends`: each rank's clock when it left.
  RunHistory(const WaitRecorder& recorder, std::vector<std::vector<abi::CallRecord>> calls,
             std::vector<Time> ends);

  unsigned ranks() const { return static_cast<unsigned>(ends_.size()); }
  const std::vector<Arrival>& arrivals() const { return recorder_.arrivals(); }
  const std::vector<RankWait>& waits(std::uint32_t rank) const { return recorder_.waits()[rank]; }
  /// Of a rank's first thread, in their order.
  const std::vector<abi::CallRecord>& calls(std::uint32_t rank) const { return calls_[rank]; }
  Time end(std::uint32_t rank) const { return ends_[rank]; }

  /// The call a rank is in at a time; null where it is in none.
  const abi::CallRecord* call_at(std::uint32_t rank, std::int64_t time) const;
  /// The first of a rank's waits that ends after a time; its number.
  std::size_t wait_after(std::uint32_t rank, std::int64_t time) const;
  /// What ended a wait: the last that arrived at the rank, or came back to it, during the wait; kNoArrival.
  std::uint32_t cause(std::uint32_t rank, const RankWait& wait) const;
  /// Who came last of those that a wait without a message ended for.
  std::uint32_t last_at_meeting(std::uint32_t rank, const RankWait& wait) const;

  /// From the end to the beginning.
  std::vector<PathPiece> critical_path() const;

 private:
  /// A rank's own time, cut at its calls.
  void own_time(std::uint32_t rank, std::int64_t from, std::int64_t until, std::vector<PathPiece>& out) const;

  const WaitRecorder& recorder_;
  std::vector<std::vector<abi::CallRecord>> calls_;
  std::vector<Time> ends_;
  std::vector<std::vector<std::uint32_t>> at_;  // by rank: arrivals by their ends
  /// Where the last look of each kind ended: who goes through a run in order finds the next one beside it.
  struct Places {
    std::size_t calls = 0, arrivals = 0, waits = 0;
  };
  mutable std::vector<Places> places_;
};

}  // namespace weft::measure
