#include "workload/pattern.hpp"

namespace weft::workload {

PatternKind::~PatternKind() = default;

Members::Members(const topology::Graph& g, const topology::Faults& faults) : graph(&g) {
  for (topology::EndpointId e = 0; e < g.endpoints(); ++e)
    if (!faults.router_dead(g.endpoint_router(e))) endpoint.push_back(e);
  if (count() < 2)
    throw UserError(fmt::format("traffic needs at least 2 endpoints, the machine has {}", count()));
}

}  // namespace weft::workload

WEFT_REGISTRY(weft::workload::PatternKind);
