// What the built-in programs of an experiment compute and send: files of profiles/workloads/, each value with
// its source.
#pragma once

#include <string>
#include <vector>

#include "measure/lab/benchmarks.hpp"

namespace weft::measure::lab {

/// Throws UserError with every error found.
RandomUpdates read_random_updates(const std::string& path);
HaloExchange read_halo_exchange(const std::string& path);

/// Those that come with Weft.
RandomUpdates random_access_workload();
HaloExchange weather_workload();
/// Forces between atoms, as miniMD computes them: on a node's processor, or on an accelerator.
struct ForceKernel {
  unsigned atoms = 0, neighbours = 0, evaluations = 0;
  double efficiency = 0;  // of the processor's peak
};
ForceKernel force_kernel_workload();

/// What two ranks of a molecular dynamics program send each other, one message at a time both ways at once:
/// in each step, and instead of that in a step in which atoms move to other ranks and lists of neighbours are
/// built.
struct AtomExchange {
  unsigned steps = 0;                      // from one such step to the next
  std::vector<unsigned> step, lists = {};  // bytes
};
/// LAMMPS's benchmarks of a melt and of a metal, as it ran here on two ranks.
AtomExchange melt_workload();
AtomExchange metal_workload();

struct WorkloadValue {
  std::string workload, key, value, source;
};
/// All values of the workloads that come with Weft.
std::vector<WorkloadValue> workload_values();

}  // namespace weft::measure::lab
