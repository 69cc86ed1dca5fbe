// Figure 11 of the TH Express-2 paper: the barrier, by messages and by interfaces.
#include <fmt/format.h>

#include "measure/validate/figure.hpp"
#include "measure/validate/mpi_pairs.hpp"
#include "workload/collectives.hpp"
#include "workload/executor.hpp"
#include "workload/interface_times.hpp"
#include "workload/replay.hpp"

namespace weft::measure {

namespace {

using workload::ProgramBuilder;
using workload::Rank;
using workload::Step;

/// A barrier by dissemination whose messages pass the same interfaces: the processor's work, then the
/// interface's.
void barrier_by_messages(ProgramBuilder& p, Rank ranks, const workload::InterfaceTimes& t,
                         const machine::Description& d) {
  const Time send = d.mpi.send_cost + d.host.post_cost,
             receive = d.mpi.receive_cost + d.mpi.match_cost + d.host.receive_cost + d.host.memory_read;
  const std::uint32_t tag = p.new_tag();
  for (Rank ahead = 1; ahead < ranks; ahead *= 2)
    for (Rank r = 0; r < ranks; ++r) {
      p.compute(r, send);
      p.interface_send(r, p.interface_delay(r, {}, t.post - send + t.send), (r + ahead) % ranks, t.header,
                       tag);
      Step arrived = p.interface_receive(r, (r + ranks - ahead) % ranks, t.header, tag);
      p.await(r, p.interface_delay(
                     r, {arrived},
                     t.receive + (t.told - d.mpi.receive_cost - d.host.receive_cost - d.host.memory_read)));
      p.wait(r);
      p.compute(r, receive);
    }
}

double completion_ns(const machine::Machine& m, ProgramBuilder&& builder) {
  workload::Program program = std::move(builder).finish("barrier");
  auto network = workload::make_engine("flow", m, {1, 1});
  std::vector<network::EndpointId> places(program.ranks());
  for (Rank r = 0; r < program.ranks(); ++r) places[r] = r;
  event::EventQueue events;
  workload::ExecutionResult result = workload::execute(program, places, *network, events, {});
  WEFT_CHECK(result.finished, "a barrier ends");
  return static_cast<double>(result.completion.value) / 1000;
}

void barrier(Trial& trial) {
  Plot plot{"Barrier",
            "tianhe2",
            "Mean time of MPI_Barrier over ranks on as many nodes, by the library's messages and by the "
            "interfaces along "
            "a tree; beyond 64 ranks the same as programs of messages.",
            "nodes",
            "ns",
            true,
            true,
            {}};
  Series software{"messages", Series::Look::Ours, {}}, offload{"interfaces", Series::Look::Ours, {}};
  std::vector<double> ratios;
  const std::vector<unsigned> by_mpi =
      trial.quick ? std::vector<unsigned>{4, 16} : std::vector<unsigned>{4, 16, 64};
  for (unsigned ranks : by_mpi) {
    const double slow = run_barrier(trial, ranks, "software"), fast = run_barrier(trial, ranks, "offload");
    software.points.emplace_back(ranks, slow);
    offload.points.emplace_back(ranks, fast);
    ratios.push_back(slow / fast);
  }
  machine::Machine m = trial.machine();
  const workload::InterfaceTimes t = workload::interface_times(m.description);
  std::vector<double> skeleton;
  for (Rank ranks : trial.quick ? std::vector<Rank>{64, 1024} : std::vector<Rank>{64, 1024, 18'432}) {
    ProgramBuilder by_messages(ranks), by_interfaces(ranks);
    barrier_by_messages(by_messages, ranks, t, m.description);
    by_interfaces.interfaces = &t;
    std::vector<Rank> all(ranks);
    for (Rank r = 0; r < ranks; ++r) all[r] = r;
    workload::barrier(by_interfaces, all);
    const double slow = completion_ns(m, std::move(by_messages)),
                 fast = completion_ns(m, std::move(by_interfaces));
    skeleton.push_back(slow / fast);
    if (ranks > by_mpi.back()) {
      software.points.emplace_back(ranks, slow);
      offload.points.emplace_back(ranks, fast);
    }
  }
  plot.series = {std::move(software), std::move(offload)};
  trial.plots.push_back(std::move(plot));
  trial.give("V-TH2-13", "gain", ratios.front(), fmt::format("of {} ranks by MPI", by_mpi.front()));
  trial.give("V-TH2-13", "growth", ratios.back() / ratios.front(),
             fmt::format("from {} to {} ranks by MPI: {:.2f} to {:.2f}", by_mpi.front(), by_mpi.back(),
                         ratios.front(), ratios.back()));
  trial.give("V-TH2-13", "large", skeleton.back() / skeleton.front(),
             fmt::format("as programs of messages: {:.2f} at 64 nodes, {:.2f} at the most", skeleton.front(),
                         skeleton.back()));
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/barrier",
                               19,
                               "tianhe2",
                               {{"V-TH2-13",
                                 "gain",
                                 "barrier of 4 ranks: time by messages over time by interfaces",
                                 "times",
                                 1,
                                 at_least(),
                                 Basis::Predicted,
                                 false,
                                 "section 6.3, figure 11: better",
                                 {"V-TH2-01", "V-TH2-02"}},
                                {"V-TH2-13",
                                 "growth",
                                 "that gain at the most ranks over that at 4",
                                 "times",
                                 1,
                                 at_least(),
                                 Basis::Predicted,
                                 false,
                                 "section 6.3, figure 11: grows with the nodes",
                                 {"V-TH2-01", "V-TH2-02"}},
                                {"V-TH2-13",
                                 "large",
                                 "that gain at up to 18,432 nodes over that at 64",
                                 "times",
                                 1,
                                 at_least(),
                                 Basis::Predicted,
                                 false,
                                 "section 6.3, figure 11: rapidly at a large scale",
                                 {"V-TH2-01", "V-TH2-02"}}},
                               barrier});

}  // namespace

}  // namespace weft::measure
