// The flit engine: processor time for a flit to cross a cable, and memory for a router.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/bench.hpp"
#include "base/random.hpp"
#include "machine/machine.hpp"
#include "network/cycle_engine.hpp"
#include "workload/synthetic.hpp"

namespace weft::bench {

namespace {

struct Case {
  std::string name, dims;
  double load;
  unsigned packet_flits;
  network::Cycle warm_up, measured;
  double most_ns;            // limit for a flit-hop; 0: none
  std::uint64_t most_bytes;  // limit for the whole process; 0: none
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"8x8x8, load 0.3, 1-flit packets", "[8,8,8]", 0.3, 1, 500, 2000, 70, 0},
      {"8x8x8, load 0.3, 8-flit packets", "[8,8,8]", 0.3, 8, 500, 2000, 45, 0},
      {"8x8x8, load 0.02, 1-flit packets", "[8,8,8]", 0.02, 1, 500, 20'000, 0, 0},
      // Four times as far on average: the same load on each cable is a quarter of the load of each endpoint.
      {"32x32x32, load 0.075, 1-flit packets", "[32,32,32]", 0.075, 1, 300, 40, 105, 0},
      {"32x32x32, load 0.075, 8-flit packets", "[32,32,32]", 0.075, 8, 300, 40, 67.5, 0},
      {"32x32x32, load 0.3 (past saturation), 1-flit packets", "[32,32,32]", 0.3, 1, 100, 40, 0, 0},
      {"64x64x64, load 0.1, 1-flit packets", "[64,64,64]", 0.1, 1, 20, 10, 0, std::uint64_t{3} << 30},
  };
  return all;
}

constexpr int kSamples = 5;  // of which the median counts
constexpr double kMostBytesPerRouter = 6 * 1024;

/// Nanoseconds of a load that depends on the one before, over 64 MiB: how fast this machine is just now.
double pointer_chase_ns() {
  constexpr std::uint32_t count = 1u << 24;
  std::vector<std::uint32_t> next(count);
  std::iota(next.begin(), next.end(), 0u);
  for (std::uint32_t i = count - 1; i > 0; --i)
    std::swap(next[i], next[random_below(1, 0, i, i)]);  // one big circle
  std::uint32_t at = 0;
  constexpr int steps = 1'000'000;
  double start = app::cpu_seconds();
  for (int i = 0; i < steps; ++i) at = next[at];
  double ns = (app::cpu_seconds() - start) * 1e9 / steps;
  return at == count ? 0 : ns;
}

class Ignore : public network::Observer {
 public:
  void delivered(const network::Delivery&) override {}
  void delivered_all(std::span<const network::Delivery>) override {}
};

/// The figures of a case, with a list of samples where its median will stand.
Json measure(const Case& one, int samples) {
  // The reference router of docs/validation.md: four stages, four channels of eight flits, wormhole, iSLIP.
  std::string text =
      "[topology]\nkind = \"torus\"\ndims = " + one.dims +
      "\n[routing]\nkind = \"dimension-order\"\ndateline = \"balanced\"\n[router]\nchannels = 4\n"
      "buffer_flits = 8\nswitching = \"wormhole\"\nlatency = \"4ns\"\nclock = \"1GHz\"\n"
      "[cable.default]\nlanes = 1\nlane_rate = \"128Gbps\"\ncoding = \"none\"\ndelay = \"2ns\"\nlength = "
      "\"0m\"\n";
  machine::Machine m = machine::build(machine::describe_text(text, "bench", {}));
  const auto made = network::cycle_engine().make(m, {.largest_packet_flits = one.packet_flits});
  network::CycleEngine& engine = *made;

  workload::WorkloadText traffic_text;
  traffic_text.packet = std::to_string(one.packet_flits);
  workload::Workload workload = workload::read_workload(traffic_text);
  workload::Members members(*m.graph, *m.faults);
  auto pattern = workload.pattern->make(workload.pattern_parameters.get(), {members, workload.seed});
  workload::SyntheticTraffic traffic(workload, members, *pattern, one.load);
  Ignore ignore;
  network::Cycle until = one.warm_up;
  engine.run(traffic, {&ignore}, until);

  std::vector<double> ns;
  for (int i = 0; i < samples; ++i) {
    std::uint64_t hops = engine.counters().flit_hops;
    double start = app::cpu_seconds();
    engine.run(traffic, {&ignore}, until += one.measured);
    ns.push_back((app::cpu_seconds() - start) * 1e9 /
                 static_cast<double>(engine.counters().flit_hops - hops));
  }
  const auto& counters = engine.counters();
  const double routers = m.graph->routers();
  const auto packets =
      static_cast<double>(counters.flits_injected - counters.flits_delivered) / one.packet_flits;
  Json out{{"ns_per_flit_hop", ns},
           {"ns_per_flit_hop_best", *std::min_element(ns.begin(), ns.end())},
           {"bytes_per_router", static_cast<double>(engine.bytes()) / routers},
           {"packets_per_router", packets / routers},
           {"bytes_per_packet", engine.packet_bytes()},
           {"routers", m.graph->routers()},
           {"flit_hops", engine.counters().flit_hops}};
  if (one.most_ns > 0) out["limit_ns_per_flit_hop"] = one.most_ns;
  return out;
}

void run(app::BenchResults& results) {
  // A shared machine is slow for seconds at a time. So what has a limit is measured once in each of several
  // rounds: a slow spell then hits one sample of each case, and not all samples of one.
  std::vector<Json> all(cases().size());
  std::vector<std::vector<double>> ns(cases().size());
  for (int round = 0; round < kSamples; ++round)
    for (std::size_t i = 0; i < cases().size(); ++i) {
      const Case& one = cases()[i];
      if (!results.wants(one.name)) continue;
      if ((round > 0 && one.most_ns == 0) || all[i].contains("error")) continue;
      all[i] = app::measure_in_own_process([&] { return measure(one, one.most_ns > 0 ? 1 : kSamples); });
      if (all[i].contains("error")) continue;
      for (const Json& sample : all[i]["ns_per_flit_hop"]) ns[i].push_back(sample.get<double>());
    }
  for (std::size_t i = 0; i < cases().size(); ++i) {
    const Case& one = cases()[i];
    if (!results.wants(one.name)) continue;
    Json& figures = all[i];
    if (!figures.contains("error")) {
      std::sort(ns[i].begin(), ns[i].end());
      figures["ns_per_flit_hop"] = ns[i][kSamples / 2];
      figures["ns_per_flit_hop_best"] = ns[i].front();
    }
    bool within = !figures.contains("error");
    if (within && one.most_ns > 0) within = figures["ns_per_flit_hop"] <= one.most_ns;
    if (within && one.most_bytes > 0) within = figures["peak_bytes"] <= one.most_bytes;
    if (within) within = figures["bytes_per_router"] <= kMostBytesPerRouter;
    results.add({one.name, std::move(figures), within});
  }
  if (!results.wants("this machine")) return;
  Json machine = app::measure_in_own_process([] { return Json{{"pointer_chase_ns", pointer_chase_ns()}}; });
  results.add({"this machine", std::move(machine), true});
}

WEFT_REGISTER(app::Bench,
              {"flit", "processor time of the flit engine for a flit to cross a cable, and its memory", run,
               "ns_per_flit_hop"});

}  // namespace

}  // namespace weft::bench
