#include "topology/faults.hpp"

namespace weft::topology {

Faults::Faults(const Graph& graph) : dead_cable_(graph.cables()), dead_router_(graph.routers()) {}

}  // namespace weft::topology
