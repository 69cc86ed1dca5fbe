// A kind of routing: its parameters, what it runs on, and how to make it. Each registers itself from its own
// file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "routing/routing.hpp"

namespace weft::routing {

struct RoutingKind {
  std::string name, about;
  config::Section section;
  /// Why this routing cannot run on the graph; empty where it can.
  std::function<std::string(const void* parameters, const Graph&)> refusal;
  std::function<std::unique_ptr<Routing>(const void* parameters, const Graph&, const topology::Faults&)> make;
  /// Settings worth testing beside the defaults, each as `key=value` words.
  std::vector<std::vector<std::string>> variants;
};

using Routings = config::Registry<RoutingKind>;

template <class P>
RoutingKind routing_kind(std::string name, std::string about, config::Section section,
                         std::string (*refusal)(const P&, const Graph&),
                         std::unique_ptr<Routing> (*make)(const P&, const Graph&, const topology::Faults&),
                         std::vector<std::vector<std::string>> variants = {}) {
  return {std::move(name),
          std::move(about),
          std::move(section),
          [refusal](const void* p, const Graph& graph) { return refusal(*static_cast<const P*>(p), graph); },
          [make](const void* p, const Graph& graph, const topology::Faults& faults) {
            return make(*static_cast<const P*>(p), graph, faults);
          },
          std::move(variants)};
}

}  // namespace weft::routing
