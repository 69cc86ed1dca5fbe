// The figures of the ExaNeSt paper (000_6c87cd3b5848a22e.txt) that its test bed gives.
#include <fmt/format.h>

#include "machine/description.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/validate/mpi_pairs.hpp"

namespace weft::measure {

namespace {

using lab::PairSetup;

void latency(Trial& trial) {
  machine::Machine m = trial.machine();
  Plot plot{"Latency over packet size",
            "exanest-trenz",
            "Half a round trip between bare-metal programs over packetizer and mailbox, which carry 32 B at "
            "a time.",
            "bytes",
            "ns",
            false,
            false,
            {}};
  PairSetup one, two;
  one.engine = two.engine = "flit";
  two.nodes = {{0, 3}};  // across the square
  double first = 0, second = 0;
  for (auto [setup, name] : {std::pair{&one, "ours, one hop"}, {&two, "ours, two hops"}}) {
    Series series{name, Series::Look::Ours, {}};
    for (std::uint64_t bytes : {8u, 16u, 32u, 64u, 96u, 128u, 160u, 192u, 224u, 256u})
      series.points.emplace_back(bytes, lab::message_latency_ns(m, *setup, bytes));
    (setup == &one ? first : second) = series.points.front().second;
    if (setup == &one) trial.give("V-EXN-02", "", series.points.back().second);
    plot.series.push_back(std::move(series));
  }
  plot.series.push_back({"published", Series::Look::Published, {{8, 1200}, {256, 2000}, {8, 1600}}});
  trial.plots.push_back(std::move(plot));
  trial.give("V-EXN-01", "", first);
  trial.give("V-EXN-03", "", second);
  trial.give("V-EXN-04", "", second - first);
  MpiPairs mpi;
  mpi.engine = "flit";
  trial.give(
      "V-EXN-05", "", run_pairs(trial, mpi, {"latency", "20"}, {8}).front().second,
      fmt::format("MPI; published is a range, 1 to 2 us, and the interface's own operation takes {:.0f} ns",
                  first));
  trial.give("V-EXN-06", "",
             static_cast<double>(m.description.host.cache_read.value) * 1e-12 *
                 static_cast<double>(m.description.processor.clock.value));
}

WEFT_REGISTER(ExperimentKind,
              {"exanest-trenz/latency",
               30,
               "exanest-trenz",
               {{"V-EXN-01", "", "one-way latency, one hop, less than 16 B", "ns", 1200, percent_off(5),
                 Basis::Calibrated, true, "section 6.1, figure 7"},
                {"V-EXN-02", "", "one-way latency, one hop, 256 B", "ns", 2000, percent_off(5),
                 Basis::Calibrated, true, "section 6.1, figure 7"},
                {"V-EXN-03",
                 "",
                 "one-way latency, two hops, less than 16 B",
                 "ns",
                 1600,
                 percent_off(5),
                 Basis::Derived,
                 true,
                 "section 6.1, figure 8",
                 {"V-EXN-01", "V-EXN-04"}},
                {"V-EXN-04", "", "latency of a further hop", "ns", 400, percent_off(5), Basis::Calibrated,
                 true, "section 6.1"},
                {"V-EXN-05",
                 "",
                 "a small message between applications",
                 "ns",
                 1500,
                 points_off(500),
                 Basis::Predicted,
                 true,
                 "section 1: 1 to 2 us",
                 {"V-EXN-01"},
                 Figure::Open{"the paper's MPI sends by rendezvous only (section 4.2), three messages "
                              "for one; without MPI a message is within the range",
                              "which path the paper's applications used, which it does not say"}},
                {"V-EXN-06", "", "reading a mailbox, cycles of the processor", "cycles", 20, percent_off(5),
                 Basis::Calibrated, true, "section 2.1"}},
               latency});

}  // namespace

}  // namespace weft::measure
