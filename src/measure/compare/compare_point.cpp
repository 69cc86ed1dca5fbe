// One point of a comparison.
#include <fmt/format.h>

#include <algorithm>

#include "machine/machine.hpp"
#include "machine/networks.hpp"
#include "measure/compare/compare.hpp"
#include "network/flow/static_flows.hpp"
#include "workload/replay.hpp"
#include "workload/synthetic.hpp"

namespace weft::measure {

using network::flow::FlowPair;

namespace {

constexpr double kBitsPerSecond = 8e12;  // of a byte per picosecond

template <class T>
Settings all_settings(const T& one, std::uint32_t variant) {
  Settings out = one.set;
  if (!one.variants.empty())
    out.insert(out.end(), one.variants[variant].begin(), one.variants[variant].end());
  return out;
}

void run_static(const CompareSpec& spec, const CompareWorkload& w, const Settings& settings,
                const machine::Machine& m, unsigned threads, Json& out) {
  workload::WorkloadText text;
  text.pattern = w.kind;
  text.pattern_settings = settings;
  workload::Workload workload = workload::read_workload(text);
  workload::Members members(*m.graph, *m.faults);
  auto pattern = workload.pattern->make(workload.pattern_parameters.get(), {members, spec.seed});
  std::vector<FlowPair> pairs;
  for (workload::Member member = 0; member < members.count(); ++member)
    if (pattern->rate(member) > 0)
      pairs.push_back({members.endpoint[member], members.endpoint[pattern->destination(member, 0)]});
  auto r = network::flow::solve_static(m, pairs, static_cast<std::uint64_t>(w.bytes.value), threads);
  network::flow::Links links(m);
  out["flows"] = r.flows;
  out["unreachable"] = r.unreachable;
  out["throughput_bps"] = r.aggregate_bps;
  out["share_of_injection"] = r.aggregate_bps / (links.endpoint_capacity() * kBitsPerSecond *
                                                 static_cast<double>(m.graph->endpoints()));
  out["lowest_bps"] = r.lowest_bps;
  out["mean_cables"] = r.mean_links;
  out["completion_ps"] = r.completion.value;
  out["tightest_link"] = links.name(r.tightest);
  out["held_there"] = r.held_there;
}

/// Cables crossed by a message on average.
double mean_cables(const workload::Program& program, const std::vector<network::EndpointId>& endpoint,
                   const machine::Machine& m) {
  network::flow::Links links(m);
  network::flow::RouteMaker maker(m, links);
  network::flow::RouteMaker::Scratch scratch;
  std::vector<network::flow::Share> route;
  std::vector<std::uint32_t> load(links.count());
  double crossed = 0, messages = 0;
  for (workload::Rank r = 0; r < program.ranks(); ++r)
    for (auto i = program.begin[r]; i < program.begin[r + 1]; ++i) {
      const workload::Operation& o = program.operations[i];
      if (o.kind != workload::Operation::Kind::Send || endpoint[r] == endpoint[o.peer]) continue;
      maker.route(endpoint[r], endpoint[o.peer], load.data(), scratch, route);
      for (std::size_t k = 1; k + 1 < route.size(); ++k) crossed += route[k].weight;
      ++messages;
    }
  return messages > 0 ? crossed / network::flow::kWhole / messages : 0;
}

void run_replay(const CompareSpec& spec, const CompareWorkload& w, const Settings& settings,
                const std::string& engine, const machine::Machine& m, unsigned threads,
                const PointWatch& watch, Json& out) {
  workload::ReplayText text;
  text.engine = engine;
  text.seed = spec.seed;
  text.threads = threads;
  text.options = {spec.send_cost, spec.receive_cost, watch.observer};
  text.jobs = {{w.kind, settings, w.ranks, w.placement}};
  workload::ReplayResult r = workload::replay(m, text);
  if (watch.done) watch.done(r, m);
  const workload::ExecutionResult& run = r.run;
  if (!run.finished) {
    out["error"] = join(run.stall, "; ");
    return;
  }
  out["ranks"] = r.jobs[0].ranks;
  out["messages"] = run.messages;
  out["bytes"] = run.bytes;
  out["completion_ps"] = run.completion.value;
  double seconds = static_cast<double>(run.completion.value) * 1e-12;
  out["throughput_bps"] = seconds > 0 ? static_cast<double>(run.bytes) * 8 / seconds : 0;
  std::uint64_t crossed = run.messages - run.local_messages;
  out["message_ps"] = run.message_time.mean(crossed).value;
  workload::Placement placement(*m.graph, *m.faults);
  workload::Program program = workload::read_job(text.jobs[0], placement.free(), spec.seed);
  out["mean_cables"] = mean_cables(program, placement.place(program.ranks(), w.placement, spec.seed), m);
}

}  // namespace

Json run_point(const CompareSpec& spec, const ComparePoint& point, unsigned threads,
               const PointWatch& watch) {
  const CompareMachine& cm = spec.machines[point.machine];
  const CompareWorkload& w = spec.workloads[point.workload];
  const std::string& engine = spec.engines[point.engine];
  Settings machine_settings = spec.set;
  Settings own = all_settings(cm, point.machine_variant);
  machine_settings.insert(machine_settings.end(), own.begin(), own.end());
  Settings workload_settings = all_settings(w, point.workload_variant);
  Json out{{"machine", cm.name}, {"workload", w.name}, {"engine", engine}};
  if (!w.variants.empty()) out["variant"] = join(w.variants[point.workload_variant], " ");
  try {
    machine::Machine m = machine::build(machine::describe(cm.base, machine_settings));
    machine::refuse_networks(m.description, "weft compare");
    out["endpoints"] = m.graph->endpoints();
    out["routers"] = m.graph->routers();
    out["cables"] = m.graph->cables();
    if (engine == kStaticEngine)
      run_static(spec, w, workload_settings, m, threads, out);
    else
      run_replay(spec, w, workload_settings, engine, m, threads, watch, out);
  } catch (const UserError& error) {
    out["error"] = error.what();
  }
  out["machine_settings"] = machine_settings;
  out["workload_settings"] = workload_settings;
  return out;
}

std::vector<std::string> check_expected(const CompareSpec& spec, const std::vector<Json>& results) {
  std::vector<std::string> wrong;
  bool time = spec.figure == CompareFigure::Time;
  const char* figure = time ? "completion_ps" : "throughput_bps";
  // The largest size of a machine counts; each workload, variant and engine is ranked by itself.
  auto value = [&](const std::string& machine, const Json& like) -> const Json* {
    const Json* best = nullptr;
    for (const Json& r : results)
      if (r["machine"] == machine && r["workload"] == like["workload"] && r["engine"] == like["engine"] &&
          r.value("variant", "") == like.value("variant", "") && r.contains(figure) &&
          (!best || r["endpoints"] > (*best)["endpoints"]))
        best = &r;
    return best;
  };
  std::vector<std::string> done;
  for (const Json& like : results) {
    std::string name = fmt::format("{} {} ({})", like["workload"].get<std::string>(),
                                   like.value("variant", ""), like["engine"].get<std::string>());
    if (std::find(done.begin(), done.end(), name) != done.end()) continue;
    done.push_back(name);
    for (std::size_t i = 0; i + 1 < spec.expected.size(); ++i)
      for (const std::string& better : spec.expected[i])
        for (const std::string& worse : spec.expected[i + 1]) {
          const Json *a = value(better, like), *b = value(worse, like);
          if (!a || !b) {
            wrong.push_back(fmt::format("{}: {} has no figure", name, a ? worse : better));
            continue;
          }
          double x = (*a)[figure].get<double>(), y = (*b)[figure].get<double>();
          if (time ? x >= y : x <= y)
            wrong.push_back(fmt::format("{}: {} was expected before {}", name, better, worse));
        }
  }
  return wrong;
}

}  // namespace weft::measure
