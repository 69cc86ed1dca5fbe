// A trace as the Open Trace Format 2 has it, for Vampir, Scalasca and their like.
#pragma once

#include <string>
#include <vector>

#include "abi/mpi_calls.hpp"
#include "base/quantity.hpp"
#include "host/call_log.hpp"
#include "measure/run/wait_recorder.hpp"

namespace weft::report {

struct Otf2Run {
  std::string machine;
  std::vector<std::uint32_t> nodes;                        // of each rank
  const std::vector<std::vector<abi::CallRecord>>& calls;  // of each rank, in the order of their ends
  const std::vector<measure::Arrival>& arrivals;
  Time end{0};
};

/// Writes an archive into a folder that is not there yet, or throws UserError. Calls of each rank's first
/// thread are regions. What crossed the network between ranks is a message, whatever MPI made it of: numbered
/// by its tag, so that readers match sends and receives as they were.
void write_otf2(const std::string& folder, const Otf2Run& run);

/// Refuses a folder that is there, before a run whose trace it would not take.
void check_otf2_folder(const std::string& folder);

}  // namespace weft::report
