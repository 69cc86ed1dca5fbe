#include "routing/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>

#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "routing/dependencies.hpp"
#include "routing/distances.hpp"

namespace weft::routing {

bool Verdict::tables_fit() const {
  return std::all_of(tables.begin(), tables.end(),
                     [](const TableUse& t) { return t.limit == 0 || t.used <= t.limit; });
}

namespace {

/// One target: an endpoint that stands for all routed like it, or an intermediate place.
struct Target {
  std::uint32_t id;
  bool via_leg;
};

std::vector<Target> targets_of(const Routing& routing) {
  const Graph& graph = routing.graph();
  std::vector<Target> out;
  for (std::uint32_t via = 0; via < routing.via_count(); ++via) out.push_back({via, true});
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (routing.faults().router_dead(r)) continue;
    std::set<std::uint32_t> keys;
    for (EndpointId e = graph.first_endpoint(r);
         e != kNone && e < graph.first_endpoint(r) + graph.endpoint_count(r); ++e)
      if (keys.insert(routing.destination_key(e)).second) out.push_back({e, false});
  }
  return out;
}

std::vector<RouterId> living_routers(const Routing& routing, bool only_with_endpoints) {
  std::vector<RouterId> out;
  for (RouterId r = 0; r < routing.graph().routers(); ++r)
    if (!routing.faults().router_dead(r) && (!only_with_endpoints || routing.graph().endpoint_count(r) > 0))
      out.push_back(r);
  return out;
}

/// Visits targets; one for each thread.
class Prover {
 public:
  Prover(const Routing& routing, const Lanes& lanes)
      : routing_(routing),
        explorer_(routing),
        endpoint_routers_(living_routers(routing, true)),
        // The second leg starts wherever the first may end.
        starts_(routing.via_count() ? living_routers(routing, false) : endpoint_routers_) {
    if (routing.has_escape() && lanes.complete())
      escape.emplace(routing);
    else
      local.emplace(routing, lanes);
  }

  void explore(Target target) {
    explorer_.explore(target.id, target.via_leg, target.via_leg ? endpoint_routers_ : starts_);
    explorer_.measure();
    if (local) local->add(explorer_, target.via_leg);
    if (escape) escape->add(explorer_);
  }

  void visit(Target target) {
    explore(target);
    verdict.states += explorer_.states().size();
    if (target.via_leg)
      judge_via();
    else
      judge_destination(target.id);
  }

  std::optional<LocalDependencies> local;
  std::optional<EscapeDependencies> escape;
  Verdict verdict;
  std::uint32_t longest_via = 0, longest_direct = 0;

 private:
  void judge_via() {
    for (RouterId r : endpoint_routers_)
      if (explorer_.reached(r) && explorer_.longest(r) < StateExplorer::kStuck)
        longest_via = std::max(longest_via, explorer_.longest(r));
  }

  void judge_destination(EndpointId to) {
    const Graph& graph = routing_.graph();
    RouterId goal = graph.endpoint_router(to);
    distances_to(graph, routing_.faults(), goal, left_, queue_);
    for (RouterId r : starts_) {
      if (r == goal) continue;
      std::uint32_t hops = explorer_.longest(r);
      bool source = graph.endpoint_count(r) > 0;
      verdict.pairs += source;
      if (hops >= StateExplorer::kStuck) {
        BrokenPair pair{r, to, hops == StateExplorer::kEndless, left_[r] == kUnreachable};
        if (source) ++verdict.broken_pairs, verdict.broken.push_back(pair);
        if (source && pair.cut_off) ++verdict.cut_off_pairs;
        if (verdict.broken.size() > 64) trim();
        continue;
      }
      longest_direct = std::max(longest_direct, hops);
      bool longer = routing_.max_hops() ? hops > routing_.max_hops() : hops != left_[r];
      if (longer && verdict.detours++ == 0) verdict.first_detour = {r, to};
    }
  }

  void trim() {
    std::sort(verdict.broken.begin(), verdict.broken.end(), [](const BrokenPair& a, const BrokenPair& b) {
      return std::pair(a.destination, a.source) < std::pair(b.destination, b.source);
    });
    verdict.broken.resize(std::min<std::size_t>(verdict.broken.size(), 8));
  }

