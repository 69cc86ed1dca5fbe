// A million endpoints: graph and routes must stand within 10 seconds and 4 GiB, and the routes must work.
#include <fmt/format.h>

#include <algorithm>

#include "app/bench.hpp"
#include "base/random.hpp"
#include "machine/machine.hpp"

namespace weft::bench {

namespace {

using routing::Routing;
using topology::EndpointId;
using topology::Graph;
using topology::RouterId;

constexpr double kMostSeconds = 10;
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
constexpr std::uint32_t kWalks = 100'000;
constexpr std::uint64_t kSeed = 1;

struct Case {
  const char *name, *description;
};

constexpr Case kCases[] = {
    {"torus 100x100x100",
     "[topology]\nkind = \"torus\"\ndims = [100, 100, 100]\n[routing]\nkind = \"dimension-order\"\n"},
    {"fat tree of 1,000,000",
     "[topology]\nkind = \"fat-tree\"\nchildren = [100, 100, 100]\nparents = [1, 100, 100]\n[routing]\nkind "
     "= \"fat-tree\"\n"},
};

/// Walks one packet to its destination, always by the first candidate, and returns the cables it crossed.
std::uint64_t walk(const Graph& graph, const Routing& routing, EndpointId from, EndpointId to) {
  constexpr std::uint64_t kTooLong = 10'000;
  routing::Candidates candidates;
  routing::Hop hop{graph.endpoint_router(from), routing::kInjected, 0, false, to};
  std::uint64_t cables = 0;
  while (hop.router != graph.endpoint_router(to)) {
    candidates.clear();
    routing.candidates(hop, candidates);
    WEFT_CHECK(!candidates.empty(), fmt::format("a packet from endpoint {} to {} is stuck at {}", from, to,
                                                graph.router_name(hop.router)));
    WEFT_CHECK(++cables < kTooLong, fmt::format("a packet from endpoint {} to {} does not arrive", from, to));
    auto arrival = graph.peer(graph.port(hop.router, candidates[0].port));
    hop.router = graph.port_router(arrival);
    hop.in_port = graph.port_index(arrival);
    hop.in_class = candidates[0].channel_class;
  }
  return cables;
}

Json build_and_walk(const Case& one) {
  machine::Machine m = machine::build(machine::describe_text(one.description, "bench", {}));
  const Graph& graph = *m.graph;
  std::uint64_t cables = 0;
  for (std::uint32_t i = 0; i < kWalks; ++i)
    cables += walk(graph, *m.routing, random_below(kSeed, i, 0, graph.endpoints()),
                   random_below(kSeed, i, 1, graph.endpoints()));
  Json out{{"endpoints", graph.endpoints()},
           {"routers", graph.routers()},
           {"cables", graph.cables()},
           {"graph_bytes", graph.bytes()},
           {"routing_bytes", m.routing->bytes()},
           {"routes_walked", kWalks},
           {"cables_per_route", static_cast<double>(cables) / kWalks}};
  for (const machine::Stage& stage : m.stages) {
    std::string key = stage.name + "_seconds";
    std::replace(key.begin(), key.end(), ' ', '_');
    out[key] = stage.seconds;
  }
  return out;
}

void run(app::BenchResults& results) {
  for (const Case& one : kCases) {
    if (!results.wants(one.name)) continue;
    Json figures = app::measure_in_own_process([&] { return build_and_walk(one); });
    figures["limit_seconds"] = kMostSeconds;
    figures["limit_bytes"] = kMostBytes;
    bool within = !figures.contains("error") && figures["wall_seconds"] <= kMostSeconds &&
                  figures["peak_bytes"] <= kMostBytes;
    results.add({one.name, std::move(figures), within});
  }
}

WEFT_REGISTER(app::Bench, {"topology", "graph and routes of machines with a million endpoints", run});

}  // namespace

}  // namespace weft::bench
