// Collectives of a run, for its recording: which there were, who took part, and when each member was in its
// call. They come from the logs of calls; the k-th collective of a communicator is the same one for all its
// members.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "abi/mpi_calls.hpp"
#include "base/quantity.hpp"
#include "workload/program.hpp"

namespace weft::measure {

class RecordedCollectives {
 public:
  static constexpr std::uint32_t kNone = ~0u;
  struct Call {
    Time begin, end;
    std::uint32_t collective = kNone;  // its number, where all of its members are known
  };

  explicit RecordedCollectives(unsigned ranks) : calls_(ranks), named_(ranks) {}

  /// All calls of a rank, as it wrote them down. Once for each rank.
  void add(std::uint32_t rank, const std::vector<abi::CallRecord>& calls);
  /// When all ranks have been added: names those whose members' calls fit together. Each member must have
  /// come before the last one that waits for it left: so whatever runs them, nobody waits in a circle.
  void settle();

  const std::vector<workload::Collective>& all() const { return collectives_; }
  const std::vector<std::vector<workload::Rank>>& groups() const { return groups_; }
  /// Of a rank's first thread, those that abi::is_named; number 1 is the first.
  const std::vector<Call>& calls(std::uint32_t rank) const { return calls_[rank]; }
  /// Null: the rank is no member.
  const Call* call_of(std::uint32_t collective, std::uint32_t rank) const;
  /// It has messages that cannot be told from others.
  void is_not_whole(std::uint32_t collective) { collectives_[collective].whole = false; }

 private:
  struct Member {
    std::uint32_t rank, number;  // of its call in calls_[rank]
    std::int32_t place;
    std::int32_t root;  // by its rank in the world
  };
  /// One that some of its members have been seen of.
  struct Growing {
    std::uint16_t call = 0;
    std::uint32_t size = 0, came = 0;
    std::uint64_t bytes = 0;
    bool alike = true, combines = true, whole = true;
    std::vector<Member> members;
  };
  bool fits(Growing& growing) const;
  void name(const Growing& growing);

  std::vector<std::vector<Call>> calls_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> named_;  // by rank: collective, call
  std::map<std::uint64_t, std::vector<Growing>> growing_;                    // by communicator, in turn
  std::vector<workload::Collective> collectives_;
  std::vector<std::vector<workload::Rank>> groups_;
  std::map<std::vector<workload::Rank>, std::uint32_t> group_numbers_;
};

}  // namespace weft::measure
