// What a run of this program costs: time, processor time of everything in it, and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

struct Cost {
  bool fine = false;
  double wall = 0, cpu = 0;
  std::uint64_t most_bytes = 0;     // of all processes together
  std::uint64_t below_bytes = 0;    // of those it has started, the simulator left out
  std::uint64_t largest_bytes = 0;  // of the largest of all processes
};

/// Runs this program with other arguments. `weigh`: also looks at the memory of all it has started now and
/// then.
Cost run_weft(std::vector<std::string> arguments, bool weigh);
/// Runs a command, of words.
Cost run_command(std::vector<std::string> words, bool weigh = false);

}  // namespace weft::bench
