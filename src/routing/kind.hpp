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
  ~RoutingKind();
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
RoutingKind routing_kind(std::string_view name, std::string_view about, config::Section section,
                         std::string (*refusal)(const P&, const Graph&),
                         std::unique_ptr<Routing> (*make)(const P&, const Graph&, const topology::Faults&),
                         config::Examples variants = {}) {
  RoutingKind out;
  out.name = name;
  out.about = about;
  out.section = std::move(section);
  out.refusal = [refusal](const void* p, const Graph& graph) {
    return refusal(*static_cast<const P*>(p), graph);
  };
  out.make = [make](const void* p, const Graph& graph, const topology::Faults& faults) {
    return make(*static_cast<const P*>(p), graph, faults);
  };
  out.variants = config::example_lists(variants);
  return out;
}

}  // namespace weft::routing

WEFT_DECLARE_REGISTRY(weft::routing::RoutingKind);
