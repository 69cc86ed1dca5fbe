// The flow engine: all flows of a million endpoints at once, and flows that come and go.
#include <fmt/format.h>

#include <numeric>

#include "app/bench.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "network/flow/fluid.hpp"
#include "network/flow/static_flows.hpp"
#include "workload/replay.hpp"

namespace weft::bench {

namespace {

using namespace network::flow;

constexpr std::uint64_t kMegabyte = 1'000'000;

struct StaticCase {
  std::string name, description;
  double most_seconds;
  std::uint64_t most_bytes;
};

const std::vector<StaticCase>& static_cases() {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  static const std::string torus = "[routing]\nkind = \"dimension-order\"\n[topology]\nkind = \"torus\"\n";
  static const std::string tree =
      "[routing]\nkind = \"fat-tree\"\nmode = \"adaptive\"\ncandidates = 0\n[topology]\nkind = "
      "\"fat-tree\"\n";
  static const std::string dragonfly =
      "[routing]\nkind = \"dragonfly\"\nmode = \"ugal\"\n[topology]\nkind = \"dragonfly\"\n";
  static const std::string jellyfish =
      "[routing]\nkind = \"searched\"\n[topology]\nkind = \"jellyfish\"\nendpoints_per_router = 16\ndegree = "
      "24\n";
  static const std::vector<StaticCase> all{
      {"static, torus 50x50x40", torus + "dims = [50, 50, 40]\n", 3, 6 * kGiB},
      {"static, fat tree of 100,000", tree + "children = [50, 50, 40]\nparents = [1, 50, 50]\n", 3, 6 * kGiB},
      {"static, dragonfly of 100,000",
       dragonfly +
           "routers_per_group = 20\nendpoints_per_router = 10\nglobal_cables_per_router = 25\ngroups = 500\n",
       3, 6 * kGiB},
      {"static, jellyfish of 100,000", jellyfish + "routers = 6250\n", 3, 6 * kGiB},
      {"static, torus 100x100x100", torus + "dims = [100, 100, 100]\n", 30, 6 * kGiB},
      {"static, fat tree of 1,000,000", tree + "children = [100, 100, 100]\nparents = [1, 100, 100]\n", 30,
       6 * kGiB},
      {"static, dragonfly of 1,000,000",
       dragonfly + "routers_per_group = 40\nendpoints_per_router = 25\nglobal_cables_per_router = 25\ngroups "
                   "= 1000\n",
       30, 6 * kGiB},
      {"static, jellyfish of 1,000,000", jellyfish + "routers = 62500\n", 120, 6 * kGiB},
  };
  return all;
}

/// A random permutation of all endpoints.
std::vector<FlowPair> permutation(std::uint32_t endpoints, std::uint64_t seed) {
  std::vector<EndpointId> to(endpoints);
  std::iota(to.begin(), to.end(), 0u);
  for (std::uint32_t left = endpoints; left > 1; --left)
    std::swap(to[left - 1], to[random_below(seed, left, 0, left)]);
  std::vector<FlowPair> pairs;
  for (EndpointId e = 0; e < endpoints; ++e) pairs.push_back({e, to[e]});
  return pairs;
}

Json solve(const StaticCase& one) {
  machine::Machine m = machine::build(machine::describe_text(one.description, "bench", {}));
  StaticResult r = solve_static(m, permutation(m.graph->endpoints(), 1), kMegabyte, default_threads());
  WEFT_CHECK(r.unreachable == 0, "every endpoint can be reached");
  return {{"endpoints", m.graph->endpoints()},
          {"flows", r.flows},
          {"cables_per_flow", r.mean_links},
          {"aggregate_tbps", r.aggregate_bps * 1e-12},
          {"share_of_injection", r.mean_bps / 8e12 / Links(m).endpoint_capacity()}};
}

struct DynamicCase {
  std::string name, description;
  bool shifts;               // who sends to whom: shifts, one after the other, or random
  std::uint32_t per_host;    // flows each host has under way
  std::uint32_t flows_each;  // flows of each host in all
  double least_per_second;   // limit; 0: it need only finish
};

const std::vector<DynamicCase>& dynamic_cases() {
  static const std::string torus =
      "[routing]\nkind = \"dimension-order\"\n[topology]\nkind = \"torus\"\ndims = [16, 8, 8]\n";
  static const std::string tree =
      "[routing]\nkind = \"fat-tree\"\nmode = \"deterministic\"\n[topology]\nkind = \"fat-tree\"\n"
      "children = [16, 8, 8]\nparents = [1, 16, 8]\n";
  static const std::vector<DynamicCase> all{
      {"1,024 flows, torus 16x8x8, shifts", torus, true, 1, 64, 30'000},
      {"1,024 flows, torus 16x8x8, random", torus, false, 1, 64, 30'000},
      {"1,024 flows, fat tree of 1,024, shifts", tree, true, 1, 64, 30'000},
      {"1,024 flows, fat tree of 1,024, random", tree, false, 1, 64, 30'000},
      {"4,096 flows, torus 16x8x8, shifts", torus, true, 4, 32, 0},
      {"4,096 flows, fat tree of 1,024, shifts", tree, true, 4, 32, 0},
      {"65,536 flows, torus 16x8x8, shifts", torus, true, 64, 64, 0},
      {"65,536 flows, fat tree of 1,024, shifts", tree, true, 64, 64, 0},
      {"65,536 flows, torus 16x8x8, random", torus, false, 64, 64, 0},
      {"65,536 flows, fat tree of 1,024, random", tree, false, 64, 64, 0},
  };
  return all;
}

/// Every host keeps `per_host` flows under way: when one ends, its next starts.
Json come_and_go(const DynamicCase& one) {
  machine::Machine m = machine::build(machine::describe_text(one.description, "bench", {}));
  Links links(m);
  RouteMaker maker(m, links);
  std::vector<double> capacity(links.count());
  for (LinkId l = 0; l < links.count(); ++l) capacity[l] = links.capacity(l);
  Fluid fluid(std::move(capacity));
  RouteMaker::Scratch scratch;
  std::vector<Share> route;
  std::uint32_t hosts = m.graph->endpoints();
  std::vector<std::uint32_t> made(hosts);
  auto start = [&](EndpointId host, Time now) {
    if (made[host] == one.flows_each) return;
    std::uint32_t number = made[host]++;
    std::uint32_t ahead =
        one.shifts ? 1 + number % (hosts - 1) : 1 + random_below(1, host, number, hosts - 1);
    maker.route(host, (host + ahead) % hosts, fluid.load(), scratch, route);
    fluid.start(route, kMegabyte, host, now);
  };
  double begin = app::cpu_seconds();
  for (std::uint32_t i = 0; i < one.per_host; ++i)
    for (EndpointId host = 0; host < hosts; ++host) start(host, {0});
  fluid.settle({0});
  std::uint32_t concurrent = fluid.active();
  std::uint64_t flows = 0;
  std::vector<std::uint64_t> ended;
  Time now{0};
  while (fluid.active() > 0) {
    now = fluid.next_end();
    ended.clear();
    fluid.end_due(now, ended);
    flows += ended.size();
    for (std::uint64_t host : ended) start(static_cast<EndpointId>(host), now);
    fluid.settle(now);
  }
  double seconds = app::cpu_seconds() - begin;
  const Fluid::Counters& c = fluid.counters();
  return {{"flows", flows},
          {"concurrent", concurrent},
          {"flows_per_cpu_second", static_cast<double>(flows) / seconds},
          {"simulated_ms", static_cast<double>(now.value) * 1e-9},
          {"settles", c.settles},
          {"rounds_per_settle", static_cast<double>(c.rounds) / static_cast<double>(c.settles)},
          {"filled_per_settle", static_cast<double>(c.filled) / static_cast<double>(c.settles)}};
}

/// A program with its dependencies, through the interface all engines share.
Json all_to_all() {
  machine::Machine m = machine::build(machine::describe_text(
      "[routing]\nkind = \"dimension-order\"\n[topology]\nkind = \"torus\"\ndims = [8, 8, 8]\n", "bench",
      {}));
  double begin = app::cpu_seconds();
  workload::ReplayText text;
  text.jobs = {{"all-to-all", {"bytes=64KiB"}, 512, "linear"}};
  workload::ReplayResult r = workload::replay(m, text);
  WEFT_CHECK(r.run.finished, "an all-to-all ends");
  return {{"flows", r.run.messages},
          {"flows_per_cpu_second", static_cast<double>(r.run.messages) / (app::cpu_seconds() - begin)},
          {"simulated_ms", static_cast<double>(r.run.completion.value) * 1e-9}};
}

void run(app::BenchResults& results) {
  for (const DynamicCase& one : dynamic_cases()) {
    if (!results.wants(one.name)) continue;
    Json figures = app::measure_in_own_process([&] { return come_and_go(one); });
    if (one.least_per_second > 0) figures["limit_flows_per_cpu_second"] = one.least_per_second;
    bool within = !figures.contains("error") && figures["flows_per_cpu_second"] >= one.least_per_second;
    results.add({one.name, std::move(figures), within});
  }
  if (const char* name = "program: 512 ranks, all-to-all, torus 8x8x8"; results.wants(name)) {
    Json program = app::measure_in_own_process(all_to_all);
    bool ran = !program.contains("error");
    results.add({name, std::move(program), ran});
  }
  for (const StaticCase& one : static_cases()) {
    if (!results.wants(one.name)) continue;
    Json figures = app::measure_in_own_process([&] { return solve(one); });
    figures["limit_seconds"] = one.most_seconds;
    figures["limit_bytes"] = one.most_bytes;
    bool within = !figures.contains("error") && figures["wall_seconds"] <= one.most_seconds &&
                  figures["peak_bytes"] <= one.most_bytes;
    results.add({one.name, std::move(figures), within});
  }
}

WEFT_REGISTER(app::Bench,
              {"flow",
               "the flow engine: a million endpoints at once, and flows that come and go; seconds, bytes and "
               "flows per CPU second",
               run});

}  // namespace

}  // namespace weft::bench
