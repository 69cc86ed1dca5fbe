// Figures of accelerators: kernels on ExaNeSt's FPGA, GPUs over APEnet+ and InfiniBand.
#include "measure/lab/accelerators.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/description.hpp"
#include "measure/lab/workload_file.hpp"
#include "measure/validate/figure.hpp"
#include "node/kernels.hpp"

namespace weft::measure {

namespace {

void force_kernel(Trial& trial) {
  const machine::Machine m = trial.machine();
  const lab::ForceKernel how = lab::force_kernel_workload();
  const double pairs = 1.0 * how.atoms * how.neighbours * how.evaluations;
  trial.give("V-EXN-10", "processor",
             pairs * node::kPairOperations / (m.description.processor.peak_gflops() * 1e9 * how.efficiency),
             "all cores of the node, and no accelerator");
  const lab::ForceTimes times = lab::force_times(m, "fpga", how.neighbours);
  Plot plot{"Time of the force kernel over blocks",
            "exanest-trenz",
            "Blocks of the FPGA share its way to memory; the paper gives one time, and says that more than "
            "eight help "
            "little.",
            "blocks",
            "s",
            false,
            false,
            {{"ours", Series::Look::Ours, {}}}};
  std::vector<double> seconds;
  for (double one : times.picoseconds) seconds.push_back(one * 1e-12 * pairs / times.pairs);
  for (std::size_t i = 0; i < seconds.size(); ++i)
    plot.series[0].points.emplace_back(static_cast<double>(i + 1), seconds[i]);
  trial.plots.push_back(plot);
  trial.give(
      "V-EXN-10", "FPGA", seconds.back(),
      fmt::format("computed on {:.0f} pairs, of {:.0f}; in the middle of the crystal the force is {:.1e}",
                  times.pairs, pairs, times.force_in_the_middle));
  std::size_t enough = 1;  // blocks; one more makes it faster by less than a tenth
  while (enough < seconds.size() && seconds[enough] < 0.9 * seconds[enough - 1]) ++enough;
  trial.give("V-EXN-10", "blocks", static_cast<double>(enough));
}

WEFT_REGISTER(ExperimentKind, {"exanest-trenz/kernel",
                               32,
                               "exanest-trenz",
                               {{"V-EXN-10", "processor", "miniMD's force kernel on four cores", "s", 1.3,
                                 percent_off(2), Basis::Calibrated, true, "section 5.3"},
                                {"V-EXN-10", "FPGA", "miniMD's force kernel on the FPGA", "s", 0.56,
                                 percent_off(2), Basis::Calibrated, true, "section 5.3"},
                                {"V-EXN-10",
                                 "blocks",
                                 "blocks after which more help little",
                                 "blocks",
                                 8,
                                 points_off(0.5),
                                 Basis::Derived,
                                 true,
                                 "section 5.3",
                                 {"V-EXN-10"}}},
                               force_kernel});

/// Where the latencies of the cards are from: the group's own paper of 2013 on GPUs that they read and write.
constexpr const char* kPeerToPeer =
    "Ammendola et al., GPU peer-to-peer techniques applied to a cluster interconnect, arXiv:1307.8276; from "
    "memory, its text was not at hand";

/// Short messages between GPUs of two nodes: by puts, and over InfiniBand, which knows no memory of theirs.
void between_gpus(Trial& trial) {
  constexpr std::uint64_t kShort = 32;
  const lab::DevicePair both;
  lab::DevicePair processors;
  processors.from_device = processors.to_device = false;
  const machine::Machine cards = trial.machine(),
                         other = machine::build(machine::describe("infiniband-qdr", {}));
  const double peers = lab::device_put_latency_ns(cards, both, kShort);
  const double staged = lab::device_library_latency_ns(other, both, kShort);
  trial.give("V-APE-09", "processors", lab::device_put_latency_ns(cards, processors, kShort) * 1e-3);
  trial.give("V-APE-09", "GPUs", peers * 1e-3);
  trial.give("V-APE-09", "", staged / peers,
             fmt::format("32 B: {:.1f} us with two copies and MPI over InfiniBand, {:.1f} us by a put "
                         "between GPUs, which rests "
                         "on a published latency that is not checked",
                         staged * 1e-3, peers * 1e-3));
}

WEFT_REGISTER(ExperimentKind, {"apenet-plus/gpu",
                               63,
                               "apenet-plus",
                               {{"V-APE-09", "processors", "latency of a put between memory of processors",
                                 "us", 6.3, percent_off(2), Basis::Calibrated, true, kPeerToPeer},
                                {"V-APE-09",
                                 "GPUs",
                                 "latency of a put between GPUs",
                                 "us",
                                 8.2,
                                 percent_off(10),
                                 Basis::Predicted,
                                 true,
                                 kPeerToPeer,
                                 {"V-APE-01", "V-APE-09 processors"}},
                                {"V-APE-09",
                                 "",
                                 "latency between GPUs, InfiniBand over APEnet+",
                                 "times",
                                 3,
                                 percent_off(25),
                                 Basis::Predicted,
                                 true,
                                 "003_a07a75d9e8ce80e7.txt section 3.2.5",
                                 {"V-APE-01", "V-APE-09 processors", "C2"}}},
                               between_gpus});

/// The same put from memory of a GPU and from that of the processor.
void from_gpus(Trial& trial) {
  constexpr std::uint64_t kShort = 32, kLong = 1 << 20;
  const machine::Machine m = trial.machine();
  lab::DevicePair from_gpu, from_host;
  from_gpu.to_device = from_host.from_device = from_host.to_device = false;
  const double host_latency = lab::device_put_latency_ns(m, from_host, kShort);
  const double gpu_latency = lab::device_put_latency_ns(m, from_gpu, kShort);
  trial.give("V-APE-10", "latency", gpu_latency / host_latency,
             fmt::format("a put of 32 B: {:.2f} us from memory of the GPU, {:.2f} us from the processor's",
                         gpu_latency * 1e-3, host_latency * 1e-3));
  const double host_rate = lab::device_put_bandwidth(m, from_host, kLong);
  const double gpu_rate = lab::device_put_bandwidth(m, from_gpu, kLong);
  trial.give("V-APE-10", "bandwidth", host_rate / gpu_rate,
             fmt::format("puts of 1 MiB: {:.2f} GB/s from the GPU, {:.2f} GB/s from the processor's memory",
                         gpu_rate * 1e-9, host_rate * 1e-9));
  const machine::Machine mended =
      trial.machine({"node.device.gpu.peer_reads=64", "node.device.gpu.peer_read_latency=1.2us"});
  trial.give("V-APE-10", "mended", lab::device_put_bandwidth(mended, from_gpu, kLong) / gpu_rate,
             "with gpu.peer_reads = 64 and gpu.peer_read_latency = 1.2 us");
}

WEFT_REGISTER(ExperimentKind, {"apenet-plus/gpu-reads",
                               64,
                               "apenet-plus",
                               {{"V-APE-10",
                                 "latency",
                                 "a put from memory of a GPU, over one from the processor's",
                                 "times",
                                 1,
                                 at_least(),
                                 Basis::Predicted,
                                 true,
                                 "003_a07a75d9e8ce80e7.txt section 3.2.5: higher",
                                 {"V-APE-01", "V-APE-07"}},
                                {"V-APE-10",
                                 "bandwidth",
                                 "from the processor's memory, over that of a GPU",
                                 "times",
                                 1,
                                 at_least(),
                                 Basis::Predicted,
                                 true,
                                 "003_a07a75d9e8ce80e7.txt section 3.2.5: less from a GPU",
                                 {"V-APE-01", "V-APE-07"}},
                                {"V-APE-10",
                                 "mended",
                                 "bandwidth from a GPU with more and faster reads, over that before",
                                 "times",
                                 1,
                                 at_least(),
                                 Basis::Predicted,
                                 true,
                                 "003_a07a75d9e8ce80e7.txt section 3.2.5: solved in a later paper",
                                 {"V-APE-01", "V-APE-07"}}},
                               from_gpus});

}  // namespace

}  // namespace weft::measure
