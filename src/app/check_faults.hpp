// `weft check --faults`: what failures of cables and routers do to a machine's routing.
#pragma once

#include "app/command_line.hpp"
#include "machine/machine.hpp"

namespace weft::app {

struct FaultCheckOptions {
  unsigned faults = 0;
  std::uint64_t cases = 200;
  std::uint64_t singles = 0;
  std::uint64_t seed = 1;
  void declare(CommandLine& app);
};

/// Prints the survey; the exit code is 0 when after every failure looked at some proved relation serves all
/// pairs that still have a route.
int check_faults(const machine::Machine& machine, const FaultCheckOptions& options, unsigned threads,
                 bool json);

}  // namespace weft::app
