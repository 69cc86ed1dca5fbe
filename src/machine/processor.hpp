// What computes on a node ([processor]): what its peak is, and what predictions are bounded by.
#pragma once

#include <string>

#include "base/quantity.hpp"
#include "config/schema.hpp"

namespace weft::machine {

struct ProcessorParameters {
  std::string model;
  unsigned sockets = 1;
  unsigned cores = 1;
  unsigned threads_per_core = 1;
  Frequency clock{0}, nominal_clock{0};
  double work_per_cycle = 1;
  double flops_per_cycle = 0;
  std::string accelerator;
  unsigned accelerators = 0;
  double accelerator_gflops = 0;
  bool share_cores = false;
  Time share_quantum{1'000'000'000};

  /// The clock at which the cores that times hold for would be as fast as these.
  Frequency pace() const;
  /// Peak of a node, GFLOP/s.
  double peak_gflops() const;
  unsigned all_cores() const { return sockets * cores; }
};

const config::Section& processor_section();

}  // namespace weft::machine
