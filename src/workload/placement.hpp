// Which endpoint each rank runs on. Jobs are placed one after the other on what is free.
#pragma once

#include <string>
#include <vector>

#include "topology/faults.hpp"
#include "topology/graph.hpp"
#include "workload/program.hpp"

namespace weft::workload {

/// Names and what they mean, for help and messages.
struct PlacementKind {
  std::string name, about;
};
const std::vector<PlacementKind>& placement_kinds();

class Placement {
 public:
  Placement(const topology::Graph& graph, const topology::Faults& faults);

  /// Endpoints for so many ranks, one each, in the order of the ranks; they are taken from then on.
  /// `how`: linear, random, block, or file:PATH with one endpoint number on each line. Throws UserError where
  /// they do not fit.
  std::vector<topology::EndpointId> place(Rank ranks, const std::string& how, std::uint64_t seed);

  std::uint32_t free() const { return free_; }

 private:
  std::vector<topology::EndpointId> linear(Rank ranks) const;
  std::vector<topology::EndpointId> random(Rank ranks, std::uint64_t seed) const;
  std::vector<topology::EndpointId> block(Rank ranks) const;
  std::vector<topology::EndpointId> from_file(Rank ranks, const std::string& path) const;

  const topology::Graph& graph_;
  std::vector<bool> taken_;  // by endpoint; dead ones too
  std::uint32_t free_ = 0;
};

}  // namespace weft::workload
