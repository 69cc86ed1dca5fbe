// "APEnet+: high bandwidth 3D torus direct network" (001_4136bb8b984dee36.txt), as it is printed.
#include "measure/validate/paper.hpp"

namespace weft::measure {

namespace {

constexpr const char* kSignals = "a model of signal quality over frequency";

WEFT_REGISTER(
    Paper, {"apenet",
            10,
            "APEnet+: high bandwidth 3D torus direct network for petaflops scale commodity clusters",
            "Ammendola, Biagioni, Frezza, Lo Cicero, Lonardo, Paolucci, Rossetti, Salamon, Salina, Simula, "
            "Tosoratto, "
            "Vicini; INFN",
            "001_4136bb8b984dee36.txt",
            {"apenet-plus"},
            {drawing("Figure 1", "Internal FPGA block architecture"),
             {"Table 1",
              "Evolution of the APElink cards",
              "The older card is not described here.",
              {{"", "APElink", "APElink+"},
               {{{"FPGA component"}, {"Altera Stratix S30"}, {"Altera Stratix IV GX 290"}},
                {{"links"}, {"6"}, {"4/6", "APElink+ links"}},
                {{"link technology"}, {"external National ser/des"}, {"embedded Altera transceivers"}},
                {{"link cables"}, {"LVDS"}, {"QSFP+ standard"}},
                {{"raw link speed"}, {"6 Gbps"}, {"34 Gbps", "V-APE-02", "Gb/s"}},
                {{"host interface"}, {"PCI-X 133 MHz"}, {"PCIe X8 Gen2"}},
                {{"peak host bandwidth"}, {"1 GB/s"}, {"4+4 GB/s", "V-APE-07", "GB/s each way"}}}}},
             drawing("Figure 2", "APElink+ board"),
             drawing("Figure 3", "Assembled APElink+ test system"),
             {"Figure 4", "Eye diagram at 5 Gbps on the development kit", "", {}, {}, {}, kSignals},
             {"Figure 5", "Eye diagram at 3 Gbps on the mezzanine card", "", {}, {}, {"V-APE-04"}, kSignals},
             {"Figure 6",
              "Recovered clock stability check at 40 MHz",
              "Traces of an oscilloscope; its text says up to which clock it was stable.",
              {},
              {},
              {"V-APE-05"}},
             {"Figure 7",
              "Latency measurement at 40 MHz",
              "Traces of an oscilloscope; its text says up to which clock it was stable.",
              {},
              {},
              {"V-APE-03", "V-APE-06"}}}});

}  // namespace

}  // namespace weft::measure
