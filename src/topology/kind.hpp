// A kind of topology: its parameters, how large it gets, and how to build it. Each kind registers itself from
// its own file; see CONTRIBUTING.md for the whole of one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "topology/graph.hpp"

namespace weft::topology {

/// Counts before anything is allocated, so that a description asking for the moon is refused at once.
/// Doubles: they saturate instead of wrapping round.
struct Size {
  double routers = 0, endpoints = 0, ports = 0;
};

/// The largest graph that is built: ports have 32-bit numbers and the flat arrays must fit in memory.
inline constexpr double kMaxPorts = 2.0e9;
inline constexpr double kMaxRouters = 1.3e8;

struct BuildContext {
  std::vector<CableType> cable_types;
};

struct TopologyKind {
  ~TopologyKind();
  std::string name, about;
  config::Section section;
  std::function<Size(const void* parameters)> size;
  std::function<Graph(const void* parameters, const BuildContext&)> build;
  /// Small instances, each as `key=value` settings: contract tests prove every routing on them.
  std::vector<std::vector<std::string>> examples;
};

using Topologies = config::Registry<TopologyKind>;

/// Gives a kind's functions the type of its parameters.
template <class P>
TopologyKind topology_kind(std::string_view name, std::string_view about, config::Section section,
                           Size (*size)(const P&), Graph (*build)(const P&, const BuildContext&),
                           config::Examples examples) {
  TopologyKind out;
  out.name = name;
  out.about = about;
  out.section = std::move(section);
  out.size = [size](const void* p) { return size(*static_cast<const P*>(p)); };
  out.build = [build](const void* p, const BuildContext& context) {
    return build(*static_cast<const P*>(p), context);
  };
  out.examples = config::example_lists(examples);
  return out;
}

}  // namespace weft::topology

WEFT_DECLARE_REGISTRY(weft::topology::TopologyKind);
