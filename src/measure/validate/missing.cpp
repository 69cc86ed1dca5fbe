// Published figures that wait for something Weft does not have yet. Each has a row all the same, so that what
// is compared can be told from what is not.
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

constexpr const char* kExanest = "000_6c87cd3b5848a22e.txt ";
constexpr const char* kApenet = "001_4136bb8b984dee36.txt ";
constexpr const char* kNaa = "003_a07a75d9e8ce80e7.txt ";

std::string at(const char* paper, const char* place) { return std::string(paper) + place; }

constexpr const char *kAccelerators = "accelerators on a node's bus and on the network",
                     *kPower = "a model of power and cooling", *kStorage = "storage on nodes",
                     *kKernels = "times of application kernels on a node's processor",
                     *kWires = "a model of signal quality over frequency";

const std::vector<MissingFigure> kMissing{
    {"V-EXN-07", "latency of the adapter between bus and network", "a couple of cycles",
     at(kExanest, "section 2.1"), Basis::Structure, "the adapter as a part of its own in the description"},
    {"V-EXN-09", "LAMMPS with RDMA: time of communication", "40% less", at(kExanest, "section 5.3"),
     Basis::Predicted, kKernels},
    {"V-EXN-10", "miniMD's force kernel, processor and FPGA", "1.3 s and 0.56 s", at(kExanest, "section 5.3"),
     Basis::Calibrated, kAccelerators},
    {"V-EXN-11", "DPSNN on ARM nodes, 1 to 16 cores", "3044.4 s to 254.8 s", at(kExanest, "table 2"),
     Basis::Predicted, kKernels},
    {"V-EXN-12", "DPSNN on Intel nodes, 1 to 16 cores", "632.9 s to 40.7 s", at(kExanest, "table 2"),
     Basis::Predicted, kKernels},
    {"V-EXN-15", "delay of LAMMPS's packets on four topologies", "93.48 to 287.23 cycles",
     at(kExanest, "table 3"), Basis::Predicted, "delays of packets in comparisons, and the paper's trace"},
    {"V-EXN-16", "throughput of topologies up to millions of endpoints",
     "fat tree and dragonfly best, tori worst", at(kExanest, "figure 14"), Basis::Predicted,
     "minutes: `weft compare examples/topology-scaling.toml` has it, in the published order"},
    {"V-EXN-17", "MonetDB with and without a cache in NVM", "faster in every query",
     at(kExanest, "figure 13"), Basis::Predicted, kStorage},
    {"V-EXN-18", "PFFT and FFTW over 2 to 40 tasks", "PFFT no slower", at(kExanest, "figure 11"),
     Basis::Predicted, kKernels},
    {"V-APE-03", "rate of a link that the test bed can test", "24 Gb/s", at(kApenet, "section 3.3"),
     Basis::Structure, kWires},
    {"V-APE-04", "rate of a lane without errors", "3 Gb/s", at(kApenet, "section 3.3"), Basis::Calibrated,
     kWires},
    {"V-APE-05", "clock up to which the recovered clock is stable", "400 MHz", at(kApenet, "section 3.3"),
     Basis::Calibrated, kWires},
    {"V-APE-06", "clock up to which the latency is stable", "160 MHz", at(kApenet, "section 3.3"),
     Basis::Calibrated, kWires},
    {"V-APE-08", "QUOnG rack", "60 TFLOP/s, 26 kW", at(kApenet, "section 5"), Basis::Structure, kPower},
    {"V-APE-09", "latency between GPUs, InfiniBand over APEnet+", "3 times", at(kNaa, "section 3.2.5"),
     Basis::Predicted, kAccelerators},
    {"V-APE-10", "sending from GPU memory", "higher latency, less bandwidth", at(kNaa, "section 3.2.5"),
     Basis::Predicted, kAccelerators},
    {"V-EX1-14", "what a lower message rate does to RandomAccess and WRF", "proportional from 95% to 70%",
     at("002_b7c7371ed2ee2981.txt ", "section VI"), Basis::Predicted, "delays between messages of a program"},
    {"V-NAA-01", "time of communication with network-attached accelerators", "32 to 47% less",
     at(kNaa, "section 6.1"), Basis::Predicted, kAccelerators},
    {"V-NAA-02", "bandwidth with network-attached accelerators", "30% more", at(kNaa, "section 6.1"),
     Basis::Predicted, kAccelerators},
    {"V-NAA-03", "power usage effectiveness of GreenICE", "1.01", at(kNaa, "chapter 7"), Basis::Derived,
     kPower},
    {"V-NAA-04", "power of GreenICE's cooling", "50 W", at(kNaa, "section 6.2.3"), Basis::Structure, kPower},
    {"V-NAA-06", "heat removed from GreenICE", "10 kW", at(kNaa, "section 6.2"), Basis::Structure, kPower},
    {"V-NAA-07", "packing density over air and water cooling", "2 and 3.4 times", at(kNaa, "section 6.2.2"),
     Basis::Structure, kPower},
    {"V-NAA-08", "temperature of a chip without and with its coating", "100 and 80 C",
     at(kNaa, "section 5.4.8"), Basis::Calibrated, kPower},
    {"V-NAA-09", "heat flux of a KNC package", "180 kW/m2", at(kNaa, "section 2.5.3"), Basis::Structure,
     kPower},
    {"V-REF-01", "GPUs behind one PCIe switch", "10.6 GB/s, 7.7 us", at(kNaa, "table 3.1"), Basis::Calibrated,
     kAccelerators},
    {"V-REF-02", "GPUs behind two switches", "9.8 GB/s, 7.9 us", at(kNaa, "table 3.1"), Basis::Predicted,
     kAccelerators},
    {"V-REF-03", "GPUs over InfiniBand", "3.4 GB/s, 9.8 us", at(kNaa, "table 3.1"), Basis::Predicted,
     kAccelerators},
    {"V-REF-04", "GPUs over QPI", "4.0 GB/s, 32.1 us", at(kNaa, "table 3.1"), Basis::Predicted,
     kAccelerators},
    {"V-REF-05", "GPUDirect RDMA over staging", "69% less latency, twice the bandwidth",
     at(kNaa, "section 3.2.1"), Basis::Predicted, kAccelerators},
    {"V-REF-06", "bandwidth of rCUDA, of a local GPU's", "9.4% less", at(kNaa, "section 3.2.2"),
     Basis::Predicted, kAccelerators},
    {"V-REF-07", "PEACH2: between processors, between GPUs", "1.9 us, 2.3 us", at(kNaa, "section 3.2.4"),
     Basis::Predicted, kAccelerators},
    {"V-REF-08", "PCIe 3.0 x16 and a GPU's memory", "16 and 208 GB/s", at(kNaa, "section 1.2"),
     Basis::Structure, kAccelerators},
    {"V-REF-09", "power of a data centre: delivery, hardware, cooling", "28, 41, 31%",
     at(kNaa, "section 1.1"), Basis::Calibrated, kPower},
    {"V-REF-10", "systems of the Green500", "4.5 to 17.6 GFLOP/s per W", at(kNaa, "section 3.3"),
     Basis::Structure, kPower},
};

}  // namespace

const std::vector<MissingFigure>& missing_figures() { return kMissing; }

}  // namespace weft::measure
