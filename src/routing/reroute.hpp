// The relation that serves what is left of a machine after faults, with its proof.
#pragma once

#include <string>

#include "routing/kind.hpp"
#include "routing/verify.hpp"

namespace weft::routing {

struct Rerouted {
  std::unique_ptr<Routing> routing;
  std::string name;              // "dimension-order", "fault-avoiding over dimension-order", "up-down"
  Verdict verdict;               // of that relation on what is left
  bool own_serves = false;       // the machine's routing, as it is, serves every pair that has a route
  std::uint64_t own_broken = 0;  // pairs it leaves without one though there is one
};

/// The first of these that the proof accepts: the machine's own routing, the same wherever it is intact with
/// up*/down* around the faults on a channel class of its own, and up*/down* alone. Faults must outlive the
/// result. Where none serves every pair that still has a route, the last one tried is returned with its
/// verdict.
Rerouted reroute(const RoutingKind& kind, const void* parameters, const Graph& graph,
                 const topology::Faults& faults, const VerifyOptions& how);

}  // namespace weft::routing
