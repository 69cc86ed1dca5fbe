// Running the programs of tests/mpi, and those Debian has, on simulated machines.
#pragma once

#include <string>
#include <vector>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {

using Words = std::vector<std::string>;

inline const std::string kPrograms = WEFT_BUILD "/mpi-programs/";

inline const Words kTorus{"torus", "--set", "topology.dims=[4,2,2]"};
inline const Words kTree{"fat-tree", "--set", "topology.children=[4,4]", "--set", "topology.parents=[1,2]"};

inline Words run_words(const Words& machine, unsigned ranks, const Words& command,
                       const Words& options = {}) {
  Words all{"run"};
  all.insert(all.end(), machine.begin(), machine.end());
  all.insert(all.end(), {"-n", std::to_string(ranks)});
  all.insert(all.end(), options.begin(), options.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

inline ProgramResult run_ranks(const Words& machine, unsigned ranks, const Words& command,
                               const Words& options = {}) {
  return run_program(run_words(machine, ranks, command, options));
}

/// Settings of a description as options.
inline Words sets(const Words& settings) {
  Words out;
  for (const std::string& s : settings) out.insert(out.end(), {"--set", s});
  return out;
}

/// Eight nodes on one router: a latency and a bandwidth. Processors and interfaces take no time; the buses
/// do.
inline Words plain(const Words& more = {}) {
  Words settings{"topology.dims=[1]",
                 "topology.endpoints_per_router=8",
                 "router.latency=1.5us",
                 "cable.default.lanes=1",
                 "cable.default.lane_rate=80Gbps",
                 "cable.default.coding=none",
                 "nic.header=0B",
                 "nic.occupancy=0ns",
                 "nic.send_latency=0ns",
                 "nic.receive_latency=0ns",
                 "nic.translation=none",
                 "host.bus=axi-128",
                 "host.write_latency=1ns",
                 "host.memory_read=0ns",
                 "host.post_cost=0ns",
                 "host.poll_cost=0ns",
                 "host.receive_cost=0ns",
                 "mpi.send_cost=0ns",
                 "mpi.receive_cost=0ns",
                 "mpi.match_cost=0ns",
                 "mpi.copy_rate=1000000Gbps"};
  settings.insert(settings.end(), more.begin(), more.end());
  Words out{"--engine", "ideal", "--quiet"};
  for (const std::string& s : sets(settings)) out.push_back(s);
  return out;
}

}  // namespace weft::test
