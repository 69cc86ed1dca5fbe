// The network of ExaNeSt: five tiers, from the FPGAs of one board to racks (F26, F53, F58, F62, F70).
#include "topology/exanest_shape.hpp"
#include "topology/kind.hpp"

namespace weft::topology {

using Direction = ExanestShape::Direction;
using Ports = ExanestShape::Ports;

RouterId ExanestShape::neighbour(RouterId r, Direction direction) const {
  const std::uint32_t step_x = fpgas_per_qfdb, step_y = step_x * grid_x, step_z = step_y * grid_y;
  switch (direction) {
    case Direction::PlusX:
      return x(r) + 1 < grid_x ? r + step_x : kNone;
    case Direction::MinusX:
      return x(r) > 0 ? r - step_x : kNone;
    case Direction::PlusY:
      return y(r) + 1 < grid_y ? r + step_y : kNone;
    case Direction::MinusY:
      return y(r) > 0 ? r - step_y : kNone;
    case Direction::PlusZ:
      return z(r) + 1 < mezzanines ? r + step_z : kNone;
    case Direction::MinusZ:
      return z(r) > 0 ? r - step_z : kNone;
  }
  return kNone;
}

Ports ExanestShape::direction_ports(RouterId r, Direction direction) const {
  std::uint32_t first = first_external();
  for (Direction before : kDirections) {
    if (before == direction) break;
    first += cables_toward(r, before);
  }
  return {static_cast<PortIndex>(first), static_cast<PortIndex>(cables_toward(r, direction))};
}

Ports ExanestShape::uplink_ports(RouterId r) const {
  if (!is_network_fpga(r)) return {};
  Ports last = direction_ports(r, Direction::MinusZ);
  return {static_cast<PortIndex>(last.first + last.count), z(r) == 0 && qfdb(r) < uplinks};
}

PortIndex ExanestShape::endpoint_port(RouterId r) const {
  if (!is_network_fpga(r)) return static_cast<PortIndex>(first_external());
  Ports last = uplink_ports(r);
  return static_cast<PortIndex>(last.first + last.count);
}

Ports ExanestShape::rack_ports(std::uint32_t from_rack, std::uint32_t to_rack) const {
  std::uint32_t place = to_rack < from_rack ? to_rack : to_rack - 1;
  return {static_cast<PortIndex>(chassis_per_rack * uplinks + place * rack_cables),
          static_cast<PortIndex>(rack_cables)};
}

std::uint32_t ExanestShape::port_count(RouterId r) const {
  if (is_switch(r)) return chassis_per_rack * uplinks + (racks - 1) * rack_cables;
  return endpoint_port(r) + 1u;
}

std::uint32_t ExanestShape::external_links(RouterId r) const { return endpoint_port(r) - first_external(); }

std::string ExanestShape::router_label(RouterId r) const {
  if (is_switch(r)) return fmt::format("(switch of rack {})", rack(r));
  return fmt::format("(rack {} chassis {} mezzanine {} QFDB {},{} FPGA {})", rack(r), chassis(r), z(r), x(r),
                     y(r), fpga(r));
}

namespace {

struct ExanestParameters {
  std::uint32_t fpgas_per_qfdb = 4;
  std::vector<std::uint32_t> mezzanine_grid{2, 2};
  std::uint32_t mezzanines_per_chassis = 9;
  std::uint32_t chassis_per_rack = 3;
  std::uint32_t racks = 1;
  bool lvds = true;
  std::uint32_t square_cables = 2;
  std::uint32_t sfp_cables = 2;
  std::uint32_t uplinks = 4;
  std::uint32_t rack_cables = 1;
  config::CableName lvds_cable, hss_cable, mezzanine_cable, chassis_cable, uplink_cable, rack_cable;
};

ExanestShape shape_of(const ExanestParameters& p) {
  ExanestShape shape;
  shape.racks = p.racks;
  shape.chassis_per_rack = p.chassis_per_rack;
  shape.mezzanines = p.mezzanines_per_chassis;
  shape.grid_x = p.mezzanine_grid[0];
  shape.grid_y = p.mezzanine_grid[1];
  shape.fpgas_per_qfdb = p.fpgas_per_qfdb;
  shape.lvds = p.lvds;
  shape.square_cables = p.square_cables;
  shape.sfp_cables = p.sfp_cables;
  shape.uplinks = p.racks * p.chassis_per_rack > 1 ? p.uplinks : 0;
  shape.rack_cables = p.rack_cables;
  return shape;
}

Size exanest_size(const ExanestParameters& p) {
  ExanestShape s = shape_of(p);
  double chassis = 1.0 * s.racks * s.chassis_per_rack, mezzanines = chassis * s.mezzanines;
  double endpoints = mezzanines * s.qfdbs_per_mezzanine() * s.fpgas_per_qfdb;
  double in_qfdbs = endpoints * (s.fpgas_per_qfdb - 1) / 2 * (1 + s.lvds);
  double edges = (s.grid_x - 1.0) * s.grid_y + s.grid_x * (s.grid_y - 1.0);
  double in_mezzanines = mezzanines * edges * s.square_cables;
  double in_chassis = chassis * (s.mezzanines - 1) * s.qfdbs_per_mezzanine() * s.sfp_cables;
  double to_switches = chassis * s.uplinks;
  double between_racks = s.racks * (s.racks - 1.0) / 2 * s.rack_cables;
  double cables = in_qfdbs + in_mezzanines + in_chassis + to_switches + between_racks;
  return {endpoints + s.switches(), endpoints, endpoints + 2 * cables};
}

void connect(GraphBuilder& builder, RouterId a, Ports ports_a, RouterId b, Ports ports_b, std::uint8_t type) {
  WEFT_CHECK(ports_a.count == ports_b.count);
  for (PortIndex k = 0; k < ports_a.count; ++k)
    builder.connect(a, static_cast<PortIndex>(ports_a.first + k), b,
                    static_cast<PortIndex>(ports_b.first + k), type);
}

void connect_qfdbs(GraphBuilder& builder, const ExanestShape& shape, const ExanestParameters& p) {
  std::uint8_t lvds = builder.cable_type(p.lvds_cable), hss = builder.cable_type(p.hss_cable);
  std::uint8_t mezzanine = builder.cable_type(p.mezzanine_cable),
               chassis = builder.cable_type(p.chassis_cable);
  for (RouterId a = 0; a < shape.fpgas(); ++a)
    for (RouterId b = a + 1; b < shape.fpgas() && shape.same_qfdb(a, b); ++b) {
      connect(builder, a, shape.lvds_ports(a, b), b, shape.lvds_ports(b, a), lvds);
      connect(builder, a, shape.hss_ports(a, b), b, shape.hss_ports(b, a), hss);
    }
  constexpr std::pair<Direction, Direction> kOpposite[] = {{Direction::PlusX, Direction::MinusX},
                                                           {Direction::PlusY, Direction::MinusY},
                                                           {Direction::PlusZ, Direction::MinusZ}};
  for (RouterId a = 0; a < shape.fpgas(); a += shape.fpgas_per_qfdb)
    for (auto [there, back] : kOpposite)
      if (RouterId b = shape.neighbour(a, there); b != kNone)
        connect(builder, a, shape.direction_ports(a, there), b, shape.direction_ports(b, back),
                there == Direction::PlusZ ? chassis : mezzanine);
}

void connect_switches(GraphBuilder& builder, const ExanestShape& shape, const ExanestParameters& p) {
  std::uint8_t uplink = builder.cable_type(p.uplink_cable), between = builder.cable_type(p.rack_cable);
  for (std::uint32_t rack = 0; rack < shape.switches(); ++rack) {
    for (std::uint32_t chassis = 0; chassis < shape.chassis_per_rack; ++chassis)
      for (std::uint32_t k = 0; k < shape.uplinks; ++k) {
        RouterId fpga = shape.uplink_fpga(rack, chassis, k);
        Ports down{static_cast<PortIndex>(shape.chassis_ports(chassis).first + k), 1};
        connect(builder, fpga, shape.uplink_ports(fpga), shape.switch_of(rack), down, uplink);
      }
    for (std::uint32_t other = rack + 1; other < shape.racks; ++other)
      connect(builder, shape.switch_of(rack), shape.rack_ports(rack, other), shape.switch_of(other),
              shape.rack_ports(other, rack), between);
  }
}

Graph build_exanest(const ExanestParameters& p, const BuildContext& context) {
  auto shape = std::make_shared<ExanestShape>(shape_of(p));
  GraphBuilder builder(context.cable_types);
  Size size = exanest_size(p);
  builder.reserve(static_cast<std::uint64_t>(size.routers), static_cast<std::uint64_t>(size.ports),
                  static_cast<std::uint64_t>(size.ports - size.endpoints) / 2,
                  static_cast<std::uint64_t>(size.endpoints));
  TierId network_fpga = builder.tier("network FPGA");
  for (RouterId r = 0; r < shape->fpgas(); ++r) {
    builder.router(shape->port_count(r), shape->is_network_fpga(r) ? network_fpga : builder.tier("FPGA"));
    builder.endpoint(r, shape->endpoint_port(r));
  }
  for (std::uint32_t rack = 0; rack < shape->switches(); ++rack)
    builder.router(shape->port_count(shape->switch_of(rack)), builder.tier("top-of-rack switch"));
  connect_qfdbs(builder, *shape, p);
  connect_switches(builder, *shape, p);
  builder.shape(std::move(shape));
  return std::move(builder).finish();
}

void check_exanest(const ExanestParameters& p, const config::Complain& complain) {
  if (p.mezzanine_grid.size() != 2) {
    complain("mezzanine_grid",
             fmt::format("expected two numbers such as [2, 2], got {}", p.mezzanine_grid.size()));
    return;
  }
  ExanestShape shape = shape_of(p);
  if (shape.uplinks > shape.qfdbs_per_mezzanine())
    complain("uplinks", fmt::format("{} uplinks start at as many QFDBs of a mezzanine, which has {}",
                                    p.uplinks, shape.qfdbs_per_mezzanine()));
  RouterId busiest = 0;
  for (RouterId r = 0; r < shape.chassis_fpgas(); r += shape.fpgas_per_qfdb)
    if (shape.external_links(r) > shape.external_links(busiest)) busiest = r;
  if (shape.external_links(busiest) > ExanestShape::kQfdbLinks)
    complain(
        "square_cables",
        fmt::format("QFDB {},{} of mezzanine {} would need {} links to others with square_cables = {} and "
                    "sfp_cables = {}; a QFDB has {}",
                    shape.x(busiest), shape.y(busiest), shape.z(busiest), shape.external_links(busiest),
                    p.square_cables, p.sfp_cables, ExanestShape::kQfdbLinks));
}

using config::Range;
using P = ExanestParameters;

config::Section exanest_section() {
  return config::Schema<P>()
      .field(&P::fpgas_per_qfdb, "fpgas_per_qfdb", "FPGAs on a QFDB, each joined to all others of it",
             Range<std::uint32_t>{1, 8})
      .field(&P::mezzanine_grid, "mezzanine_grid",
             "QFDBs on a mezzanine, along x and y; neighbours are joined", Range<std::uint32_t>{1, 16})
      .field(&P::mezzanines_per_chassis, "mezzanines_per_chassis",
             "Mezzanines in a chassis: QFDBs at the same place of successive ones are joined",
             Range<std::uint32_t>{1, 64})
      .field(&P::chassis_per_rack, "chassis_per_rack", "Chassis in a rack, joined by the top-of-rack switch",
             Range<std::uint32_t>{1, 64})
      .field(&P::racks, "racks", "Racks; every two of their switches are joined",
             Range<std::uint32_t>{1, 1024})
      .field(&P::lvds, "lvds",
             "Low-latency links beside the high-throughput ones between the FPGAs of a QFDB")
      .field(&P::square_cables, "square_cables", "Links side by side between neighbours on a mezzanine",
             Range<std::uint32_t>{1, 4})
      .field(&P::sfp_cables, "sfp_cables",
             "SFP+ cables side by side between neighbours of successive mezzanines",
             Range<std::uint32_t>{1, 3})
      .field(&P::uplinks, "uplinks",
             "Cables from a chassis to the switch, from the first QFDBs of its mezzanine 0",
             Range<std::uint32_t>{1, 4})
      .field(&P::rack_cables, "rack_cables", "Cables side by side between two top-of-rack switches",
             Range<std::uint32_t>{1, 16})
      .field(&P::lvds_cable, "lvds_cable", "Cable type of the low-latency links in a QFDB (tier 0)")
      .field(&P::hss_cable, "hss_cable", "Cable type of the high-throughput links in a QFDB (tier 0)")
      .field(&P::mezzanine_cable, "mezzanine_cable", "Cable type between QFDBs of a mezzanine (tier 1)")
      .field(&P::chassis_cable, "chassis_cable", "Cable type between mezzanines of a chassis (tier 2)")
      .field(&P::uplink_cable, "uplink_cable", "Cable type from a chassis to the switch (tier 3)")
      .field(&P::rack_cable, "rack_cable", "Cable type between switches (tier 4)")
      .check(check_exanest)
      .section();
}

WEFT_REGISTER(TopologyKind,
              topology_kind<P>("exanest",
                               "the network of ExaNeSt: FPGAs, quad boards, mezzanines, chassis and racks",
                               exanest_section(), exanest_size, build_exanest,
                               {{"mezzanines_per_chassis=2", "chassis_per_rack=1"},
                                {"mezzanines_per_chassis=1", "chassis_per_rack=2", "uplinks=2", "lvds=false"},
                                {"fpgas_per_qfdb=2", "mezzanine_grid=[2,1]", "mezzanines_per_chassis=3",
                                 "chassis_per_rack=2", "racks=2", "uplinks=1", "rack_cables=2"},
                                {"fpgas_per_qfdb=1", "mezzanine_grid=[3,3]", "square_cables=1",
                                 "mezzanines_per_chassis=3", "chassis_per_rack=1", "racks=2"}}));

}  // namespace

}  // namespace weft::topology
