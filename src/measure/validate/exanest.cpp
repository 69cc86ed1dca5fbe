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
  PairSetup one, two;
  one.engine = two.engine = "flit";
  two.nodes = {{0, 3}};  // across the square
  auto over_size = [&](const char* title, const PairSetup& setup,
                       std::vector<std::pair<double, double>> published) {
    Plot plot{
        title,
        "exanest-trenz",
        "Half a round trip between bare-metal programs over packetizer and mailbox, which carry 32 B at a "
        "time.",
        "bytes",
        "us",
        false,
        false,
        {{"ours", Series::Look::Ours, {}}, {"published", Series::Look::Published, std::move(published)}}};
    for (std::uint64_t bytes : {8u, 16u, 32u, 64u, 96u, 128u, 160u, 192u, 224u, 256u})
      plot.series[0].points.emplace_back(bytes, lab::message_latency_ns(m, setup, bytes) * 1e-3);
    trial.plots.push_back(plot);
    return plot.series[0].points;
  };
  auto near = over_size("One-way latency over packet size, one hop", one, {{8, 1.2}, {256, 2}});
  auto far = over_size("One-way latency over packet size, two hops", two, {{8, 1.6}});
  const double first = near.front().second * 1e3, second = far.front().second * 1e3;
  trial.give("V-EXN-02", "", near.back().second * 1e3);
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

/// What the adapters at both ends add to a put, in cycles of the programmable logic.
void adapter(Trial& trial) {
  constexpr double kLogicClock = 150e6;  // section 6.2
  machine::Machine with = trial.machine();
  std::vector<std::string> settings = trial.settings();
  settings.push_back("nic.adapter_latency=0ns");
  machine::Machine without = machine::build(machine::describe(trial.machine_name(), settings));
  const std::uint64_t bytes = 256;
  double both = lab::put_latency_ns(with, {}, bytes) - lab::put_latency_ns(without, {}, bytes);
  trial.give("V-EXN-07", "", both / 2 * 1e-9 * kLogicClock,
             "a put of 256 B with the adapters less one without");
}

WEFT_REGISTER(ExperimentKind,
              {"exanest-trenz/adapter",
               31,
               "exanest-trenz",
               {{"V-EXN-07", "", "latency of the adapter between bus and network", "cycles", 2,
                 points_off(0.5), Basis::Calibrated, true, "section 2.1: a couple of cycles"}},
               adapter});

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
