#include "routing/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "routing/distances.hpp"

namespace weft::routing {

std::string FailureSet::text(const Graph& graph) const {
  std::vector<std::string> parts;
  for (topology::CableId c : cables) parts.push_back("cable " + graph.port_name(graph.cable_ends(c).a));
  for (RouterId r : routers) parts.push_back("router " + graph.router_name(r));
  return join(parts, " and ");
}

std::uint64_t Survey::count(bool FailureCase::*what) const {
  return static_cast<std::uint64_t>(
      std::count_if(cases.begin(), cases.end(), [&](const FailureCase& c) { return c.*what; }));
}

std::vector<EndpointId> cut_off_endpoints(const Graph& graph, const topology::Faults& faults) {
  std::vector<std::uint32_t> piece(graph.routers(), kNone);
  std::vector<std::uint64_t> endpoints;
  std::vector<std::uint16_t> hops;
  std::vector<RouterId> queue;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (piece[r] != kNone || faults.router_dead(r)) continue;
    distances_to(graph, faults, r, hops, queue);
    endpoints.push_back(0);
    for (RouterId member : queue) {
      piece[member] = static_cast<std::uint32_t>(endpoints.size() - 1);
      endpoints.back() += graph.endpoint_count(member);
    }
  }
  std::vector<EndpointId> out;
  if (endpoints.empty()) endpoints.push_back(0);
  auto main =
      static_cast<std::uint32_t>(std::max_element(endpoints.begin(), endpoints.end()) - endpoints.begin());
  for (EndpointId e = 0; e < graph.endpoints(); ++e)
    if (piece[graph.endpoint_router(e)] != main) out.push_back(e);
  return out;
}

namespace {

/// Cables first, then routers; those already dead cannot fail again.
std::vector<FailureSet> living_parts(const Graph& graph, const topology::Faults& already) {
  std::vector<FailureSet> out;
  for (topology::CableId c = 0; c < graph.cables(); ++c)
    if (already.usable(graph, graph.cable_ends(c).a)) out.push_back({{c}, {}});
  for (RouterId r = 0; r < graph.routers(); ++r)
    if (!already.router_dead(r)) out.push_back({{}, {r}});
  return out;
}

/// The i-th sampled set: 2 to `faults` different parts, larger sets as often as smaller ones.
FailureSet sampled_set(const std::vector<FailureSet>& parts, unsigned faults, std::uint64_t seed,
                       std::uint64_t i) {
  auto wanted = std::min<std::size_t>(2 + i % (faults - 1), parts.size());
  std::vector<std::uint32_t> chosen;
  for (std::uint64_t step = 0; chosen.size() < wanted; ++step) {
    std::uint32_t part = random_below(seed, i, step, static_cast<std::uint32_t>(parts.size()));
    if (std::find(chosen.begin(), chosen.end(), part) == chosen.end()) chosen.push_back(part);
  }
  std::sort(chosen.begin(), chosen.end());
  FailureSet out;
  for (std::uint32_t part : chosen) {
    out.cables.insert(out.cables.end(), parts[part].cables.begin(), parts[part].cables.end());
    out.routers.insert(out.routers.end(), parts[part].routers.begin(), parts[part].routers.end());
  }
  return out;
}

FailureCase judge(FailureSet failed, const RoutingKind& kind, const void* parameters, const Graph& graph,
                  const topology::Faults& already, const VerifyOptions& how) {
  topology::Faults faults = already;
  for (topology::CableId c : failed.cables) faults.kill_cable(c);
  for (RouterId r : failed.routers) faults.kill_router(r);
  FailureCase out;
  out.failed = std::move(failed);
  out.cut_off = cut_off_endpoints(graph, faults);
  if (out.cut_off.size() == graph.endpoints()) {  // nobody is left to talk
    out.own_serves = out.serves = true;
    out.rerouted = kind.name;
    return out;
  }
  Rerouted left = reroute(kind, parameters, graph, faults, how);
  const Verdict& v = left.verdict;
  out.own_serves = left.own_serves;
  out.own_broken = left.own_broken;
  out.rerouted = left.name;
  out.serves = v.serves_what_is_left();
  out.longest = v.longest;
  out.cut_off_pairs = v.cut_off_pairs;
  return out;
}

}  // namespace

Survey survey(const RoutingKind& kind, const void* parameters, const Graph& graph,
              const topology::Faults& already, const SurveyOptions& options) {
  std::vector<FailureSet> parts = living_parts(graph, already);
  Survey out;
  out.possible_singles = parts.size();
  std::vector<FailureSet> sets = parts;
  if (options.most_singles && options.most_singles < sets.size()) {
    std::vector<FailureSet> some;
    for (std::uint64_t i = 0; i < options.most_singles; ++i)
      some.push_back(sets[i * sets.size() / options.most_singles]);
    sets = std::move(some);
  }
  out.all_singles = sets.size() == parts.size();
  if (options.faults > 1 && parts.size() > 1)
    for (std::uint64_t i = 0; i < options.most; ++i)
      sets.push_back(sampled_set(parts, options.faults, options.seed, i));

  // A thread for each case: proofs of small machines are too short to share.
  VerifyOptions how = options.verify;
  unsigned threads = how.threads ? how.threads : default_threads();
  how.threads = 1;
  how.progress = nullptr;
  out.cases.resize(sets.size());
  std::uint64_t done = 0;
  std::mutex guard;
  parallel_for(sets.size(), threads, [&](unsigned, std::uint64_t i) {
    out.cases[i] = judge(std::move(sets[i]), kind, parameters, graph, already, how);
    if (!options.progress) return;
    std::lock_guard lock(guard);
    options.progress(++done, out.cases.size());
  });
  return out;
}

}  // namespace weft::routing
