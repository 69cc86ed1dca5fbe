// What routers keep of packets for many: which of a packet's branches have a channel, and how much of it each
// has sent. Nothing of it is there where routers do not copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "network/flit/state.hpp"

namespace weft::network::flit {

/// A branch of the first packet of a queue.
struct BranchState {
  static constexpr std::uint8_t kNoChannel = 0xff;
  std::uint64_t entry = 0;  // of its copy
  Cycle from = 0;           // it may request the switch from then on
  std::uint16_t sent = 0;   // flits
  std::uint8_t channel = kNoChannel;

  bool has_channel() const { return channel != kNoChannel; }
};

/// Contributions of one round of a reduction at one router.
struct Meeting {
  std::uint32_t arrived = 0;
  QueueNumber last = kEnd;  // of those that came in the cycle in which the last one did, the first
  std::int64_t latest = 0;  // when the last one is here, in parts of cycles: what whole cycles leave counts
  bool damaged = false;
};

/// A round of a reduction that is under way, in the network's terms.
struct ReductionRound {
  struct Given {
    Tag tag = 0;
    std::uint16_t flits = 0;
    bool handed_in = false, made = false, delivered = false;  // to the network; a packet of it; the result
  };
  ReductionNumber reduction = kNoReduction;
  std::uint64_t number = 0;
  std::uint32_t slot = 0;    // of its rounds' places at routers
  bool one_by_one = false;   // routes have changed: who has the result sends it to those who have not
  std::vector<Given> given;  // by member
};

/// As the tag of a packet: what a round has made, for each member, by the round's index.
inline constexpr Tag kResultTag = Tag{1} << 63;

struct MulticastState {
  /// Who had an output last.
  struct Turns {
    QueueNumber granted = 0, sent = 0;
    bool had_last = false;  // a copy had the last turn, before packets for one
  };

  /// The channels of copies are the last ones of each port; `ports` of routers with at most `most_ports`.
  MulticastState() = default;
  MulticastState(std::uint32_t ports, unsigned most_ports, unsigned bits, unsigned first, unsigned count,
                 std::size_t tiles)
      : channel_bits(bits),
        first_channel(first),
        channels(count),
        most_branches(most_ports),
        from(std::size_t{ports} * count, 0),
        branches(std::size_t{ports} * count * most_ports),
        turns(ports),
        active(tiles) {}

  bool there_is() const { return channels > 0; }
  std::size_t index(QueueNumber q) const {
    return std::size_t{q >> channel_bits} * channels + (q & ((1u << channel_bits) - 1)) - first_channel;
  }
  BranchState* branches_of(QueueNumber q) { return &branches[index(q) * most_branches]; }
  const BranchState* branches_of(QueueNumber q) const { return &branches[index(q) * most_branches]; }
  void empty() {
    for (auto& list : active) list.clear();
    std::fill(meetings.begin(), meetings.end(), Meeting{});
  }
  std::uint64_t bytes() const {
    return from.size() * sizeof(Cycle) + branches.size() * sizeof(BranchState) + turns.size() * sizeof(Turns);
  }

  unsigned channel_bits = 0, first_channel = 0, channels = 0, most_branches = 0;
  std::vector<Cycle> from;            // by queue: its first packet may request channels from then on
  std::vector<BranchState> branches;  // by queue and branch of its first packet
  std::vector<Turns> turns;           // by port
  std::vector<std::vector<QueueNumber>> active;  // by tile: queues with a packet, in any order
  std::vector<Meeting> meetings;                 // by hop and round of reductions
  std::deque<ReductionRound> rounds;             // under way, or free
};

}  // namespace weft::network::flit
