// All that can be said of a machine before anything runs on it, as text for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "machine/machine.hpp"
#include "topology/metrics.hpp"

namespace weft::report {

struct MachineFacts {
  machine::Machine machine;
  topology::Inventory parts;
  topology::Distances distances;
  std::optional<topology::Bisection> bisection;
  std::optional<topology::ZeroLoad> zero_load;  // of the farthest pair found
  std::string picture;                          // path of the picture drawn, empty without one
};

/// Measures a machine; each step is timed among the machine's stages.
MachineFacts examine(machine::Machine machine);

/// A parameter in force and where its value comes from.
struct SourcedParameter {
  std::string key, value;
  std::string source;  // the description's own words, or "default", "--set", "set, no source given"
};
std::vector<SourcedParameter> sourced_parameters(const machine::Description& description);

/// The topology's kind and the parameters that differ from their defaults: "torus, dims = [8, 8]".
std::string topology_line(const machine::Description& description);

std::string facts_text(const MachineFacts& facts);
std::string sources_text(const machine::Description& description);
Json facts_json(const MachineFacts& facts);

}  // namespace weft::report
