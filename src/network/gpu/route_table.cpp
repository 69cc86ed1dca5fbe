#include "network/gpu/route_table.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <numeric>

#include "base/memory_left.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "routing/states.hpp"

namespace weft::network::gpu {

namespace {

using routing::Routing;
using routing::StateExplorer;

/// Answers, each stored once. From any thread.
class Answers {
 public:
  explicit Answers(std::vector<u32>& words) : words_(words) {}
  u32 place_of(const std::vector<u32>& answer) {
    std::lock_guard lock(guard_);
    auto [at, fresh] = places_.try_emplace(answer, static_cast<u32>(words_.size()));
    if (fresh) {
      words_.push_back(static_cast<u32>(answer.size()));
      words_.insert(words_.end(), answer.begin(), answer.end());
    }
    return at->second;
  }

 private:
  std::mutex guard_;
  std::map<std::vector<u32>, u32> places_;
  std::vector<u32>& words_;
};

/// What a thread has seen: most answers are those of a moment ago, and need no lock.
class Recent {
 public:
  explicit Recent(Answers& answers) : answers_(answers) {}
  u32 place_of(const std::vector<u32>& answer) {
    auto found = places_.find(answer);
    if (found == places_.end()) found = places_.emplace(answer, answers_.place_of(answer)).first;
    return found->second;
  }

 private:
  Answers& answers_;
  std::map<std::vector<u32>, u32> places_;
};

/// Fills one column from all that a packet to one target can meet.
void fill_column(const RouteTable& table, const StateExplorer& states, const topology::Graph& graph,
                 Recent& answers, std::vector<u32>& out, u32 column, u32 columns) {
  std::vector<u32> answer;
  for (std::uint32_t state : states.states()) {
    const topology::RouterId router = states.router_of(state);
    u32 row = table.first_row[router];
    if (topology::PortId in = states.in_port_of(state); in != topology::kNone)
      row += 1 + graph.port_index(in) * table.classes + states.in_class_of(state);
    answer.clear();
    for (const auto* edge = states.edges_begin(state); edge != states.edges_end(state); ++edge)
      answer.push_back(u32{graph.port_index(edge->out_port)} << 8 | edge->channel_class);
    out[std::size_t{row} * columns + column] = answers.place_of(answer);
  }
}

/// Which endpoints are routed alike: one of each group.
std::vector<topology::EndpointId> group_endpoints(const Routing& routing, std::vector<u32>& column) {
  const topology::Graph& graph = routing.graph();
  std::map<std::pair<topology::RouterId, std::uint32_t>, u32> groups;
  std::vector<topology::EndpointId> first;
  for (topology::EndpointId e = 0; e < graph.endpoints(); ++e) {
    auto [at, fresh] = groups.try_emplace({graph.endpoint_router(e), routing.destination_key(e)},
                                          static_cast<u32>(first.size()));
    if (fresh) first.push_back(e);
    column.push_back(at->second);
  }
  return first;
}

}  // namespace

RouteTable::RouteTable(const Routing& routing) : classes(routing.classes()), by_input(routing.uses_input()) {
  const topology::Graph& graph = routing.graph();
  const std::vector<topology::EndpointId> targets = group_endpoints(routing, column);
  columns = static_cast<u32>(targets.size());
  vias = routing.via_count();
  std::uint64_t all_rows = 0;
  for (topology::RouterId r = 0; r < graph.routers(); ++r) {
    first_row.push_back(static_cast<u32>(all_rows));
    all_rows += by_input ? 1 + std::uint64_t{graph.port_count(r)} * classes : 1;
  }
  const bool tells_legs = vias && routing.tells_legs();
  require_memory(static_cast<double>(all_rows) * 4 * (columns * (tells_legs ? 2.0 : 1.0) + vias),
                 fmt::format("a table of the routes between {}", count_of(graph.routers(), "router")),
                 "--engine flit asks the routing instead");
  rows = static_cast<u32>(all_rows);
  for (unsigned c = 0; c < classes; ++c)
    escape_classes |= u32{routing.is_escape(static_cast<routing::ChannelClass>(c))} << c;
  answer.assign(std::size_t{rows} * columns, 0);
  via_answer.assign(std::size_t{rows} * vias, 0);
  if (tells_legs) later_answer = answer;

  std::vector<topology::RouterId> everywhere(graph.routers());
  std::iota(everywhere.begin(), everywhere.end(), 0u);
  Answers answers(candidates);
  const unsigned threads = default_threads();
  struct Mine {
    StateExplorer states;
    Recent answers;
  };
  std::vector<std::unique_ptr<Mine>> mine(threads);
  parallel_for(std::uint64_t{columns} + vias, threads, [&](unsigned thread, std::uint64_t i) {
    if (!mine[thread])
      mine[thread] = std::unique_ptr<Mine>(new Mine{StateExplorer(routing), Recent(answers)});
    auto& [states, seen] = *mine[thread];
    if (i >= columns) {
      states.explore(static_cast<u32>(i) - columns, true, everywhere);
      return fill_column(*this, states, graph, seen, via_answer, static_cast<u32>(i) - columns, vias);
    }
    states.explore(targets[i], false, everywhere);
    fill_column(*this, states, graph, seen, answer, static_cast<u32>(i), columns);
    if (!tells_legs) return;
    states.explore(targets[i], false, everywhere, true);
    fill_column(*this, states, graph, seen, later_answer, static_cast<u32>(i), columns);
  });
  for (std::size_t i = 1; i < candidates.size(); i += 1 + candidates[i])
    for (u32 k = 1; k < candidates[i]; ++k)
      several_outputs |= candidates[i + 1 + k] >> 8 != candidates[i + 1] >> 8;
  if (!vias) return;
  several_outputs |= routing.may_go_direct();
  via_words = (vias + 31) / 32;
  via_reached.assign(std::size_t{graph.routers()} * via_words, 0);
  for (topology::RouterId r = 0; r < graph.routers(); ++r)
    for (u32 v = 0; v < vias; ++v)
      via_reached[std::size_t{r} * via_words + v / 32] |= u32{routing.via_reached(r, v)} << (v & 31);
}

}  // namespace weft::network::gpu
