// Dragonfly of Kim, Dally, Scott and Abts (2008): groups of fully connected routers, every two groups joined.
// F59.
//
// The global ports of a group are slots 0, 1, 2, ... over its routers in turn. Every group wires its slots
// alike: a slot leads a fixed number of groups ahead (past the last group follows the first). Slots go round
// all other groups as often as they suffice; what is left over goes to some of them. A cable that leads d
// groups ahead leads, from its other end, groups - d ahead, so slots for d and for groups - d come in equal
// numbers.
#include "topology/dragonfly_shape.hpp"
#include "topology/kind.hpp"

namespace weft::topology {

std::string DragonflyShape::router_label(RouterId r) const {
  return fmt::format("(group {}, router {})", group(r), place(r));
}

namespace {

struct DragonflyParameters {
  std::uint32_t groups = 0;
  std::uint32_t routers_per_group = 4;
  std::uint32_t endpoints_per_router = 2;
  std::uint32_t global_cables_per_router = 2;
  config::CableName local_cable, global_cable;
};

std::uint32_t global_slots(const DragonflyParameters& p) {
  return p.routers_per_group * p.global_cables_per_router;
}

std::uint32_t group_count(const DragonflyParameters& p) { return p.groups ? p.groups : global_slots(p) + 1; }

std::uint32_t router_ports(const DragonflyParameters& p) {
  return p.routers_per_group - 1 + p.global_cables_per_router + p.endpoints_per_router;
}

Size dragonfly_size(const DragonflyParameters& p) {
  double routers = 1.0 * group_count(p) * p.routers_per_group;
  return {routers, routers * p.endpoints_per_router, routers * router_ports(p)};
}

// How many groups ahead each slot of a group leads. One slot stays free where an odd number is left over and
// the groups are odd in number too: no cable can have a single end in each of them.
std::vector<std::uint32_t> groups_ahead(std::uint32_t groups, std::uint32_t slots) {
  std::vector<std::uint32_t> ahead;
  std::uint32_t others = groups - 1;
  if (others == 0) return ahead;
  std::uint32_t left_over = slots % others;
  for (std::uint32_t slot = 0; slot < slots - left_over; ++slot) ahead.push_back(slot % others + 1);
  if (left_over % 2 == 1 && groups % 2 == 0) ahead.push_back(groups / 2);
  for (std::uint32_t d = 1; d <= left_over / 2; ++d) ahead.insert(ahead.end(), {d, groups - d});
  return ahead;
}

std::shared_ptr<DragonflyShape> make_shape(const DragonflyParameters& p) {
  auto shape = std::make_shared<DragonflyShape>();
  shape->groups = group_count(p);
  shape->group_routers = p.routers_per_group;
  shape->endpoints_per_router = p.endpoints_per_router;
  shape->first_global = static_cast<PortIndex>(p.routers_per_group - 1);
  auto ahead = groups_ahead(shape->groups, global_slots(p));
  auto& begin = shape->gateway_begin;
  begin.assign(shape->groups + 1, 0);
  for (std::uint32_t d : ahead) ++begin[d + 1];
  for (std::uint32_t d = 0; d < shape->groups; ++d) begin[d + 1] += begin[d];
  shape->gateway_list.resize(ahead.size());
  auto next = begin;
  for (std::uint32_t slot = 0; slot < ahead.size(); ++slot)
    shape->gateway_list[next[ahead[slot]]++] = {
        static_cast<std::uint16_t>(slot / p.global_cables_per_router),
        static_cast<PortIndex>(shape->first_global + slot % p.global_cables_per_router)};
  return shape;
}

void connect_groups(GraphBuilder& builder, const DragonflyShape& shape, std::uint8_t type) {
  for (std::uint32_t d = 1; d <= shape.groups / 2; ++d) {
    auto there = shape.gateways(0, d), back = shape.gateways(d, 0);
    // Half way round, the group ahead of the group ahead is the first one again.
    std::uint32_t starts = 2 * d == shape.groups ? d : shape.groups;
    for (std::uint32_t group = 0; group < starts; ++group) {
      RouterId here = group * shape.group_routers, other = (group + d) % shape.groups * shape.group_routers;
      for (std::size_t n = 0; n < there.size(); ++n)
        builder.connect(here + there[n].place, there[n].port, other + back[n].place, back[n].port, type);
    }
  }
}

Graph build_dragonfly(const DragonflyParameters& p, const BuildContext& context) {
  auto shape = make_shape(p);
  GraphBuilder builder(context.cable_types);
  Size size = dragonfly_size(p);
  builder.reserve(static_cast<std::uint64_t>(size.routers), static_cast<std::uint64_t>(size.ports),
                  static_cast<std::uint64_t>(size.ports - size.endpoints) / 2,
                  static_cast<std::uint64_t>(size.endpoints));
  TierId tier = builder.tier("router");
  auto first_endpoint_port = router_ports(p) - p.endpoints_per_router;
  auto routers = static_cast<RouterId>(size.routers);
  for (RouterId r = 0; r < routers; ++r) {
    builder.router(router_ports(p), tier);
    for (std::uint32_t e = 0; e < p.endpoints_per_router; ++e)
      builder.endpoint(r, static_cast<PortIndex>(first_endpoint_port + e));
  }
  std::uint8_t local_type = builder.cable_type(p.local_cable);
  for (RouterId first = 0; first < routers; first += p.routers_per_group)
    for (RouterId a = first; a < first + p.routers_per_group; ++a)
      for (RouterId b = a + 1; b < first + p.routers_per_group; ++b)
        builder.connect(a, shape->local_port(a, b), b, shape->local_port(b, a), local_type);
  connect_groups(builder, *shape, builder.cable_type(p.global_cable));
  builder.shape(std::move(shape));
  return std::move(builder).finish();
}

void check_dragonfly(const DragonflyParameters& p, const config::Complain& complain) {
  if (p.groups > global_slots(p) + 1)
    complain(
        "groups",
        fmt::format("{} groups need {} global cables from each; {} routers with {} each have {}", p.groups,
                    p.groups - 1, p.routers_per_group, p.global_cables_per_router, global_slots(p)));
}

using config::Range;
using P = DragonflyParameters;

WEFT_REGISTER(
    TopologyKind,
    topology_kind<P>(
        "dragonfly", "groups of fully connected routers, and cables between every two groups",
        config::Schema<P>()
            .field(&P::groups, "groups",
                   "Groups of routers; 0: as many as can be joined, routers_per_group * "
                   "global_cables_per_router + 1",
                   Range<std::uint32_t>{0, 1u << 24})
            .field(&P::routers_per_group, "routers_per_group",
                   "Routers of a group, each joined to all others", Range<std::uint32_t>{1, 4096})
            .field(&P::endpoints_per_router, "endpoints_per_router", "Endpoints on each router",
                   Range<std::uint32_t>{1, 4096})
            .field(&P::global_cables_per_router, "global_cables_per_router",
                   "Cables from each router to other groups; with fewer groups than there could be, every "
                   "two of them get several",
                   Range<std::uint32_t>{1, 4096})
            .field(&P::local_cable, "local_cable", "Cable type between routers of a group")
            .field(&P::global_cable, "global_cable", "Cable type between groups")
            .check(check_dragonfly)
            .section(),
        dragonfly_size, build_dragonfly,
        {{"routers_per_group=4", "global_cables_per_router=2", "endpoints_per_router=2"},
         {"groups=3", "routers_per_group=4", "global_cables_per_router=2"},
         {"groups=2", "routers_per_group=3", "global_cables_per_router=1", "endpoints_per_router=1"},
         {"groups=6", "routers_per_group=4", "global_cables_per_router=2", "endpoints_per_router=1"},
         {"groups=1", "routers_per_group=5"}}));

}  // namespace

}  // namespace weft::topology
