// "High Performance Interconnect Network for Tianhe System" (004_bcf4e0dc106c4acb.txt), as it is printed.
#include "measure/validate/paper.hpp"

namespace weft::measure {

namespace {

WEFT_REGISTER(Paper,
              {"tianhe2",
               40,
               "High Performance Interconnect Network for Tianhe System",
               "Liao, Pang, Wang, Lu, Xie, Xia, Dong, Suo; National University of Defense Technology",
               "004_bcf4e0dc106c4acb.txt",
               {"tianhe2"},
               {drawing("Fig. 1", "Schematic for network router chip"),
                drawing("Fig. 2", "NIC architecture"),
                {"Fig. 3",
                 "Topology of TH Express-2 network",
                 "A drawing; what can be counted of it is. weft show tianhe2 --picture FILE draws ours.",
                 {},
                 {},
                 {"C15", "C41"}},
                drawing("Fig. 4", "Hardware protocol hierarchy"),
                drawing("Fig. 5", "Network protocol stack"),
                {"Fig. 6",
                 "MPI latency between neighbour nodes",
                 "Short messages in the pair's own buffers (PIO-ER) and in shared ones (PIO-SR). Published "
                 "without numbers: "
                 "ER is slightly lower.",
                 {},
                 {{"tianhe2: MPI latency between neighbour nodes"}},
                 {"V-TH2-05"}},
                {"Fig. 7",
                 "Average MPI latency vs number of MPI processes",
                 "Published without numbers: almost the same below 4 KB.",
                 {},
                 {{"tianhe2: Average MPI latency over processes on a node"}},
                 {"V-TH2-06"}},
                {"Table 1",
                 "Multi-Hop Latency",
                 "",
                 {{"hops", "latency", "fibre"},
                  {{{"1"}, {"760 ns", "V-TH2-01", "ns"}, {"0"}},
                   {{"3"}, {"952 ns", "V-TH2-03 3 hops", "ns"}, {"0"}},
                   {{"5"}, {"1254 ns", "V-TH2-03 5 hops", "ns"}, {"10 m x 2"}},
                   {{"7"}, {"1659 ns", "V-TH2-03 7 hops", "ns"}, {"10 m x 2 + 20 m x 2"}},
                   {{"9"}, {"1863 ns", "V-TH2-03 9 hops", "ns"}, {"10 m x 2 + 20 m x 2"}}}},
                 {{"tianhe2: Latency over hops"}},
                 {"V-TH2-04"}},
                {"Fig. 8",
                 "Unidirectional MPI bandwidth",
                 "Of the curves, the peak is published as a number; long messages go the same way with both "
                 "kinds of buffers.",
                 {},
                 {{"tianhe2: Unidirectional MPI bandwidth"}},
                 {"V-TH2-07"}},
                {"Fig. 9",
                 "Bidirectional MPI bandwidth",
                 "",
                 {},
                 {{"tianhe2: Bidirectional MPI bandwidth"}},
                 {"V-TH2-08"}},
                {"Fig. 10",
                 "Aggregated bandwidth",
                 "The paper's network scales are lost with its figure: its text gives 68.75% of the peak for "
                 "random pairs.",
                 {},
                 {{"tianhe2: Bandwidth of random pairs over nodes"},
                  {"tianhe2: Random pairs over candidate ports"}},
                 {"V-TH2-09", "V-TH2-10"}},
                {"Fig. 11",
                 "MPI-barrier latency",
                 "By interfaces and by messages, over nodes. Published without numbers.",
                 {},
                 {{"tianhe2: Barrier"}},
                 {"V-TH2-13"}}}});

}  // namespace

}  // namespace weft::measure
