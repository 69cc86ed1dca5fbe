// What the interfaces of a machine take to run a collective along a tree, for programs that have no
// interfaces of their own: the times of nic/triggered, without contention within an interface.
#pragma once

#include <vector>

#include "collective/tree.hpp"
#include "machine/description.hpp"

namespace weft::workload {

struct InterfaceTimes {
  collective::Shape shape = collective::Shape::Kary;
  unsigned arity = 4;  // 0: as few levels as so many children allow
  unsigned children = 63;
  std::uint64_t limit = 0;                        // bytes of the longest vector
  std::uint64_t header = 0;                       // bytes around a packet's data
  Time post{0};                                   // from a processor that posts to the descriptor on the chip
  Time receive{0};                                // from the network to a waiting sequence
  Time trigger{0};                                // from the last packet to the first step
  Time send{0};                                   // from a step to the network
  Time next{0};                                   // from one child to the next
  Time combine{0};                                // two numbers of eight bytes
  Time told{0};                                   // from a step to the processor that has seen the event
  bool units = false;                             // reductions
  std::vector<std::uint32_t> group_of_rank = {};  // where trees have two levels (mpi.tree_levels)
};

/// Of one level.
collective::Tree tree_of(const InterfaceTimes& times, collective::Place members);
/// Of two levels, where the machine has such. `members` are brought into the order of their places; the first
/// stays the first.
collective::Tree tree_of(const InterfaceTimes& times, std::vector<std::uint32_t>& members);

/// Throws UserError where the machine's interfaces run no collectives.
InterfaceTimes interface_times(const machine::Description& description);

/// From all members' posts to the last one's event: what a barrier takes where a packet takes `network`
/// between any two members and nothing is in its way.
Time barrier_time(const InterfaceTimes& times, collective::Place members, Time network);
Time barrier_time(const InterfaceTimes& times, const collective::Tree& tree, Time network);

}  // namespace weft::workload
