// Sections that only some tools look at. They are described, checked and listed like all others, and read
// again by those who need them, so that a machine's description does not grow with every tool.
#pragma once

#include "machine/description.hpp"

namespace weft::machine {

enum class Eager { Messages, Puts };

/// [software]: what a message-passing library adds to the interface, for the built-in experiments that
/// measure as the papers' benchmarks do.
struct SoftwareParameters {
  DataSize header{16};
  DataSize eager_limit{2048};
  Eager eager = Eager::Messages;
  Time send_cost{100'000};
  Time receive_cost{100'000};
  Time test_cost{50'000};
  DataRate copy_rate{40'000'000'000};
  DataSize get_size{65'536};
  unsigned gets = 4;
  bool register_each = false;
  Time send_delay{0};
  Time send_delay_per_kib{0};
};

/// [processor]: what computes on a node.
struct ProcessorParameters {
  std::string model;
  unsigned sockets = 1;
  unsigned cores = 1;
  unsigned threads_per_core = 1;
  Frequency clock{0};
  double flops_per_cycle = 0;
  std::string accelerator;
  unsigned accelerators = 0;
  double accelerator_gflops = 0;

  /// Peak of a node, GFLOP/s.
  double peak_gflops() const;
};

const config::Section& software_section();
const config::Section& processor_section();

SoftwareParameters software_of(const Description& description);
ProcessorParameters processor_of(const Description& description);

}  // namespace weft::machine
