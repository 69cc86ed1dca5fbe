#include "machine/processor.hpp"

#include <cmath>

namespace weft::machine {

using config::Range;

Frequency ProcessorParameters::pace() const {
  return {static_cast<std::int64_t>(std::llround(static_cast<double>(clock.value) * work_per_cycle))};
}

double ProcessorParameters::peak_gflops() const {
  return sockets * cores * static_cast<double>(clock.value) * 1e-9 * flops_per_cycle +
         accelerators * accelerator_gflops;
}

const config::Section& processor_section() {
  using P = ProcessorParameters;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::model, "model", "What the processor is called")
          .field(&P::sockets, "sockets", "Processors of a node", Range<unsigned>{0, 64})
          .field(&P::cores, "cores", "Cores of a processor", Range<unsigned>{1, 4096})
          .field(&P::threads_per_core, "threads_per_core", "Hardware threads of a core",
                 Range<unsigned>{1, 64})
          .field(&P::clock, "clock", "Clock of a core; 0: not given",
                 Range<Frequency>{{0}, {100'000'000'000}})
          .field(
              &P::nominal_clock, "nominal_clock",
              "The clock at which the processor's times in this description hold: host.post_cost, poll_cost, "
              "receive_cost, cache_read and system_call, the costs of MPI, and what a program computes "
              "between its calls "
              "(host.compute); 0: they follow no clock",
              Range<Frequency>{{0}, {100'000'000'000}})
          .field(&P::work_per_cycle, "work_per_cycle",
                 "What a core does of such work in a cycle, where those the times hold for do 1",
                 Range<double>{0.001, 1000})
          .field(&P::flops_per_cycle, "flops_per_cycle",
                 "Double-precision operations of a core in a cycle; 0: not given", Range<double>{0, 1024})
          .field(&P::accelerator, "accelerator", "What a node's accelerators are called")
          .field(&P::accelerators, "accelerators", "Accelerators of a node", Range<unsigned>{0, 64})
          .field(&P::accelerator_gflops, "accelerator_gflops", "Peak of an accelerator, GFLOP/s",
                 Range<double>{0, 1e6})
          .field(
              &P::share_cores, "share_cores",
              "Do ranks and threads that compute at a time share the cores of their node? Then what they do "
              "takes longer where they are more than its cores; otherwise each has a core of its own")
          .field(&P::share_quantum, "share_quantum",
                 "For how long a share holds that a rank has at the beginning of its work: it is found out "
                 "anew each time the rank goes on, and after this",
                 Range<Time>{{1'000'000}, {1'000'000'000'000}})
          .section();
  return section;
}

}  // namespace weft::machine
