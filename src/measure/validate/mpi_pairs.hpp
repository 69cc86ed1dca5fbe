// Pairs of MPI ranks on two nodes, measured as a user would: validation/pairs.c, compiled by mpicc, run by
// `weft run`. So what is compared with a paper is what programs get.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "measure/validate/figure.hpp"

namespace weft::measure {

struct MpiPairs {
  unsigned pairs = 1;
  std::string engine = "ideal";            // two nodes and nobody else: nothing to wait for but each other
  std::vector<std::string> settings = {};  // below those of the user
};

/// Values by size in bytes: of `words`, what comes before the sizes ({"latency", "10"}).
/// Throws UserError with what the run said where it fails.
std::vector<std::pair<double, double>> run_pairs(const Trial& trial, const MpiPairs& how,
                                                 std::vector<std::string> words,
                                                 const std::vector<std::uint64_t>& sizes);

/// What `weft run` of this build prints for a program of the folder `validation`; `words` come between.
/// Throws UserError with what the run said where it fails.
std::string run_validation_program(std::vector<std::string> words, const std::string& program,
                                   const std::vector<std::string>& arguments);

/// What a script of examples/ prints. Throws UserError where it fails.
std::string run_example(const std::string& script, const std::vector<std::string>& arguments);

/// The mean time of a barrier of so many ranks, one on a node, in nanoseconds (validation/barrier.c);
/// `collectives` as for `weft run`.
double run_barrier(const Trial& trial, unsigned ranks, const std::string& collectives);

}  // namespace weft::measure
