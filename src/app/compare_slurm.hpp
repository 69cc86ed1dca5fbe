// Points of a comparison as a Slurm job array.
#pragma once

#include <string>
#include <vector>

namespace weft::app {

/// Submits one task for each point and waits for all of them. Throws UserError where sbatch cannot be run or
/// refuses.
void run_slurm(const std::string& spec, const std::string& folder, const std::vector<std::size_t>& points,
               const std::string& options);

}  // namespace weft::app
