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
      node_(node),
      successor_(name_successor(*machine.faults)),
      found_(discover(graph_, chips_)),
      detect_(chips_.time()),
      manager_(machine, chips_, found_) {}

/// The first node that another router serves; whoever manages tells all chips.
EndpointId RunningManager::name_successor(const topology::Faults& faults) {
  EndpointId next = 0;
  while (next < graph_.endpoints() && (graph_.endpoint_router(next) == graph_.endpoint_router(node_) ||
                                       faults.router_dead(graph_.endpoint_router(next))))
    ++next;
  if (next == graph_.endpoints()) return kNone;
  chips_.name_successor(next);
  return next;
}

Time RunningManager::write(const topology::Faults& faults) {
  wiring_.follow(faults);
  const Time before = chips_.time();
  Recovery done;
  const bool dead = faults.router_dead(graph_.endpoint_router(node_));
  if (!dead) done = manager_.recover(0);
  if (!done.complete && successor_ != kNone) {
    manager_.take_over(node_ = successor_);
    successor_ = name_successor(faults);
    done = manager_.recover(0);
  }
  return done.complete ? done.write : chips_.time() - before;
}

}  // namespace weft::manage