  const Routing& routing_;
  StateExplorer explorer_;
  std::vector<RouterId> endpoint_routers_, starts_;
  std::vector<std::uint16_t> left_;
  std::vector<RouterId> queue_;
};

void refuse_if_too_large(const Routing& routing, const VerifyOptions& options, std::size_t targets) {
  double states = routing.graph().routers() + (routing.uses_input() ? 2.0 * routing.graph().cables() : 0);
  double visits = states * static_cast<double>(targets);
  if (visits > options.max_states)
    throw UserError(fmt::format(
        "a proof for this machine would visit about {:.2g} states, hours of work; check a smaller "
        "instance, or look at some destinations with --sample (which is no proof)",
        visits));
  double limit = 3.0 * (1u << 30);
  if (double bytes = EscapeDependencies::bytes_needed(routing); routing.has_escape() && bytes > limit)
    throw UserError(
        fmt::format("a proof of the escape channels of this machine would take {:.0f} GiB; check a smaller "
                    "instance of it",
                    bytes / (1u << 30)));
}

/// Memory of the searches, by thread: states, the ways on from them, dependencies; and of the search for
/// circles.
struct ProofBytes {
  double each = 0, once = 0;
};

ProofBytes bytes_of_proof(const Routing& routing, const Lanes& lanes, std::size_t targets) {
  const Graph& graph = routing.graph();
  double ports = graph.ports(), routers = graph.routers(), vertices = ports * lanes.count();
  double states = routers + (routing.uses_input() ? ports * routing.classes() : 0);
  double in_use = routers + (routing.uses_input() ? ports : 0);  // of them, for one target
  double bits = 0;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    double columns = 1.0 * graph.port_count(r) * lanes.count();
    bits += (columns + 4) * std::ceil(columns / 64) * 8 + 20;
  }
  bool escape = routing.has_escape() && lanes.complete();
  return {states * 24 + in_use * 48 + routers * 16 +
              (escape ? EscapeDependencies::bytes_needed(routing) + ports * routing.classes() * 4 : bits),
          vertices * 16 + static_cast<double>(targets) * 8};
}

/// As many threads as there is memory for; throws UserError where there is not enough for one.
unsigned threads_that_fit(const Routing& routing, const Lanes& lanes, std::size_t targets, unsigned wanted) {
  ProofBytes bytes = bytes_of_proof(routing, lanes, targets);
  if (bytes.each * wanted + bytes.once <= kSurelyThere) return wanted;
  require_memory(
      bytes.each + bytes.once,
      fmt::format("looking at this machine's routing ({} with {})",
                  count_of(routing.graph().routers(), "router"), count_of(routing.graph().ports(), "port")),
      "check a smaller instance of it");
  auto more = static_cast<double>(memory_left()) - bytes.once;
  return static_cast<unsigned>(std::clamp(more / bytes.each, 1.0, static_cast<double>(wanted)));
}

void merge(Prover& into, Prover& from) {
  if (into.local) into.local->merge(*from.local);
  if (into.escape) into.escape->merge(*from.escape);
  Verdict& a = into.verdict;
  const Verdict& b = from.verdict;
  a.pairs += b.pairs;
  a.broken_pairs += b.broken_pairs;
  a.cut_off_pairs += b.cut_off_pairs;
  a.states += b.states;
  a.broken.insert(a.broken.end(), b.broken.begin(), b.broken.end());
  auto place = [](const BrokenPair& p) { return std::pair(p.destination, p.source); };
  if (b.detours && (!a.detours || place(b.first_detour) < place(a.first_detour)))
    a.first_detour = b.first_detour;
  a.detours += b.detours;
  into.longest_via = std::max(into.longest_via, from.longest_via);
  into.longest_direct = std::max(into.longest_direct, from.longest_direct);
}

