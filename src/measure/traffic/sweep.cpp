#include "measure/traffic/sweep.hpp"

#include <fmt/format.h>

#include <mutex>

#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "base/version.hpp"
#include "measure/traffic/point.hpp"
#include "network/cycle_engine.hpp"

namespace weft::measure {

namespace {

constexpr unsigned kEnoughSaturated = 2;
constexpr std::uint32_t kLargeMachine = 65'536;  // routers: one at a time, for the memory they need

using workload::Workload;

void check_batch(const Workload& workload, std::uint32_t members) {
  // All packets of a batch may be under way at once, and each takes memory.
  std::uint64_t most = kMostPackets / members;
  if (workload.batch > most)
    throw UserError(
        fmt::format("--batch {}: a run holds {} million packets at once, at most {} for each of {}",
                    workload.batch, kMostPackets / 1'000'000, most, count_of(members, "endpoint")));
}

/// The points of a sweep as they become known, and how far it still has to go.
class Points {
 public:
  explicit Points(std::size_t count) : points_(count), end_(count) {}

  /// Points from here on are past saturation.
  std::size_t end() const { return end_; }

  std::size_t add(std::size_t index, TrafficPoint point) {
    points_[index] = std::move(point);
    ++done_;
    unsigned saturated = 0;
    for (std::size_t i = 0; i < end_; ++i)
      if (points_[i] && (points_[i]->saturated || points_[i]->stalled) && ++saturated == kEnoughSaturated)
        end_ = i + 1;
    return done_;
  }

  std::optional<TrafficPoint>& operator[](std::size_t index) { return points_[index]; }

 private:
  std::vector<std::optional<TrafficPoint>> points_;
  std::atomic<std::size_t> end_;
  std::size_t done_ = 0;
};

void describe(const machine::Machine& machine, const Workload& workload, const network::CycleFacts& facts,
              TrafficResult& out) {
  out.machine = machine.description.identity.name;
  out.pattern = workload.pattern->name;
  out.source = workload.source->name;
  out.packet_flits = workload.sizes.text();
  out.version = version();
  out.seed = workload.seed;
  out.batch = workload.batch;
  out.cycle_ns = facts.cycle.nanoseconds(1);
  out.flit_bytes = static_cast<double>(machine.description.router.flit.value);
  out.endpoints = machine.graph->endpoints();
  for (const auto* all : {&machine.description.settings, &workload.settings})
    for (const config::Setting& setting : *all) out.settings.emplace_back(setting.key, setting.value);
  out.settings.emplace_back("traffic.packet", config::quote(out.packet_flits));
  out.settings.emplace_back("traffic.message_class", std::to_string(workload.message_class));
  out.settings.emplace_back("traffic.batch", std::to_string(workload.batch));
  out.settings.emplace_back("traffic.seed", std::to_string(workload.seed));
}

}  // namespace

TrafficResult sweep(const machine::Machine& machine, const Workload& workload, const SweepOptions& options) {
  const Stopwatch start;
  workload::Members members(*machine.graph, *machine.faults);
  auto pattern = workload.pattern->make(workload.pattern_parameters.get(), {members, workload.seed});
  const network::CycleEngineKind& engine = network::cycle_engine(options.engine);
  if (options.ranks && !engine.runs_on_ranks)
    throw UserError(fmt::format("the engine {} runs in one process: leave out mpirun", options.engine));
  network::CycleOptions run;
  run.largest_packet_flits = workload.sizes.largest();
  run.threads = options.threads;
  run.ranks = options.ranks;
  run.age_limit = options.age_limit;
  run.seed = workload.seed;
  const network::CycleFacts facts = engine.facts(machine, run.largest_packet_flits);
  if (workload.message_class >= facts.message_classes)
    throw UserError(fmt::format("--message-class {}: routers have {}, numbered from 0",
                                workload.message_class,
                                count_of(facts.message_classes, "message class", "message classes")));
  check_batch(workload, members.count());
  for (double load : options.loads)
    workload.source->make(workload.source_parameters.get(), load, workload.seed);

  TrafficResult out;
  describe(machine, workload, facts, out);
  out.threads = options.threads;
  out.ranks = options.ranks ? options.ranks->count() : 1;
  out.loads = options.loads;
  for (workload::Member m = 0; m < members.count(); ++m) out.senders += pattern->rate(m) > 0;

  Experiment experiment{
      machine,       engine, facts, run, workload, members, *pattern, options.faults, options.until_full,
      options.viewer};
  Points points(options.loads.size());
  std::mutex guard;
  auto interrupted = [&] { return options.interrupted && *options.interrupted; };
  bool in_parallel = options.threads == 1 && !options.ranks && machine.graph->routers() <= kLargeMachine;
  parallel_for(options.loads.size(), in_parallel ? default_threads() : 1, [&](unsigned, std::uint64_t i) {
    auto point = run_point(
        experiment, options.loads[i], [&] { return i >= points.end() || interrupted(); }, i);
    if (!point) return;
    std::lock_guard lock(guard);
    std::size_t done = points.add(i, std::move(*point));
    if (options.progress) options.progress(*points[i], done);
  });
  for (std::size_t i = 0; i < points.end(); ++i)
    if (points[i]) out.points.push_back(std::move(*points[i]));
  out.interrupted = out.points.size() < points.end();
  out.stopped_past_saturation = points.end() < options.loads.size();
  out.seconds = start.seconds();
  return out;
}

}  // namespace weft::measure
