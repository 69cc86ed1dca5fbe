// Published figures that wait for something Weft does not have yet. Each has a row all the same, so that what
// is compared can be told from what is not.
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

constexpr const char* kExanest = "000_6c87cd3b5848a22e.txt ";
constexpr const char* kApenet = "001_4136bb8b984dee36.txt ";
constexpr const char* kNaa = "003_a07a75d9e8ce80e7.txt ";

std::string at(const char* paper, const char* place) { return std::string(paper) + place; }

constexpr const char *kAccelerators =
                         "a description of the node that was measured, with what is between its GPUs",
                     *kKernels = "times of application kernels on a node's processor",
                     *kWires = "a model of signal quality over frequency";

const std::vector<MissingFigure> kMissing{
    {"V-EXN-11", "DPSNN on ARM nodes, 1 to 16 cores", "3044.4 s to 254.8 s", at(kExanest, "table 2"),
     Basis::Predicted, kKernels},
    {"V-EXN-12", "DPSNN on Intel nodes, 1 to 16 cores", "632.9 s to 40.7 s", at(kExanest, "table 2"),
     Basis::Predicted, kKernels},
    {"V-EXN-18", "PFFT and FFTW over 2 to 40 tasks", "PFFT no slower", at(kExanest, "figure 11"),
     Basis::Predicted, kKernels},
    {"V-APE-04", "rate of a lane without errors", "3 Gb/s", at(kApenet, "section 3.3"), Basis::Calibrated,
     kWires},
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
     at(kNaa, "section 1.1"), Basis::Calibrated,
     "a description of such a data centre: the paper quotes the split, and nothing of what it consists of"},
    {"V-REF-10", "systems of the Green500", "4.5 to 17.6 GFLOP/s per W", at(kNaa, "section 3.3"),
     Basis::Structure, "descriptions of those machines, which the paper quotes and does not describe"},
};

}  // namespace

const std::vector<MissingFigure>& missing_figures() { return kMissing; }

}  // namespace weft::measure
