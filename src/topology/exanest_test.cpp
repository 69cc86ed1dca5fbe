// Counts from the facts of ExaNeSt: C20 (packaging), section 1.1.1 (links of a QFDB).
#include <gtest/gtest.h>

#include "topology/exanest_shape.hpp"
#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

using testing::build;
using testing::cable_of;
using testing::cables_between;
using testing::errors;
using testing::routers_by_tier;
using testing::Settings;

TEST(Exanest, TrackOneRackHasTheCountsOfThePaper) {
  Graph chassis = build("exanest", {"chassis_per_rack=1"});
  EXPECT_EQ(chassis.endpoints(), 4u * 4 * 9);
  EXPECT_EQ(chassis.routers(), 144u) << "a single chassis needs no switch";
  Graph rack = build("exanest", {});
  EXPECT_EQ(rack.endpoints(), 432u);
  EXPECT_EQ(rack.tier_names(), (std::vector<std::string>{"network FPGA", "FPGA", "top-of-rack switch"}));
  EXPECT_EQ(routers_by_tier(rack), (std::vector<std::uint32_t>{108, 324, 1}));
}

TEST(Exanest, TrackTwoRackHasTheCountsOfThePaper) {
  Graph blade = build("exanest", {"mezzanine_grid=[4,4]", "square_cables=1", "mezzanines_per_chassis=1",
                                  "chassis_per_rack=1"});
  EXPECT_EQ(blade.endpoints(), 64u);
  Graph rack = build("exanest", {"mezzanine_grid=[4,4]", "square_cables=1", "mezzanines_per_chassis=6",
                                 "chassis_per_rack=10"});
  EXPECT_EQ(rack.endpoints(), 3840u);
}

TEST(Exanest, CablesOfEveryTierAreThere) {
  Graph graph = build("exanest", {"racks=2", "rack_cables=3", "lvds_cable=lvds"},
                      {cable_of("default", {0}), cable_of("lvds", {0})});
  auto* s = graph.shape_as<ExanestShape>();
  EXPECT_EQ(cables_between(graph, 1, 2), 2u) << "tier 0: LVDS beside HSS";
  EXPECT_EQ(graph.cable_type(graph.port_cable(graph.port(1, s->lvds_ports(1, 2).first))).name, "lvds");
  EXPECT_EQ(graph.cable_type(graph.port_cable(graph.port(1, s->hss_ports(1, 2).first))).name, "default");
  EXPECT_EQ(cables_between(graph, 0, 4), 2u) << "tier 1: along x";
  EXPECT_EQ(cables_between(graph, 0, 8), 2u) << "tier 1: along y";
  EXPECT_EQ(cables_between(graph, 0, 12), 0u) << "no diagonal in the square";
  EXPECT_EQ(cables_between(graph, 0, 16), 2u) << "tier 2: the next mezzanine";
  EXPECT_EQ(cables_between(graph, 0, 8 * 16), 0u) << "a line, not a ring";
  EXPECT_EQ(cables_between(graph, 4, s->switch_of(0)), 1u) << "tier 3";
  EXPECT_EQ(cables_between(graph, s->switch_of(0), s->switch_of(1)), 3u) << "tier 4";
}

TEST(Exanest, AQfdbNeverHasMoreThanTenLinks) {
  Graph graph = build("exanest", {});
  auto* s = graph.shape_as<ExanestShape>();
  for (RouterId r = 0; r < s->fpgas(); r += 4) {
    std::uint32_t on_mezzanine = 0, by_sfp = s->uplink_ports(r).count;
    for (auto d : ExanestShape::kDirections)
      (d < ExanestShape::Direction::PlusZ ? on_mezzanine : by_sfp) += s->direction_ports(r, d).count;
    EXPECT_EQ(on_mezzanine, 4u);
    EXPECT_LE(by_sfp, 6u);
    EXPECT_EQ(s->external_links(r), on_mezzanine + by_sfp);
  }
  EXPECT_EQ(errors("exanest", {"mezzanine_grid=[4,4]"}),
            std::vector<std::string>{
                "topology.square_cables: QFDB 1,1 of mezzanine 1 would need 12 links to others with "
                "square_cables = 2 and sfp_cables = 2; a QFDB has 10"});
}

// Every port the shape speaks of leads where it says, and together they are all ports there are.
TEST(Exanest, ShapeSaysWhereEveryPortLeads) {
  using Ports = ExanestShape::Ports;
  for (const Settings& example : Topologies::find("exanest")->examples) {
    Graph graph = build("exanest", example);
    auto* s = graph.shape_as<ExanestShape>();
    ASSERT_NE(s, nullptr);
    std::uint32_t described = 0;
    auto expect_leads = [&](RouterId from, Ports ports, RouterId to) {
      for (PortIndex k = 0; k < ports.count; ++k, ++described) {
        PortId peer = graph.peer(graph.port(from, static_cast<PortIndex>(ports.first + k)));
        ASSERT_NE(peer, kNone);
        EXPECT_EQ(graph.port_router(peer), to);
      }
    };
    for (RouterId r = 0; r < s->fpgas(); ++r) {
      for (RouterId other = s->network_fpga(r); other < s->network_fpga(r) + s->fpgas_per_qfdb; ++other)
        if (other != r) {
          expect_leads(r, s->lvds_ports(r, other), other);
          expect_leads(r, s->hss_ports(r, other), other);
        }
      EXPECT_EQ(graph.port_endpoint(graph.port(r, s->endpoint_port(r))), r);
      ++described;
      expect_leads(r, s->uplink_ports(r), s->switch_of(s->rack(r)));
      if (!s->is_network_fpga(r)) continue;
      for (auto d : ExanestShape::kDirections) expect_leads(r, s->direction_ports(r, d), s->neighbour(r, d));
    }
    for (std::uint32_t rack = 0; rack < s->switches(); ++rack) {
      EXPECT_TRUE(s->is_switch(s->switch_of(rack)));
      for (std::uint32_t chassis = 0; chassis < s->chassis_per_rack; ++chassis)
        for (std::uint32_t k = 0; k < s->uplinks; ++k)
          expect_leads(s->switch_of(rack), {static_cast<PortIndex>(s->chassis_ports(chassis).first + k), 1},
                       s->uplink_fpga(rack, chassis, k));
      for (std::uint32_t other = 0; other < s->racks; ++other)
        if (other != rack) expect_leads(s->switch_of(rack), s->rack_ports(rack, other), s->switch_of(other));
    }
    EXPECT_EQ(described, graph.ports());
    auto reached = testing::distances(graph, 0);
    EXPECT_EQ(std::count(reached.begin(), reached.end(), kNone), 0);
  }
}

TEST(Exanest, LabelsSayWhereAnFpgaIs) {
  Graph graph = build("exanest", {});
  RouterId r = 2 * 144 + 5 * 16 + 3 * 4 + 2;
  EXPECT_EQ(graph.router_name(r), "r382 (rack 0 chassis 2 mezzanine 5 QFDB 1,1 FPGA 2)");
  EXPECT_EQ(graph.router_name(432), "r432 (switch of rack 0)");
}

TEST(Exanest, ComplainsAboutGridsAndUplinksThatDoNotFit) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(errors("exanest", {"mezzanine_grid=[2,2,2]"}),
            Lines{"topology.mezzanine_grid: expected two numbers such as [2, 2], got 3"});
  EXPECT_EQ(errors("exanest", {"mezzanine_grid=[2,1]"}),
            Lines{"topology.uplinks: 4 uplinks start at as many QFDBs of a mezzanine, which has 2"});
}

}  // namespace
}  // namespace weft::topology
