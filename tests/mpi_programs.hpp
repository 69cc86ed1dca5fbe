// Running the programs of tests/mpi, and those Debian has, on simulated machines.
#pragma once

#include <string>
#include <vector>

#include "run_program.hpp"

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
  return run_program(run_words(machine, ranks, command, options), 100);
}

}  // namespace weft::test
