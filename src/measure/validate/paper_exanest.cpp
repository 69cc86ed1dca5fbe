// "Next generation of Exascale-class systems: ExaNeSt" (000_6c87cd3b5848a22e.txt), as it is printed.
#include "measure/validate/paper.hpp"

namespace weft::measure {

namespace {

constexpr const char* kKernels = "times of application kernels on a node's processor";

WEFT_REGISTER(
    Paper,
    {"exanest",
     20,
     "Next generation of Exascale-class systems: ExaNeSt project and the status of its interconnect and "
     "storage "
     "development",
     "Katevenis, Ammendola, Biagioni and others; FORTH, INFN, INAF, University of Manchester and others",
     "000_6c87cd3b5848a22e.txt",
     {"exanest-trenz", "exanest-track1", "exanest-track2", "topologies"},
     {drawing("Fig. 1", "The building blocks of the ExaNeSt interconnect and the different Tiers"),
      drawing("Fig. 2", "The Quad FPGA daughterboard"),
      {"Table 1",
       "The ExaNeSt Track-1 and Track-2 overview",
       "An endpoint of ours is an FPGA with its cores. Memory of a node is no part of a description yet.",
       {{"", "Track-1", "Track-2"},
        {{{"cores per blade"}, {"64", "Track-1 cores per blade"}, {"256", "Track-2 cores per blade"}},
         {{"memory per blade, GB"}, {"256"}, {"1024"}},
         {{"FPGAs per blade"}, {"16", "Track-1 FPGAs per blade"}, {"64", "Track-2 FPGAs per blade"}},
         {{"cores per chassis"}, {"576", "Track-1 cores per chassis"}, {"1536", "Track-2 cores per chassis"}},
         {{"FPGAs per chassis (printed: per blade)"},
          {"144", "Track-1 FPGAs per chassis"},
          {"384", "Track-2 FPGAs per chassis"}},
         {{"cores per rack"}, {"1728", "Track-1 cores per rack"}, {"15,360", "Track-2 cores per rack"}},
         {{"memory per rack, GB"}, {"6912"}, {"61,440"}},
         {{"FPGAs per rack (printed: per blade)"}, {"432", "C20 Track-1"}, {"3840", "C20 Track-2"}}}}},
      drawing("Fig. 3", "Traditional storage subsystem, and the ExaNeSt storage subsystem"),
      drawing("Fig. 4", "BeeGFS extended into a two-tier architecture"),
      drawing("Fig. 5", "ExaNet Trenz-based prototype"),
      drawing("Fig. 6", "Integration SoC-level design"),
      {"Fig. 7",
       "One-way packet latency versus packet size for a single hop configuration",
       "Published in numbers: about 1.2 us below 16 B, approaching 2 us at 256 B, linear between.",
       {},
       {{"exanest-trenz: One-way latency over packet size, one hop"}},
       {"V-EXN-01", "V-EXN-02"}},
      {"Fig. 8",
       "One-way packet latency versus packet size for a double hop configuration",
       "Published in numbers: about 1.6 us for small packets.",
       {},
       {{"exanest-trenz: One-way latency over packet size, two hops"}},
       {"V-EXN-03", "V-EXN-04"}},
      drawing("Fig. 9", "AXI Trenz-based prototype"),
      {"Table 2",
       "DPSNN runtimes",
       "Seconds for 5000 ms of a network of 8 x 8 columns of 1250 neurons.",
       {{"nodes / cores", "ARM", "Intel"},
        {{{"1 / 1"}, {"3044.4"}, {"632.9"}},
         {{"2 / 2"}, {"1530.5"}, {"336.0"}},
         {{"2 / 4"}, {"777.3"}, {"181.6"}},
         {{"4 / 8"}, {"437.0"}, {"83.2"}},
         {{"4 / 16"}, {"254.8"}, {"40.7"}}}},
       {},
       {"V-EXN-11", "V-EXN-12"},
       kKernels},
      {"Fig. 10", "Weak scaling for GADGET on Trenz board", "", {}, {}, {}, kKernels},
      {"Fig. 11", "Execution times of FFTW and PFFT", "", {}, {}, {"V-EXN-18"}, kKernels},
      drawing("Fig. 12", "Set-up and flow of control of the Air Traffic benchmark"),
      {"Fig. 13",
       "Execution times of Air Traffic benchmark queries, with and without a further layer of cache",
       "Published without numbers: every query is faster with NVM, q08 by far. Sizes of ours are drawn.",
       {},
       {{"exanest-trenz: Execution times of queries, with and without NVM"}},
       {"V-EXN-17"}},
      {"Fig. 14",
       "Scalability analysis of state-of-the-art topologies",
       "Published without numbers: fat tree and dragonfly lead, jellyfish scales but is weak when small, "
       "tori "
       "are last, the 3D torus far behind.",
       {},
       {{"topologies: Aggregated throughput over endpoints"}},
       {"V-EXN-16"}},
      {"Table 3",
       "Application simulation results",
       "LAMMPS on four networks. The paper's trace, sizes and placement are not published: ours is an "
       "exchange with "
       "six neighbours by 512 ranks, so its times are shorter; what can agree is the order and the ratio to "
       "the torus.",
       {{"", "exec. time, ms", "to the torus", "avg. distance, hops", "avg. delay, cycles"},
        {{{"Dragonfly"},
          {"1202.06", "dragonfly time", "ms"},
          {"3.23", "dragonfly relative time"},
          {"3.53", "dragonfly distance"},
          {"287.23", "dragonfly delay"}},
         {{"Fattree"},
          {"611.97", "fat tree time", "ms"},
          {"1.64", "fat tree relative time"},
          {"3.06", "fat tree distance"},
          {"199.13", "fat tree delay"}},
         {{"Jellyfish"},
          {"958.21", "jellyfish time", "ms"},
          {"2.57", "jellyfish relative time"},
          {"3.48", "jellyfish distance"},
          {"222.67", "jellyfish delay"}},
         {{"Torus"},
          {"372.12", "torus time", "ms"},
          {"1", "torus relative time"},
          {"1.80", "torus distance"},
          {"93.48", "torus delay"}}}},
       {},
       {"V-EXN-13", "V-EXN-14", "V-EXN-15"}}}});

}  // namespace

}  // namespace weft::measure
