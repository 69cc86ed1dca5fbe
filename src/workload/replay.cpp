#include "workload/replay.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/stopwatch.hpp"
#include "config/registry.hpp"
#include "network/joined_network.hpp"
#include "workload/goal.hpp"
#include "workload/interface_times.hpp"
#include "workload/skeleton.hpp"
#include "workload/trace.hpp"

namespace weft::workload {

namespace {

const network::EngineKind& engine_called(const std::string& name) {
  using Engines = config::Registry<network::EngineKind>;
  const network::EngineKind* kind = Engines::find(name);
  if (!kind)
    throw UserError(fmt::format("there is no engine '{}'{}; there are {}", name,
                                did_you_mean(name, Engines::names()), join(Engines::names(), ", ")));
  return *kind;
}

}  // namespace

std::unique_ptr<network::Network> make_engine(const std::string& name, const machine::Machine& machine,
                                              const network::EngineOptions& options) {
  return engine_called(name).make(machine, options);
}

Program read_job(const JobText& job, std::uint32_t free, std::uint64_t seed,
                 const InterfaceTimes* interfaces) {
  bool goal = job.workload.ends_with(".goal"), trace = job.workload.ends_with(".weftrace");
  Program program;
  if (goal || trace) {
    program = goal ? read_goal(job.workload) : load_trace(job.workload);
    if (!job.settings.empty())
      throw UserError(fmt::format("{}: a trace has no parameters to set", job.workload));
    if (job.ranks != 0 && job.ranks != program.ranks())
      throw UserError(fmt::format("{}: it has {}, and {} are asked for", job.workload,
                                  count_of(program.ranks(), "rank"), job.ranks));
  } else {
    program = make_skeleton(job.workload, job.settings, {job.ranks ? job.ranks : free, seed, interfaces});
  }
  check(program);
  return program;
}

namespace {

bool is_skeleton(const JobText& job) { return config::Registry<SkeletonKind>::find(job.workload); }

/// Which ranks of a job have a tree of their own, as they are going to be placed. A rank has a node to
/// itself.
std::vector<std::uint32_t> groups_of_ranks(const machine::Machine& machine, Placement placement,
                                           const JobText& job, Rank ranks, std::uint64_t seed) {
  std::vector<std::uint32_t> out;
  if (machine.description.mpi.tree_levels != machine::TreeLevels::Router) return out;
  for (network::EndpointId e : placement.place(ranks, job.placement, seed))
    out.push_back(machine.graph->endpoint_router(e));
  return out;
}

/// A job's program, of which interfaces run the collectives.
Program read_offloaded(const machine::Machine& machine, const Placement& placement, const JobText& job,
                       std::uint64_t seed, InterfaceTimes& interfaces, JobResult& result) {
  if (is_skeleton(job)) {
    const Rank ranks = job.ranks ? job.ranks : placement.free();
    interfaces.group_of_rank = groups_of_ranks(machine, placement, job, ranks, seed);
    return read_job(job, placement.free(), seed, &interfaces);
  }
  Program program = read_job(job, placement.free(), seed);
  interfaces.group_of_rank = groups_of_ranks(machine, placement, job, program.ranks(), seed);
  result.offloaded = offload_collectives(program, interfaces);
  if (result.offloaded->replaced) check(program);
  return program;
}

/// The first message class of a class of traffic.
std::uint8_t class_number(const machine::Machine& machine, unsigned traffic_class) {
  const auto& router = machine.description.router;
  if (traffic_class >= router.traffic_classes())
    throw UserError(fmt::format("there is no class of traffic {}: router.class_weights has {}, from 0",
                                traffic_class, count_of(router.traffic_classes(), "weight")));
  return static_cast<std::uint8_t>(traffic_class * router.message_classes);
}

}  // namespace

ReplayResult replay(const machine::Machine& machine, const ReplayText& text) {
  Placement placement(*machine.graph, *machine.faults);
  std::vector<Program> programs;
  std::vector<network::EndpointId> endpoint;
  ReplayResult out;
  out.engine = text.engine;
  InterfaceTimes interfaces;
  if (text.offload) interfaces = interface_times(machine.description);
  for (const JobText& job : text.jobs) {
    JobResult& result = out.jobs.emplace_back();
    programs.push_back(text.offload ? read_offloaded(machine, placement, job, text.seed, interfaces, result)
                                    : read_job(job, placement.free(), text.seed));
    const Program& p = programs.back();
    auto places = placement.place(p.ranks(), job.placement, text.seed);
    endpoint.insert(endpoint.end(), places.begin(), places.end());
    result.workload = job.workload;
    result.placement = job.placement;
    result.ranks = p.ranks();
    result.messages = p.messages();
    result.bytes = p.bytes_sent();
  }
  ExecutorOptions how = text.options;
  for (std::size_t j = 0; j < text.jobs.size(); ++j)
    how.message_class.insert(how.message_class.end(), out.jobs[j].ranks,
                             class_number(machine, text.jobs[j].traffic_class));
  Program all = programs.size() == 1 ? std::move(programs.front()) : side_by_side(programs);
  const network::EngineKind& engine = engine_called(text.engine);
  if (text.ranks && !engine.runs_on_ranks)
    throw UserError(fmt::format("the engine {} runs in one process: leave out mpirun, or take --engine flit",
                                text.engine));
  const network::EngineOptions options{text.seed, text.threads, {}, text.ranks};
  // Only what interfaces send goes by a second network.
  auto network =
      text.offload ? network::make_network(engine, machine, options) : engine.make(machine, options);
  const Stopwatch start;
  event::EventQueue events;
  out.run = execute(all, endpoint, *network, events, how);
  out.seconds = start.seconds();
  Rank first = 0;
  for (JobResult& job : out.jobs) {
    for (Rank r = first; r < first + job.ranks; ++r)
      job.completion = std::max(job.completion, out.run.rank_end[r]);
    first += job.ranks;
  }
  return out;
}

}  // namespace weft::workload
