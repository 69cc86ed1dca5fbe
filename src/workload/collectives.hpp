// Collective operations as messages between the ranks of a group. All ranks of the group take part; each
// waits for its own part to be done.
#pragma once

#include <span>

#include "workload/program.hpp"

namespace weft::workload {

using Group = std::span<const Rank>;

/// Where the program has interfaces that run collectives (ProgramBuilder::interfaces), those that are short
/// enough go along a tree of theirs: barrier, broadcast, reduce, and all-reduce whichever algorithm it names.

/// What a program's interfaces (there must be some) do for a collective of these members, of which `root`
/// gives or gets the data.
void by_interfaces(ProgramBuilder& program, Group group, Collective::Kind kind, std::uint64_t bytes,
                   Rank root);

/// Dissemination: in round k everyone tells the one 2^k ahead.
void barrier(ProgramBuilder& program, Group group);

/// Along a binomial tree from the first of the group, and back to it.
void broadcast(ProgramBuilder& program, Group group, std::uint64_t bytes);
void reduce(ProgramBuilder& program, Group group, std::uint64_t bytes);

enum class AllReduce { Ring, Doubling, Tree };

/// Ring: twice round in pieces of bytes / ranks. Doubling: the whole with partners 1, 2, 4, ... away; ranks
/// beyond the largest power of two hand theirs in first. Tree: reduce, then broadcast.
void all_reduce(ProgramBuilder& program, Group group, std::uint64_t bytes, AllReduce algorithm);

/// Round a ring; `bytes` is what each contributes (gather) or gets (scatter).
void all_gather(ProgramBuilder& program, Group group, std::uint64_t bytes);
void reduce_scatter(ProgramBuilder& program, Group group, std::uint64_t bytes);

/// Everyone sends `bytes` to everyone else: in turn, each step to the one a step further away; or all at
/// once.
enum class AllToAll { Pairwise, AtOnce };
void all_to_all(ProgramBuilder& program, Group group, std::uint64_t bytes,
                AllToAll algorithm = AllToAll::Pairwise);

}  // namespace weft::workload
