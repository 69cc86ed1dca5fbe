// What a report shows of a run beyond sums: what each rank did over time, its calls to MPI, what crossed the
// network when.
#pragma once

#include "measure/run/mpi_profile.hpp"
#include "measure/run/rank_times.hpp"
#include "measure/run/root_causes.hpp"
#include "measure/run/transfers.hpp"

namespace weft::measure {

struct RunDetails {
  explicit RunDetails(unsigned ranks) : times(ranks) {}

  RankTimes times;
  MpiProfile mpi;
  Transfers transfers;
  RunAnswer answer;
};

}  // namespace weft::measure
