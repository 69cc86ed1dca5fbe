#include "routing/vias.hpp"

#include <algorithm>

#include "routing/distances.hpp"

namespace weft::routing {

FirstLegs::FirstLegs(const Routing& routing)
    : routing_(routing), words_((routing.via_count() + 63) / 64), arrivals_(routing.via_count()) {
  check_table_bytes(8.0 * static_cast<double>(words_) * routing.graph().routers(),
                    "tables of intermediate places");
  whole_.assign(words_ * routing.graph().routers(), 0);
  added_.assign(words_, 0);
}

void FirstLegs::add(const StateExplorer& explorer, std::uint32_t via, const std::vector<RouterId>& sources) {
  const Graph& graph = routing_.graph();
  added_[via / 64] |= Word{1} << (via % 64);
  std::vector<RouterId>& ends = arrivals_[via];
  for (std::uint32_t state : explorer.states())
    for (auto* e = explorer.edges_begin(state); e != explorer.edges_end(state); ++e)
      if (e->next == StateExplorer::kArrived) ends.push_back(graph.port_router(graph.peer(e->out_port)));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (RouterId r : sources)
    if (explorer.reached(r) && explorer.longest(r) < StateExplorer::kStuck)
      whole_[r * words_ + via / 64] |= Word{1} << (via % 64);
}

void FirstLegs::merge(const FirstLegs& other) {
  for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i] |= other.whole_[i];
  for (std::size_t i = 0; i < added_.size(); ++i) added_[i] |= other.added_[i];
  for (std::size_t via = 0; via < arrivals_.size(); ++via)
    if (!other.arrivals_[via].empty()) arrivals_[via] = other.arrivals_[via];
}

void second_legs(const FirstLegs& first, const StateExplorer& explorer, RouterId goal,
                 std::vector<FirstLegs::Word>& out) {
  out.assign(first.words(), 0);
  std::uint32_t count = static_cast<std::uint32_t>(first.places());
  for (std::uint32_t via = 0; via < count; ++via) {
    const auto& ends = first.arrivals(via);
    bool whole = std::all_of(ends.begin(), ends.end(), [&](RouterId r) {
      return r == goal || (explorer.reached(r) && explorer.longest(r) < StateExplorer::kStuck);
    });
    if (whole) out[via / 64] |= FirstLegs::Word{1} << (via % 64);
  }
}

ViaTable::ViaTable(const Routing& routing) : first_(routing) {
  const Graph& graph = routing.graph();
  std::vector<RouterId> sources, starts;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (routing.faults().router_dead(r)) continue;
    starts.push_back(r);  // a second leg starts wherever the first may end
    if (graph.endpoint_count(r) > 0) sources.push_back(r);
  }
  StateExplorer explorer(routing);
  for (std::uint32_t via = 0; via < routing.via_count(); ++via) {
    explorer.explore(via, true, sources);
    explorer.measure();
    first_.add(explorer, via, sources);
  }
  DestinationRouters destinations(graph);
  column_ = destinations.index;
  direct_words_ = (graph.routers() + 63) / 64;
  check_table_bytes(8.0 * static_cast<double>(direct_words_ + first_.words()) *
                        static_cast<double>(destinations.routers.size()),
                    "tables of intermediate places");
  direct_.assign(destinations.routers.size() * direct_words_, 0);
  second_.assign(destinations.routers.size() * first_.words(), ~Word{0});
  std::vector<Word> second;
  for (RouterId to : destinations.routers) {
    if (routing.faults().router_dead(to)) {
      std::fill_n(&second_[column_[to] * first_.words()], first_.words(), 0);
      continue;
    }
    Word* direct = &direct_[column_[to] * direct_words_];
    for (RouterId r : starts) direct[r / 64] |= Word{1} << (r % 64);
    std::vector<std::uint32_t> keys;
    for (EndpointId e = graph.first_endpoint(to); e < graph.first_endpoint(to) + graph.endpoint_count(to);
         ++e) {
      std::uint32_t key = routing.destination_key(e);
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      keys.push_back(key);
      explorer.explore(e, false, starts);
      explorer.measure();
      for (RouterId r : starts)
        if (r != to && explorer.longest(r) >= StateExplorer::kStuck) direct[r / 64] &= ~(Word{1} << (r % 64));
      if (routing.tells_legs()) {
        explorer.explore(e, false, starts, true);
        explorer.measure();
      }
      second_legs(first_, explorer, to, second);
      for (std::uint64_t w = 0; w < first_.words(); ++w)
        second_[column_[to] * first_.words() + w] &= second[w];
    }
  }
}

std::uint64_t ViaTable::bytes() const {
  return (direct_.size() + second_.size()) * sizeof(Word) + column_.size() * sizeof(std::uint32_t);
}

// Here, and not beside the other methods: those of a routing need not know how its places are found.
void Routing::find_vias() {
  if (via_count() > 0 && faults_.any()) vias_ = std::make_shared<ViaTable>(*this);
}

}  // namespace weft::routing
