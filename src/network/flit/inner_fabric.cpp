#include "network/flit/inner_fabric.hpp"

#include <map>

#include "base/check.hpp"

namespace weft::network::flit {

InnerFabric::InnerFabric(const topology::Graph& graph, const machine::RouterModel& model) {
  WEFT_CHECK(!model.queue_per_output, "a router has inner ports or a queue for each output");
  std::uint32_t next_port = graph.ports();
  std::map<unsigned, std::uint32_t> known;  // layouts, by the ports of a router
  for (topology::RouterId r = 0; r < graph.routers(); ++r) {
    const unsigned outer_ports = graph.port_count(r);
    auto [at, fresh] = known.try_emplace(outer_ports, static_cast<std::uint32_t>(known.size()));
    if (fresh) layouts.push_back(model.inner(outer_ports));
    const machine::InnerPorts& inside = layouts[at->second];
    WEFT_CHECK(inside.first.size() == std::size_t{outer_ports} * outer_ports &&
                   inside.next.size() == inside.count() * outer_ports &&
                   inside.names.size() == inside.count(),
               "a kind of router says where flits go from every inner port");
    WEFT_CHECK(inside.count() <= 0x10000, "turns tell the ports inside a router apart");
    begin.push_back(next_port);
    outer.push_back(graph.port_begin(r));
    ports.push_back(outer_ports);
    layout.push_back(at->second);
    router.insert(router.end(), inside.count(), r);
    next_port += static_cast<std::uint32_t>(inside.count());
  }
  begin.push_back(next_port);
}

}  // namespace weft::network::flit
