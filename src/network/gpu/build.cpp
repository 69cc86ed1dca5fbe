#include "network/gpu/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "network/flit/fabric.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/routes.hpp"
#include "network/gpu/route_table.hpp"

namespace weft::network::gpu {

namespace {

using flit::Fabric;
using flit::Routes;
using flit::Settings;
using topology::Graph;
using topology::kNone;

static_assert(int{Port::kEndpoint} == int{flit::Port::kEndpoint} &&
              int{Port::kNarrow} == int{flit::Port::kNarrow});

void set_sizes(const Graph& graph, const Settings& s, const Fabric& fabric, Network& n) {
  n.routers = graph.routers();
  n.ports = 1;
  for (topology::RouterId r = 0; r < graph.routers(); ++r) n.ports = std::max(n.ports, graph.port_count(r));
  n.channels = s.all_channels();
  n.class_channels_count = s.channels;
  n.all_ports = n.routers * n.ports;
  n.queue_per_output = s.router.queue_per_output;
  n.outputs = n.queue_per_output ? n.ports : 1;
  n.port_queues = n.channels * n.outputs;
  n.words = (n.port_queues + 31) / 32;
  n.endpoints = graph.endpoints();
  n.channel_bits = fabric.state.channel_bits;
  unsigned longest = 2;
  for (std::uint16_t flight : fabric.state.flights) longest = std::max<unsigned>(longest, flight);
  n.slot_mask = std::bit_ceil(longest + 1) - 1;
  n.window = fabric.longest_window;
}

void set_rules(const Settings& s, const Fabric& fabric, const Routes& routes, Network& n) {
  n.route_cycles = s.route_cycles;
  n.allocate_cycles = s.allocate_cycles;
  n.traverse_cycles = s.traverse_cycles;
  n.endpoint_cycles = s.endpoint_cycles;
  n.iterations = s.iterations;
  n.cut_through = s.switching == flit::Switching::CutThrough;
  n.shares = s.shared_flits > 0;
  n.oldest_first = s.allocator == flit::Allocator::Age;
  n.moves_turns = s.allocator == flit::Allocator::RoundRobin;
  n.on_grid = routes.grid.has_value();
  n.counts_hops = !n.on_grid;
  n.source_queue = s.source_queue;
  n.seed = s.seed;
  n.router_remainder = s.router_remainder;
  n.hop_remainder = fabric.hop_remainder;
}

void put_ports(const Graph& graph, const Fabric& fabric, const Routes& routes, Arena& arena, Network& n) {
  std::vector<Port> ports(n.all_ports);
  std::vector<u32> endpoint(n.all_ports, kNobody);
  std::vector<std::int32_t> remainder(fabric.port_remainder.empty() ? 0 : n.all_ports);
  std::vector<Pace> paces(routes.paces.empty() ? 0 : n.all_ports);
  const auto place = [&](topology::PortId p) { return n.port_at(graph.port_router(p), graph.port_index(p)); };
  for (topology::PortId p = 0; p < graph.ports(); ++p) {
    const flit::Port& from = fabric.state.ports[p];
    Port& to = ports[place(p)];
    const topology::PortIndex index = graph.port_index(p);
    to.peer = place(from.peer >> n.channel_bits);
    to.free_channels = from.free_channels;
    to.interval = fabric.state.rests[p].interval;
    to.flight = fabric.state.flights[from.flight];
    to.room = from.room;
    to.spare = from.spare;
    to.last_input = to.last_output = index;
    to.flags = from.flags & (Port::kEndpoint | Port::kNarrow);
    to.yields = static_cast<u8>(from.yields());
    endpoint[place(p)] = graph.port_endpoint(p);
    if (!remainder.empty()) remainder[place(p)] = fabric.port_remainder[p];
    if (!paces.empty()) paces[place(p)] = {0, 0, routes.paces[p].round_trip, routes.paces[p].full, 0, 0};
  }
  n.port = arena.put(ports);
  n.port_endpoint = arena.put(endpoint);
  n.port_remainder = remainder.empty() ? nullptr : arena.put(remainder);
  n.pace = paces.empty() ? nullptr : arena.put(paces);
}

void put_state(const Graph& graph, Arena& arena, Network& n) {
  const std::size_t channels = std::size_t{n.all_ports} * n.channels, queues = channels * n.outputs;
  const std::size_t arrivals = (std::size_t{n.slot_mask} + 1) * n.all_ports;
  n.requests = arena.fill<Requests>(std::size_t{n.all_ports} * n.words, {});
  n.waiting = arena.fill<u8>(n.all_ports, 0);
  n.sent = arena.fill<u64>(n.all_ports, 0);
  n.queue = arena.fill<Queue>(queues, {});
  n.out = arena.fill<OutChannel>(channels, {});
  n.receiving = n.queue_per_output ? arena.fill<u16>(channels, 0) : nullptr;
  n.arrival = arena.fill<Arrival>(arrivals, {});
  n.head_in = arena.take<u64>(arrivals);
  n.sender = arena.fill<Sender>(n.endpoints, {});
  n.activity = arena.fill<u32>(std::size_t{n.slot_mask} + 1, kNobody);
  n.control = arena.fill<Control>(1, {});
  std::vector<u32> first;
  for (topology::RouterId r = 0; r < graph.routers(); ++r) first.push_back(graph.port_begin(r));
  n.first_port = arena.put(first);
}

void put_grid(const Graph& graph, const routing::GridRoute& grid, Arena& arena, Network& n) {
  std::vector<u32> place, endpoint_place;
  for (topology::RouterId r = 0; r < graph.routers(); ++r) place.push_back(grid.place(r));
  for (topology::EndpointId e = 0; e < graph.endpoints(); ++e)
    endpoint_place.push_back(grid.place(graph.endpoint_router(e)));
  n.place = arena.put(place);
  n.endpoint_place = arena.put(endpoint_place);
  std::vector<Grid::Step> steps;
  for (const auto& step : grid.steps()) steps.push_back({step.port, step.only, step.either});
  for (unsigned d = 0; d < routing::GridRoute::kMaxDimensions; ++d) {
    const auto& dimension = grid.dimension(d);
    n.grid.first_row[d] = dimension.first_row;
    n.grid.first_port[d] = dimension.first_port;
    n.grid.ports[d] = dimension.ports;
    n.grid.around[d] = dimension.around;
    n.grid.keeps_class[d] = grid.keeps_class(d);
  }
  n.grid.row_steps = grid.row_steps();
  n.grid.table = arena.put(steps);
}

void put_tables(const routing::Routing& routing, Arena& arena, Network& n) {
  const RouteTable table(routing);
  Tables& out = n.tables;
  out.answer = arena.put(table.answer);
  out.via_answer = table.vias ? arena.put(table.via_answer) : nullptr;
  out.later_answer = table.later_answer.empty() ? nullptr : arena.put(table.later_answer);
  out.candidates = arena.put(table.candidates);
  out.first_row = arena.put(table.first_row);
  out.column = arena.put(table.column);
  out.via_reached = table.vias ? arena.put(table.via_reached) : nullptr;
  out.columns = table.columns;
  out.vias = table.vias;
  out.via_words = table.via_words;
  out.by_input = table.by_input;
  out.chooses = table.vias && routing.may_go_direct();
  out.classes = table.classes;
  out.escape_classes = table.escape_classes;
}

}  // namespace

void check(const machine::Machine& m, const Settings& s, const CycleOptions& options) {
  Diagnostics problems;
  const auto refuse = [&](const std::string& key, const std::string& what) {
    problems.add(m.description.origin(key), key,
                 fmt::format("the GPU engine has no {}; --engine flit has", what));
  };
  if (s.router.inner_stages > 0) refuse("router.kind", "routers with ports inside");
  if (s.router.queue_per_output && RouteTable(*m.routing).several_outputs)
    refuse("routing.kind", "choice between outputs in routers with a queue for each");
  if (s.weighted()) refuse("router.class_weights", "classes of traffic");
  if (s.local_headers > 0) refuse("router.local_headers", "queues for headers alone");
  if (options.link_layer || flit::LinkLayer::needed(m, options.faults))
    refuse("cable", "cables that can fail");
  if (m.routing->vias()) refuse("routing.kind", "routes by a third place on a machine with faults");
  if (!m.routing->claims_deadlock_free())
    refuse("routing.kind", "way to say who waits for whom where a routing may deadlock");
  problems.throw_if_any();
}

Network build(const machine::Machine& m, const Settings& settings, Arena& arena) {
  const Graph& graph = *m.graph;
  const Fabric fabric(graph, settings, false);
  const Routes routes(fabric, *m.routing);
  Network n{};
  set_sizes(graph, settings, fabric, n);
  set_rules(settings, fabric, routes, n);
  put_ports(graph, fabric, routes, arena, n);
  put_state(graph, arena, n);
  if (routes.grid)
    put_grid(graph, *routes.grid, arena, n);
  else
    put_tables(*m.routing, arena, n);
  std::vector<u16> endpoint_port;
  for (topology::EndpointId e = 0; e < graph.endpoints(); ++e)
    endpoint_port.push_back(graph.port_index(graph.endpoint_port(e)));
  n.endpoint_router = arena.put(fabric.endpoint_router);
  n.endpoint_port = arena.put(endpoint_port);
  n.class_channels = arena.put(routes.class_channels);
  n.channel_class = arena.put(routes.channel_class);
  return n;
}

}  // namespace weft::network::gpu