/// Who makes each dependency of the circle: visits targets again, one at a time, until all are explained.
void explain(const std::vector<std::uint64_t>& cycle, const std::vector<Target>& targets, Prover& prover,
             std::vector<CycleHop>& hops) {
  std::size_t unexplained = cycle.size();
  for (const Target& target : targets) {
    if (unexplained == 0) return;
    if (prover.local) prover.local->clear();
    if (prover.escape) prover.escape->clear();
    prover.explore(target);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      std::uint64_t from = cycle[i], to = cycle[(i + 1) % cycle.size()];
      if (hops[i].target != kNone ||
          !(prover.local ? prover.local->has(from, to) : prover.escape->has(from, to)))
        continue;
      hops[i].target = target.id;
      hops[i].via_leg = target.via_leg;
      --unexplained;
    }
  }
}

}  // namespace

Verdict verify(const Routing& routing, const VerifyOptions& options) {
  const Graph& graph = routing.graph();
  Lanes lanes(routing, options.channels);
  std::vector<Target> targets = targets_of(routing);
  std::size_t all_targets = targets.size();
  if (options.sample && options.sample < targets.size()) {
    std::vector<Target> some;
    for (std::uint64_t i = 0; i < options.sample; ++i)
      some.push_back(targets[i * targets.size() / options.sample]);
    targets = some;
  }
  refuse_if_too_large(routing, options, targets.size());

  std::size_t wanted = options.threads ? options.threads : default_threads();
  wanted = std::clamp<std::size_t>(targets.size(), 1, wanted);  // more would have nothing to do
  unsigned threads = threads_that_fit(routing, lanes, all_targets, static_cast<unsigned>(wanted));
  std::vector<Prover> provers;
  for (unsigned t = 0; t < threads; ++t) provers.emplace_back(routing, lanes);
  std::uint64_t done = 0;
  std::mutex progress_guard;
  parallel_for(targets.size(), threads, [&](unsigned thread, std::uint64_t i) {
    provers[thread].visit(targets[i]);
    if (!options.progress) return;
    std::lock_guard lock(progress_guard);
    options.progress(++done, targets.size());
  });

  Prover& whole = provers.front();
  for (unsigned t = 1; t < threads; ++t) merge(whole, provers[t]);
  Verdict out = std::move(whole.verdict);
  out.destinations = all_targets;
  out.visited = targets.size();
  out.tables = routing.tables();
  std::sort(out.broken.begin(), out.broken.end(), [](const BrokenPair& a, const BrokenPair& b) {
    return std::pair(a.destination, a.source) < std::pair(b.destination, b.source);
  });
  out.broken.resize(std::min<std::size_t>(out.broken.size(), 8));
  out.longest = whole.longest_via + whole.longest_direct;
  if (routing.via_count() && out.longest > routing.max_hops()) ++out.detours;

  std::vector<std::uint64_t> cycle;
  std::vector<CycleHop> hops;
  if (whole.local) {
    if (routing.via_count()) whole.local->join_legs();
    auto successors = [&](std::uint64_t v, const auto& call) { whole.local->successors(v, call); };
    out.channels = 2 * std::uint64_t{graph.cables()} * lanes.count();
    out.dependencies = whole.local->edges();
    cycle = find_cycle(whole.local->vertices(), successors);
    for (std::uint64_t v : cycle)
      hops.push_back({graph.peer(static_cast<PortId>(v / lanes.count())),
                      lanes.first_channel(static_cast<unsigned>(v % lanes.count())), kNone, false});
  } else {
    out.escape_proof = true;
    auto successors = [&](std::uint64_t v, const auto& call) { whole.escape->successors(v, call); };
    out.channels = whole.escape->vertices();
    out.dependencies = whole.escape->edges();
    out.without_escape = whole.escape->without_escape();
    cycle = find_cycle(whole.escape->vertices(), successors);
    for (std::uint64_t v : cycle)
      hops.push_back({graph.peer(whole.escape->port(v)),
                      lanes.first_channel(lanes.of_class(whole.escape->channel_class(v))), kNone, false});
  }
  explain(cycle, targets, whole, hops);
  out.cycle = std::move(hops);
  return out;
}

}  // namespace weft::routing
