#include "manage/running_manager.hpp"

#include <fmt/format.h>

#include "base/diagnostics.hpp"

namespace weft::manage {

namespace {

EndpointId checked(const machine::Machine& machine, EndpointId node) {
  if (node < machine.graph->endpoints()) return node;
  Diagnostics problems;
  problems.add(machine.description.origin("rerouting.manager"), "rerouting.manager",
               fmt::format("there is no endpoint {}; the last is {}", node, machine.graph->endpoints() - 1));
  problems.throw_if_any();
  return node;
}

}  // namespace

RunningManager::RunningManager(const machine::Machine& machine, EndpointId node)
    : graph_(*machine.graph),
      wiring_(graph_, *machine.faults),
      chips_(machine, wiring_, checked(machine, node)),
      found_(discover(graph_, chips_)),
      detect_(chips_.time()),
      node_(node),
      manager_(machine, chips_, found_) {}

Time RunningManager::write(const topology::Faults& faults) {
  wiring_.follow(faults);
  const Time before = chips_.time();
  Recovery done = manager_.recover(0);
  for (EndpointId next = 0; !done.complete && next < graph_.endpoints(); ++next) {
    if (next == node_ || faults.router_dead(graph_.endpoint_router(next))) continue;
    manager_.take_over(node_ = next);
    done = manager_.recover(0);
    if (!done.proved) break;  // nobody can do better
  }
  return done.complete ? done.write : chips_.time() - before;
}

}  // namespace weft::manage
