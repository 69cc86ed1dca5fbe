// The critical path of a run: walked back from the rank that ended last, to where it began.
//
// A rank's own time leads back to the end of its last wait. What ended a wait is what arrived last until
// then; the path goes on with the rank that posted it, at the time it did. So it passes through chains of
// ranks, trees of collectives and the handshakes of long messages, without knowing what MPI makes of them.
#pragma once

#include <cstddef>
#include <deque>
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

/// Pieces in a row, from the end of a run to its beginning: each begins where the one before it ends, going
/// back. There may be several for each call of MPI, so they are kept in a few bytes and made up when looked
/// at.
class CriticalPath {
 public:
  explicit CriticalPath(std::int64_t end = 0) : end_(end) {}

  void add(const PathPiece& piece);
  std::size_t size() const { return steps_.size(); }

  class Iterator;
  Iterator begin() const;
  Iterator end() const;

 private:
  struct Step {
    std::int64_t from;
    std::uint32_t arrival;
    std::uint32_t kind : 2, call : 10, rank : 20;
    PathPiece piece(std::int64_t until) const {
      return {
          static_cast<PathPiece::Kind>(kind), static_cast<std::uint16_t>(call), rank, arrival, from, until};
    }
  };
  static_assert(sizeof(Step) == 16);
  static_assert(static_cast<unsigned>(abi::MpiCall::Count) < 1024);

  std::int64_t end_;
  std::deque<Step> steps_;  // as many as come, without a second copy while it grows
};

class CriticalPath::Iterator {
 public:
  Iterator(std::deque<Step>::const_iterator at, std::int64_t until) : at_(at), until_(until) {}
  PathPiece operator*() const { return at_->piece(until_); }
  Iterator& operator++() {
    until_ = at_->from;
    ++at_;
    return *this;
  }
  bool operator!=(const Iterator& other) const { return at_ != other.at_; }

 private:
  std::deque<Step>::const_iterator at_;
  std::int64_t until_;
};

inline CriticalPath::Iterator CriticalPath::begin() const { return {steps_.begin(), end_}; }
inline CriticalPath::Iterator CriticalPath::end() const { return {steps_.end(), 0}; }

/// What is kept of a call of MPI to look for causes.
struct RankCall {
  std::int64_t begin, end;
  std::uint32_t bytes;  // the most that fits, where there are more
  std::uint32_t call : 10;
  std::int32_t peer : 22;
};
static_assert(sizeof(RankCall) == 24);

/// Of a rank's first thread, in their order.
std::vector<RankCall> rank_calls(const std::vector<abi::CallRecord>& all);

class RunHistory {
 public:
  /// The recorder must live as long as this. `ends`: each rank's clock when it left.
  RunHistory(const WaitRecorder& recorder, std::vector<std::vector<RankCall>> calls, std::vector<Time> ends);

  unsigned ranks() const { return static_cast<unsigned>(ends_.size()); }
  const std::vector<Arrival>& arrivals() const { return recorder_.arrivals(); }
  const std::vector<RankWait>& waits(std::uint32_t rank) const { return recorder_.waits()[rank]; }
  /// Of a rank's first thread, in their order.
  const std::vector<RankCall>& calls(std::uint32_t rank) const { return calls_[rank]; }
  Time end(std::uint32_t rank) const { return ends_[rank]; }

  /// The call a rank is in at a time; null where it is in none.
  const RankCall* call_at(std::uint32_t rank, std::int64_t time) const;
  /// The first of a rank's waits that ends after a time; its number.
  std::size_t wait_after(std::uint32_t rank, std::int64_t time) const;
  /// What ended a wait: the last that arrived at the rank, or came back to it, during the wait; kNoArrival.
  std::uint32_t cause(std::uint32_t rank, const RankWait& wait) const;
  /// Who came last of those that a wait without a message ended for.
  std::uint32_t last_at_meeting(std::uint32_t rank, const RankWait& wait) const;

  /// From the end to the beginning.
  CriticalPath critical_path() const;

 private:
  /// A rank's own time, cut at its calls.
  void own_time(std::uint32_t rank, std::int64_t from, std::int64_t until, CriticalPath& out) const;

  const WaitRecorder& recorder_;
  std::vector<std::vector<RankCall>> calls_;
  std::vector<Time> ends_;
  std::vector<std::vector<std::uint32_t>> at_;  // by rank: arrivals by their ends
  /// Where the last look of each kind ended: who goes through a run in order finds the next one beside it.
  struct Places {
    std::size_t calls = 0, arrivals = 0, waits = 0;
  };
  mutable std::vector<Places> places_;
};

}  // namespace weft::measure
