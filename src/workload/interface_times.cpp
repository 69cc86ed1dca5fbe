#include "workload/interface_times.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "machine/own_system.hpp"
#include "node/bus.hpp"

namespace weft::workload {

collective::Tree tree_of(const InterfaceTimes& t, collective::Place members) {
  return {t.shape, t.arity ? t.arity : collective::arity_of_fewest_levels(t.shape, members, t.children),
          members};
}

collective::Tree tree_of(const InterfaceTimes& t, std::vector<std::uint32_t>& members) {
  if (t.group_of_rank.empty()) return tree_of(t, static_cast<collective::Place>(members.size()));
  const std::vector<collective::Place> sizes = collective::bring_together(members, t.group_of_rank);
  collective::Arities arities{t.arity, t.arity};
  if (!t.arity) arities = collective::arities_of_fewest_levels(t.shape, sizes, t.children);
  return {t.shape, arities.within, arities.across, sizes};
}

InterfaceTimes interface_times(const machine::Description& d) {
  if (!d.nic.triggers)
    throw UserError({{d.origin("nic.triggers"), "nic.triggers",
                      fmt::format("is 0: the interfaces of {} run no collectives", d.identity.name)}});
  constexpr std::int64_t kControl = 48, kEvent = 16;  // bytes of a descriptor and of an event on the bus
  const machine::HostParameters& h = d.host;
  const node::BusParameters bus = machine::bus_of(d, h, 0);
  InterfaceTimes t;
  t.shape = static_cast<collective::Shape>(d.mpi.tree);
  t.arity = d.mpi.tree_arity;
  t.children = d.nic.trigger_inputs - 1;
  t.limit = static_cast<std::uint64_t>(std::min(d.mpi.collective_limit.value, d.nic.payload.value));
  t.header = static_cast<std::uint64_t>(d.nic.header.value);
  t.post = d.mpi.send_cost + h.post_cost + node::Bus(bus).to_device({0}, kControl);
  t.receive = d.nic.receive_latency;
  t.trigger = d.nic.trigger_time;
  t.send = d.nic.send_latency;
  t.next = d.nic.occupancy;
  t.combine = {d.nic.operation_units ? d.nic.operation_time.value / d.nic.operation_units : 0};
  t.told = node::Bus(bus).to_memory({0}, kEvent) + (h.cache_injection ? h.cache_read : h.memory_read) +
           h.receive_cost + d.mpi.receive_cost;
  t.units = d.nic.operation_units > 0;
  return t;
}

Time barrier_time(const InterfaceTimes& t, collective::Place members, Time network) {
  return barrier_time(t, tree_of(t, members), network);
}

Time barrier_time(const InterfaceTimes& t, const collective::Tree& tree, Time network) {
  const collective::Place members = tree.members();
  // Up: when each member's sequence has run. Children have larger places than their parents.
  std::vector<Time> up(members, t.post), down(members, {0});
  for (collective::Place place = members; place-- > 0;) {
    up[place] = up[place] + t.trigger;
    if (place) {
      Time& parent = up[tree.parent(place)];
      parent = std::max(parent, up[place] + t.send + network + t.receive);
    }
  }
  Time last{0};
  down[0] = up[0];
  for (collective::Place place = 0; place < members; ++place) {
    Time at = down[place];
    for (collective::Place child : tree.children(place)) {
      down[child] = at + t.send + network + t.receive + t.trigger;
      at = at + t.next;
    }
    last = std::max(last, down[place] + t.told);
  }
  return last;
}

}  // namespace weft::workload
