// What the tests of topologies share: one kind built without the rest of a machine, and walks along its
// cables.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "topology/kind.hpp"

namespace weft::topology::testing {

using Settings = std::vector<std::string>;

inline CableType cable_of(std::string name, Length length) {
  CableType type;
  type.name = std::move(name);
  type.length = length;
  return type;
}

/// A kind with its parameters read, as a machine's description would read them.
class Reading {
 public:
  Reading(std::string_view kind, const Settings& settings, std::vector<CableType> cables)
      : kind_(Topologies::find(kind)), context_{std::move(cables)} {
    WEFT_CHECK(kind_ != nullptr, "topology " + std::string(kind));
    Diagnostics problems;
    config::Node tree = config::parse_toml("[topology]", "test", problems);
    for (const std::string& setting : settings)
      config::merge(*tree.table(), *config::parse_override("topology." + setting, problems).table());
    std::vector<config::Setting> ignored;
    config::Reader reader{problems, ignored};
    for (const CableType& type : context_.cable_types) reader.names["cable"].push_back(type.name);
    parameters_ = kind_->section.make();
    kind_->section.read(parameters_.get(), tree.table()->find("topology"), "topology", reader);
    for (const Diagnostic& problem : problems.all()) errors.push_back(problem.key + ": " + problem.message);
  }

  Size size() const { return kind_->size(parameters_.get()); }
  Graph build() const { return kind_->build(parameters_.get(), context_); }

  std::vector<std::string> errors;

 private:
  const TopologyKind* kind_;
  BuildContext context_;
  std::shared_ptr<void> parameters_;
};

/// The graph of a kind; the counts promised before building must be those built.
inline Graph build(std::string_view kind, const Settings& settings,
                   std::vector<CableType> cables = {cable_of("default", {2000})}) {
  Reading reading(kind, settings, std::move(cables));
  EXPECT_EQ(reading.errors, std::vector<std::string>{}) << kind;
  Size size = reading.size();
  Graph graph = reading.build();
  EXPECT_EQ(size.routers, graph.routers()) << kind;
  EXPECT_EQ(size.endpoints, graph.endpoints()) << kind;
  EXPECT_EQ(size.ports, graph.ports()) << kind;
  return graph;
}

inline std::vector<std::string> errors(std::string_view kind, const Settings& settings) {
  return Reading(kind, settings, {cable_of("default", {2000})}).errors;
}

/// Cables crossed from one router to every other; kNone where there is no path.
inline std::vector<std::uint32_t> distances(const Graph& graph, RouterId from) {
  std::vector<std::uint32_t> out(graph.routers(), kNone);
  std::vector<RouterId> queue{from};
  out[from] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (PortId p = graph.port_begin(queue[i]); p < graph.port_begin(queue[i] + 1); ++p)
      if (PortId peer = graph.peer(p); peer != kNone && out[graph.port_router(peer)] == kNone) {
        out[graph.port_router(peer)] = out[queue[i]] + 1;
        queue.push_back(graph.port_router(peer));
      }
  return out;
}

/// The longest of all shortest paths between two routers; kNone where the graph falls apart.
inline std::uint32_t diameter(const Graph& graph) {
  std::uint32_t longest = 0;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    auto from_here = distances(graph, r);
    longest = std::max(longest, *std::max_element(from_here.begin(), from_here.end()));
  }
  return longest;
}

inline std::vector<std::uint32_t> routers_by_tier(const Graph& graph) {
  std::vector<std::uint32_t> counts(graph.tier_names().size());
  for (RouterId r = 0; r < graph.routers(); ++r) ++counts[graph.router_tier(r)];
  return counts;
}

/// Cables between two routers, side by side.
inline unsigned cables_between(const Graph& graph, RouterId a, RouterId b) {
  unsigned count = 0;
  for (PortId p = graph.port_begin(a); p < graph.port_begin(a + 1); ++p)
    count += graph.peer(p) != kNone && graph.port_router(graph.peer(p)) == b;
  return count;
}

}  // namespace weft::topology::testing
