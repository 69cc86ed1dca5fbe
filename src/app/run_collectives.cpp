#include "app/run_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "collective/tree.hpp"
#include "measure/run/collective_table.hpp"
#include "routing/distances.hpp"

namespace weft::app {

namespace {

using abi::CollectiveModel;

/// Ranks so that each has the nearest of those left as children in the tree.
std::vector<std::uint32_t> order_by_topology(const machine::Machine& machine, const host::RunOptions& run) {
  const auto& mpi = machine.description.mpi;
  const auto shape = static_cast<collective::Shape>(mpi.tree);
  collective::Tree tree(shape,
                        mpi.tree_arity ? mpi.tree_arity
                                       : collective::arity_of_fewest_levels(
                                             shape, run.ranks, machine.description.nic.trigger_inputs - 1),
                        run.ranks);
  const topology::Graph& graph = *machine.graph;
  auto router = [&](std::uint32_t rank) { return graph.endpoint_router(run.place[rank]); };
  // Distances from one rank are asked for together; cables have the same length both ways.
  std::uint32_t from = ~0u;
  std::vector<std::uint16_t> distance;
  std::vector<topology::RouterId> queue;
  return collective::nearest_first(tree, [&](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
    if (a != from) routing::distances_to(graph, *machine.faults, router(from = a), distance, queue);
    return run.place[a] == run.place[b] ? 0u : 1u + distance[router(b)];
  });
}

}  // namespace

void declare_collectives(CommandLine& app, std::string& how, std::string& table) {
  app.add_option(
         "--collectives", how,
         "Who runs collectives of an MPI program: its library, by messages; or the interfaces, along a tree "
         "(mpi.tree), where they can; auto: as the table says that `weft tune` has measured")
      .option_text("software|offload|auto [software]")
      .one_of({"software", "offload", "auto"});
  app.add_option("--table", table, "The table of --collectives auto, which `weft tune` writes")
      .option_text("FILE");
}

void choose_collectives(const machine::Machine& machine, const network::Network& network,
                        const std::string& how, const std::string& table, host::RunOptions& run) {
  const machine::Description& d = machine.description;
  if (how == "software") return;
  Diagnostics problems;
  if (!d.nic.triggers)
    problems.add(d.origin("nic.triggers"), "nic.triggers",
                 fmt::format("is 0: the interfaces of {} run no collectives; --collectives {} needs some",
                             d.identity.name, how));
  if (how == "auto" && table.empty())
    problems.add({"--collectives"}, "auto", "needs --table FILE; `weft tune` measures and writes one");
  problems.throw_if_any();
  CollectiveModel& m = run.collectives;
  const std::uint64_t largest = network.largest_packet() - static_cast<std::uint64_t>(d.nic.header.value);
  m.on = 1;
  m.tree = static_cast<std::uint32_t>(d.mpi.tree);
  m.arity = d.mpi.tree_arity;
  m.by_topology = d.mpi.tree_order == machine::TreeOrder::Topology;
  m.triggers = d.nic.triggers;
  m.inputs = d.nic.trigger_inputs;
  m.rounds = d.nic.trigger_rounds;
  m.units = d.nic.operation_units;
  m.piece = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(d.nic.payload.value), largest));
  m.copy_bits_per_second = d.mpi.copy_rate.value;
  if (network.multicasts() && how != "auto")
    m.multicast_from = static_cast<std::uint32_t>(d.mpi.collective_limit.value) + 1;
  const auto without = [](abi::NotInRouters why) { return static_cast<std::uint32_t>(why) + 2; };
  if (network.reduces() && d.nic.corruption <= 0)
    m.reduction = abi::kRoutersReduce;
  else if (network.reduces())
    m.reduction = without(abi::NotInRouters::Errors);
  else if (d.router_kind->model(d.router_parameters.get()).reduction.groups)
    m.reduction = without(abi::NotInRouters::Engine);
  for (auto& row : m.most)
    std::fill(std::begin(row), std::end(row), static_cast<std::uint32_t>(d.mpi.collective_limit.value) + 1);
  if (how == "auto") {
    m.by_table = 1;
    measure::read_collective_table(table, m);
    for (auto& row : m.most)  // longer ones were the library's when they were measured
      for (std::uint32_t& most : row)
        most = std::min(most, static_cast<std::uint32_t>(d.mpi.collective_limit.value) + 1);
  }
  if (d.mpi.tree_levels != machine::TreeLevels::One)
    for (std::uint32_t node : run.place)
      run.tree_groups.push_back(
          d.mpi.tree_levels == machine::TreeLevels::Node ? node : machine.graph->endpoint_router(node));
  if (m.by_topology) run.tree_order = order_by_topology(machine, run);
}

}  // namespace weft::app
