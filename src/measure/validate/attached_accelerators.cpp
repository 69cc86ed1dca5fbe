// Accelerators that are attached to the network, against accelerators in servers. The thesis has these
// figures from Neuwirth, Frey, Nuessle and Bruening, "Scalable communication architecture for
// network-attached accelerators", HPCA 2015, whose abstract says what was measured: latency and bandwidth of
// MPI, and the time of LAMMPS's communication between nodes, on a prototype of Intel Xeon Phi and EXTOLL.
// That was the one of FPGAs (section 5.1 of the thesis).
#include <fmt/format.h>

#include <algorithm>

#include "machine/description.hpp"
#include "measure/lab/accelerators.hpp"
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

constexpr const char* kServers = "extoll-tourmalet";
constexpr const char* kDevice = "knc";

/// The same cards in servers: the server's processor runs MPI, and the interface does not reach the
/// accelerator. A server's accelerator has sixteen lanes of its own; ours shares the one bus of its node.
machine::Machine in_servers(const Trial& trial) {
  const machine::ProcessorParameters server = machine::describe(kServers, {}).processor;
  std::vector<std::string> settings{
      "node.device.knc.path=staged",
      "node.device.knc.os=none",
      "host.bus=pcie-gen2-x16",
      fmt::format("processor.sockets={}", server.sockets),
      fmt::format("processor.clock={}kHz", server.clock.value / 1000),
      fmt::format("processor.work_per_cycle={}", server.work_per_cycle),
      fmt::format("mpi.copy_rate={}bps", machine::describe(kServers, {}).mpi.copy_rate.value)};
  settings.insert(settings.end(), trial.settings().begin(), trial.settings().end());
  return machine::build(machine::describe(trial.machine_name(), settings));
}

const Figure::Open kSlowCores{
    "MPI runs on the accelerator's own cores, assumed 7.7 times slower than a server's; with as much done in "
    "a cycle as "
    "a server's core does, 30% would be gained. How many ranks an accelerator had, what its MPI cost and how "
    "the servers "
    "carried its messages are not in the abstract, which is all of that paper that was at hand",
    "the evaluation of HPCA 2015, pages 627 to 638: its baseline, ranks and atoms"};
const Figure::Open kOneOrMany{
    "neither the thesis nor the paper's abstract says how long messages are and how many are under way: a "
    "message at a "
    "time waits for both copies, 64 in a row hide them",
    "the benchmark of HPCA 2015, pages 627 to 638"};

void attached(Trial& trial) {
  const machine::Machine direct = trial.machine(), servers = in_servers(trial);
  const lab::RankPair own, staged{kDevice};
  double least = 100, most = -100;
  std::string note;
  for (const auto& [name, exchange] :
       {std::pair{"melt", lab::melt_workload()}, std::pair{"metal", lab::metal_workload()}}) {
    const double with = lab::exchange_step_ns(direct, own, exchange),
                 without = lab::exchange_step_ns(servers, staged, exchange);
    const double less = 100 * (1 - with / without);
    least = std::min(least, less);
    most = std::max(most, less);
    note += fmt::format("{}{}: {:.1f} us a step for {:.1f} us", note.empty() ? "" : ", ", name, with * 1e-3,
                        without * 1e-3);
  }
  trial.give("V-NAA-01", "least", least, note);
  trial.give("V-NAA-01", "most", most);
  constexpr std::uint64_t kLong = 1 << 20;
  auto give = [&](const char* point, double with, double without, const char* what) {
    trial.give("V-NAA-02", point, 100 * (with / without - 1),
               fmt::format("{} of 1 MiB: {:.2f} GB/s for {:.2f} GB/s", what, with * 1e-9, without * 1e-9));
  };
  give("one", lab::rank_ping_pong_bandwidth(direct, own, kLong),
       lab::rank_ping_pong_bandwidth(servers, staged, kLong), "messages, one at a time,");
  give("many", lab::rank_stream_bandwidth(direct, own, kLong),
       lab::rank_stream_bandwidth(servers, staged, kLong), "messages, 64 in a row,");
}

WEFT_REGISTER(ExperimentKind,
              {"deep-booster/accelerators",
               71,
               "deep-booster",
               {{"V-NAA-01",
                 "least",
                 "LAMMPS's messages between accelerators: less time than through servers",
                 "%",
                 32,
                 points_off(10),
                 Basis::Predicted,
                 true,
                 "section 6.1",
                 {"V-EX2-02"},
                 kSlowCores},
                {"V-NAA-01",
                 "most",
                 "LAMMPS's messages between accelerators: less time than through servers",
                 "%",
                 47,
                 points_off(10),
                 Basis::Predicted,
                 true,
                 "section 6.1",
                 {"V-EX2-02"},
                 kSlowCores},
                {"V-NAA-02",
                 "one",
                 "bandwidth of MPI between accelerators, a message at a time: more than through servers",
                 "%",
                 30,
                 points_off(10),
                 Basis::Predicted,
                 true,
                 "section 6.1",
                 {"V-EX2-02"},
                 kOneOrMany},
                {"V-NAA-02",
                 "many",
                 "bandwidth of MPI between accelerators, 64 messages in a row: more than through servers",
                 "%",
                 30,
                 points_off(10),
                 Basis::Predicted,
                 true,
                 "section 6.1",
                 {"V-EX2-02"},
                 kOneOrMany}},
               attached});

}  // namespace

}  // namespace weft::measure
