// What single and multiple failures do to a machine's routing: every one, or a sample, each with a proof.
#pragma once

#include "routing/reroute.hpp"

namespace weft::routing {

/// Cables and routers that fail together.
struct FailureSet {
  std::vector<topology::CableId> cables;
  std::vector<RouterId> routers;
  std::string text(const Graph& graph) const;  // "cable r0.p0, router r7 (1,3)"
};

struct FailureCase {
  FailureSet failed;
  bool own_serves = false;       // the machine's routing, as it is, serves every pair that has a route
  std::uint64_t own_broken = 0;  // pairs it leaves without one though there is one
  std::string rerouted;          // the relation that takes over
  bool serves = false;           // ... proved: it serves every pair that has a route, without deadlock
  std::uint32_t longest = 0;     // cables its longest route crosses
  std::uint64_t cut_off_pairs = 0;
  std::vector<EndpointId> cut_off;  // endpoints that cannot reach most others any more
};

struct Survey {
  std::uint64_t possible_singles = 0;  // cables and routers there are
  bool all_singles = false;
  std::vector<FailureCase> cases;
  std::uint64_t count(bool FailureCase::*what) const;
};

struct SurveyOptions {
  unsigned faults = 1;             // that happen together
  std::uint64_t most = 200;        // cases of several failures; 0: none
  std::uint64_t most_singles = 0;  // 0: every single failure
  std::uint64_t seed = 1;
  VerifyOptions verify;
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

/// Looks at every single failure (or a sample of them) and, with `faults` above 1, at sampled sets of 2 to
/// `faults` failures, on top of what is dead already. Results do not depend on the number of threads.
Survey survey(const RoutingKind& kind, const void* parameters, const Graph& graph,
              const topology::Faults& already, const SurveyOptions& options);

/// Endpoints outside the piece with the most living endpoints, dead ones included.
std::vector<EndpointId> cut_off_endpoints(const Graph& graph, const topology::Faults& faults);

}  // namespace weft::routing
