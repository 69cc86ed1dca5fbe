// Turns what programs did on a simulated machine into a program that can be replayed: the same messages
// between the same ranks, each after what its rank had done and heard before.
//
// What a rank computed between its waits becomes computing; what it posted becomes sends; a wait ends when
// what arrived until then has arrived. So on another machine messages take other times and waits follow,
// while the rank's own time stays. Where calls of MPI are known, the program names its collectives. Reads and
// atomic operations become a request without data, which the other side answers by itself. The waits of a
// rank's first thread are taken for the rank's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/simulation.hpp"
#include "measure/run/recorded_collectives.hpp"
#include "workload/program.hpp"

namespace weft::measure {

class TraceRecorder {
 public:
  explicit TraceRecorder(unsigned ranks) : ranks_(ranks), waits_(ranks) {}

  /// An operation that is done; ranks that are not of this run are left out.
  void operation(const nic::Record& record, std::uint32_t from_rank, std::uint32_t to_rank);
  void wait(std::uint32_t rank, std::uint32_t lane, Time from, Time until, abi::Call call);

  /// `ends`: each rank's clock when it left. `collectives` are those the program names; it learns which of
  /// them have messages that cannot be told from others.
  workload::Program finish(const std::string& name, const std::vector<Time>& ends,
                           RecordedCollectives& collectives) const;

 private:
  struct Message {
    Time begin, end;
    std::uint64_t bytes;
    std::uint32_t from, to, tag;
    bool answered;  // by as many bytes, without the other rank's processor; else they go with the message
    std::uint32_t answer_tag;
    std::uint64_t mark;        // of the collective that sent it, in its sender's count
    std::uint32_t collective;  // one more than its number; 0: none
  };
  struct Wait {
    Time from, until;
    bool own_time;  // it slept, or asked the system for something
  };
  class RankScript;
  void find_collectives(std::vector<Message>& messages, RecordedCollectives& collectives) const;

  unsigned ranks_;
  std::vector<Message> messages_;
  std::vector<std::vector<Wait>> waits_;  // by rank
};

}  // namespace weft::measure
