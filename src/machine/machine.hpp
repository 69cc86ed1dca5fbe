// A machine that stands: description, graph, faults and routing, built in named stages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/description.hpp"

namespace weft::machine {

/// How long a named stage of the pipeline took.
struct Stage {
  std::string name;
  double seconds = 0;
};

struct Machine {
  Machine();
  Machine(Machine&& other) noexcept;
  Machine& operator=(Machine&& other) noexcept;
  ~Machine();

  Description description;
  std::unique_ptr<topology::Graph> graph;
  std::unique_ptr<topology::Faults> faults;
  std::unique_ptr<routing::Routing> routing;
  std::vector<Stage> stages;
};

/// Builds graph and routes. Throws UserError where the description asks for what cannot be.
Machine build(Description description);

/// Only the graph and its faults, for those who need no routes.
Machine build_graph(Description description);

}  // namespace weft::machine
