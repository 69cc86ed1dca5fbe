#include "routing/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "routing/dependencies.hpp"
#include "routing/distances.hpp"
#include "routing/vias.hpp"

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
  std::uint32_t endpoints = 1;  // it stands for so many
};

std::vector<Target> targets_of(const Routing& routing) {
  const Graph& graph = routing.graph();
  std::vector<Target> out;
  for (std::uint32_t via = 0; via < routing.via_count(); ++via) out.push_back({via, true});
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (routing.faults().router_dead(r)) continue;
    std::map<std::uint32_t, std::size_t> keys;  // to the target that stands for it
    for (EndpointId e = graph.first_endpoint(r);
         e != kNone && e < graph.first_endpoint(r) + graph.endpoint_count(r); ++e) {
      auto [at, fresh] = keys.try_emplace(routing.destination_key(e), out.size());
      if (fresh)
        out.push_back({e, false});
      else
        ++out[at->second].endpoints;
    }
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
  Prover(const Routing& routing, const ChannelGroups& groups, const VerifyOptions& options)
      : routing_(routing),
        explorer_(routing),
        endpoint_routers_(living_routers(routing, true)),
        // The second leg starts wherever the first may end.
        starts_(routing.via_count() ? living_routers(routing, false) : endpoint_routers_) {
    if (routing.has_escape() && groups.complete())
      escape.emplace(routing);
    else
      local.emplace(routing, groups);
    if (routing.via_count()) first_legs.emplace(routing);
    if (options.balance) balance.emplace(routing);
  }

  /// Everything packets to a target can do, on all their legs.
  void explore(Target target) {
    if (target.via_leg || explores_twice()) explore_leg(target, false);
    if (!target.via_leg) explore_leg(target, routing_.via_count() > 0);
  }

  void visit_via(std::uint32_t via) {
    explore_leg({via, true}, false);
    first_legs->add(explorer_, via, endpoint_routers_);
    for (RouterId r : endpoint_routers_)
      if (explorer_.reached(r) && explorer_.longest(r) < StateExplorer::kStuck)
        longest_via = std::max(longest_via, explorer_.longest(r));
    if (balance) balance->add_first_leg(explorer_, via, endpoint_routers_);
  }

  /// `first`: the first legs of all places, where there are any.
  void visit_destination(EndpointId to, std::uint32_t endpoints, const FirstLegs* first,
                         const LoadMap* first_loads) {
    Target target{to, false};
    if (explores_twice()) {
      explore_leg(target, false);
      note_direct(to);
      if (balance) balance->add_destination(explorer_, to, endpoints, endpoint_routers_, nullptr);
    }
    explore_leg(target, routing_.via_count() > 0);
    if (!explores_twice()) note_direct(to);
    judge_destination(to, first);
    if (balance && !explores_twice())
      balance->add_destination(explorer_, to, endpoints, starts_, first_loads);
  }

  std::optional<LocalDependencies> local;
  std::optional<EscapeDependencies> escape;
  std::optional<FirstLegs> first_legs;
  std::optional<LoadMap> balance;
  Verdict verdict;
  std::uint32_t longest_via = 0, longest_direct = 0;

 private:
  /// Direct packets are looked at by themselves where they go otherwise than those on their second leg.
  bool explores_twice() const { return routing_.via_count() > 0 && routing_.tells_legs(); }

  void explore_leg(Target target, bool second_leg) {
    bool from_sources = target.via_leg || (explores_twice() && !second_leg);
    explorer_.explore(target.id, target.via_leg, from_sources ? endpoint_routers_ : starts_, second_leg);
    explorer_.measure();
    verdict.states += explorer_.states().size();
    if (local) local->add(explorer_, target.via_leg, second_leg);
    if (escape) escape->add(explorer_);
  }

  /// Keeps the lengths of the direct paths, which the exploration of second legs overwrites.
  void note_direct(EndpointId to) {
    direct_.assign(routing_.graph().routers(), 0);
    for (RouterId r : explores_twice() ? endpoint_routers_ : starts_)
      if (r != routing_.graph().endpoint_router(to)) direct_[r] = explorer_.longest(r);
  }

  void judge_destination(EndpointId to, const FirstLegs* first) {
    const Graph& graph = routing_.graph();
    RouterId goal = graph.endpoint_router(to);
    distances_to(graph, routing_.faults(), goal, left_, queue_);
    if (first) second_legs(*first, explorer_, goal, second_);
    if (explores_twice())
      for (RouterId r : starts_)
        if (r != goal && explorer_.longest(r) < StateExplorer::kStuck)
          longest_direct = std::max(longest_direct, explorer_.longest(r));
    for (RouterId r : explores_twice() ? endpoint_routers_ : starts_) {
      if (r == goal) continue;
      std::uint32_t hops = direct_[r];
      bool source = graph.endpoint_count(r) > 0;
      verdict.pairs += source;
      BrokenPair pair{r, to, hops == StateExplorer::kEndless, left_[r] == kUnreachable, kNone};
      bool stuck = hops >= StateExplorer::kStuck;
      if (source && (first ? breaks(r, goal, stuck, *first, pair) : stuck)) {
        ++verdict.broken_pairs, verdict.broken.push_back(pair);
        if (pair.cut_off) ++verdict.cut_off_pairs;
        if (verdict.broken.size() > 64) trim();
      }
      if (stuck) continue;
      longest_direct = std::max(longest_direct, hops);
      bool longer = routing_.max_hops() ? hops > routing_.max_hops() : hops != left_[r];
      if (longer && verdict.detours++ == 0) verdict.first_detour = {r, to};
    }
  }

  /// Can a packet come to nothing on a route with an intermediate place? The routing's table says which
  /// places a source draws from and whether it goes straight; without a table it is all of them.
  bool breaks(RouterId from, RouterId goal, bool direct_stuck, const FirstLegs& first, BrokenPair& pair) {
    const ViaTable* table = routing_.vias();
    bool serves = !table || table->direct(from, goal);
    if (serves && direct_stuck) return true;
    for (std::uint64_t w = 0; w < first.words(); ++w) {
      std::uint64_t drawn =
          table ? table->first(from)[w] & table->second(goal)[w] : places_elsewhere(from, w);
      // A sample does not know all places.
      std::uint64_t bad = drawn & first.added()[w] & ~(first.whole(from)[w] & second_[w]);
      if (bad) {
        pair.endless = false;
        pair.via = static_cast<std::uint32_t>(w * 64 + static_cast<unsigned>(std::countr_zero(bad)));
        return true;
      }
      serves |= drawn != 0;
    }
    return !serves;
  }

  /// Places of one word of bits that a router does not stand in.
  std::uint64_t places_elsewhere(RouterId from, std::uint64_t word) const {
    std::uint64_t out = 0;
    for (std::uint32_t via = static_cast<std::uint32_t>(word * 64);
         via < std::min<std::uint64_t>(word * 64 + 64, routing_.via_count()); ++via)
      if (!routing_.via_reached(from, via)) out |= std::uint64_t{1} << (via % 64);
    return out;
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
  std::vector<std::uint32_t> direct_;    // by router: the longest direct path to the destination at hand
  std::vector<FirstLegs::Word> second_;  // by place: whole for the destination at hand
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

/// Memory of the searches, by thread: states, the hops on from them, dependencies; and of the search for
/// cycles.
struct ProofBytes {
  double each = 0, once = 0;
};

ProofBytes bytes_of_proof(const Routing& routing, const ChannelGroups& groups, std::size_t targets) {
  const Graph& graph = routing.graph();
  double ports = graph.ports(), routers = graph.routers(), vertices = ports * groups.count();
  double states = routers + (routing.uses_input() ? ports * routing.classes() : 0);
  double in_use = routers + (routing.uses_input() ? ports : 0);  // of them, for one target
  double bits = 0;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    double columns = 1.0 * graph.port_count(r) * groups.count();
    bits += (columns + 4) * std::ceil(columns / 64) * 8 + 20;
  }
  bool escape = routing.has_escape() && groups.complete();
  return {states * 24 + in_use * 48 + routers * 16 +
              (escape ? EscapeDependencies::bytes_needed(routing) + ports * routing.classes() * 4 : bits),
          vertices * 16 + static_cast<double>(targets) * 8};
}

/// As many threads as there is memory for; throws UserError where there is not enough for one.
unsigned threads_that_fit(const Routing& routing, const ChannelGroups& groups, std::size_t targets,
                          unsigned wanted) {
  ProofBytes bytes = bytes_of_proof(routing, groups, targets);
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
  if (into.balance) into.balance->merge(*from.balance);
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

/// Who makes each dependency of the cycle: visits targets again, one at a time, until all are explained.
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

/// All destinations and places, or evenly spaced ones of them.
std::vector<Target> sampled(std::vector<Target> all, std::uint64_t sample) {
  if (!sample || sample >= all.size()) return all;
  std::vector<Target> some;
  for (std::uint64_t i = 0; i < sample; ++i) some.push_back(all[i * all.size() / sample]);
  return some;
}

/// Lets the provers visit every target, side by side.
void visit_all(const Routing& routing, const VerifyOptions& options, const std::vector<Target>& targets,
               std::vector<Prover>& provers) {
  const auto threads = static_cast<unsigned>(provers.size());
  std::uint64_t done = 0;
  std::mutex progress_guard;
  auto tell = [&] {
    if (!options.progress) return;
    std::lock_guard lock(progress_guard);
    options.progress(++done, targets.size());
  };
  // Places come first: what a second leg must do follows from where the first legs end.
  std::uint64_t vias = 0;
  while (vias < targets.size() && targets[vias].via_leg) ++vias;
  parallel_for(vias, threads, [&](unsigned thread, std::uint64_t i) {
    provers[thread].visit_via(targets[i].id);
    tell();
  });
  std::optional<FirstLegs> first;
  std::optional<LoadMap> first_loads;
  if (routing.via_count()) {
    first.emplace(*provers.front().first_legs);
    for (unsigned t = 1; t < threads; ++t) first->merge(*provers[t].first_legs);
    if (options.balance) {
      first_loads.emplace(*provers.front().balance);
      for (unsigned t = 1; t < threads; ++t) first_loads->merge(*provers[t].balance);
    }
  }
  parallel_for(targets.size() - vias, threads, [&](unsigned thread, std::uint64_t i) {
    const Target& target = targets[vias + i];
    provers[thread].visit_destination(target.id, target.endpoints, first ? &*first : nullptr,
                                      first_loads ? &*first_loads : nullptr);
    tell();
  });
}

/// The part of the verdict that is about deadlock.
void prove_free_of_deadlock(const Routing& routing, const ChannelGroups& groups,
                            const std::vector<Target>& targets, Prover& whole, Verdict& out) {
  const Graph& graph = routing.graph();
  std::vector<std::uint64_t> cycle;
  std::vector<CycleHop> hops;
  if (whole.local) {
    if (routing.via_count()) whole.local->join_legs();
    auto successors = [&](std::uint64_t v, const auto& call) { whole.local->successors(v, call); };
    out.channels = 2 * std::uint64_t{graph.cables()} * groups.count();
    out.dependencies = whole.local->edges();
    cycle = find_cycle(whole.local->vertices(), successors);
    for (std::uint64_t v : cycle)
      hops.push_back({graph.peer(static_cast<PortId>(v / groups.count())),
                      groups.first_channel(static_cast<unsigned>(v % groups.count())), kNone, false});
  } else {
    out.escape_proof = true;
    auto successors = [&](std::uint64_t v, const auto& call) { whole.escape->successors(v, call); };
    out.channels = whole.escape->vertices();
    out.dependencies = whole.escape->edges();
    out.without_escape = whole.escape->without_escape();
    cycle = find_cycle(whole.escape->vertices(), successors);
    for (std::uint64_t v : cycle)
      hops.push_back({graph.peer(whole.escape->port(v)),
                      groups.first_channel(groups.of_class(whole.escape->channel_class(v))), kNone, false});
  }
  explain(cycle, targets, whole, hops);
  out.cycle = std::move(hops);
}

}  // namespace

Verdict verify(const Routing& routing, const VerifyOptions& options) {
  ChannelGroups groups(routing, options.channels);
  std::vector<Target> targets = targets_of(routing);
  const std::size_t all_targets = targets.size();
  targets = sampled(std::move(targets), options.sample);
  refuse_if_too_large(routing, options, targets.size());

  std::size_t wanted = options.threads ? options.threads : default_threads();
  wanted = std::clamp<std::size_t>(targets.size(), 1, wanted);  // more would have nothing to do
  unsigned threads = threads_that_fit(routing, groups, all_targets, static_cast<unsigned>(wanted));
  std::vector<Prover> provers;
  for (unsigned t = 0; t < threads; ++t) provers.emplace_back(routing, groups, options);
  visit_all(routing, options, targets, provers);

  Prover& whole = provers.front();
  for (unsigned t = 1; t < threads; ++t) merge(whole, provers[t]);
  Verdict out = std::move(whole.verdict);
  out.destinations = all_targets;
  out.visited = targets.size();
  out.tables = routing.tables();
  out.enough_channels = groups.complete();
  if (whole.balance) out.balance = whole.balance->by_tier();
  std::sort(out.broken.begin(), out.broken.end(), [](const BrokenPair& a, const BrokenPair& b) {
    return std::pair(a.destination, a.source) < std::pair(b.destination, b.source);
  });
  out.broken.resize(std::min<std::size_t>(out.broken.size(), 8));
  out.longest = whole.longest_via + whole.longest_direct;
  if (routing.via_count() && out.longest > routing.max_hops()) ++out.detours;
  prove_free_of_deadlock(routing, groups, targets, whole, out);
  return out;
}

}  // namespace weft::routing
