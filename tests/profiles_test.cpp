// The machines that come with Weft: they build, they say where every value is from, and they have the counts
// of the papers.
#include "machine/profiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "machine/machine.hpp"
#include "machines.hpp"
#include "routing/verify.hpp"
#include "topology/test_support.hpp"

namespace weft::machine {
namespace {

using topology::Graph;
using topology::RouterId;
namespace of = topology::testing;

Machine profile(const std::string& name) { return build_graph(describe(name, {})); }

TEST(Profiles, EveryValueHasItsSource) {
  for (const std::string& name : profile_names()) {
    Description d = describe(name, {});
    EXPECT_EQ(d.identity.name, name);
    EXPECT_FALSE(d.identity.about.empty()) << name;
    for (const config::Setting& setting : d.settings) {
      bool about_itself = setting.key.starts_with("machine.") || setting.key.ends_with(".kind");
      if (setting.origin.source.empty() || about_itself) continue;
      auto at =
          std::find_if(d.sources.begin(), d.sources.end(), [&](auto& s) { return s.first == setting.key; });
      EXPECT_NE(at, d.sources.end()) << name << ": " << setting.key;
    }
  }
}

TEST(Profiles, EveryOneBuildsWithItsRoutes) {
  for (const std::string& name : profile_names())
    EXPECT_NE(build(describe(name, {})).routing, nullptr) << name;
}

TEST(Profiles, NoCableIsIdleAndNoneMuchBusierThanOthersOfItsTier) {
  // Where cables of a tier cannot be alike under any routing by shortest paths.
  const std::map<std::string, std::string> uneven{
      {"mesh", "cables in the middle of a line carry more than those at its ends"},
      {"exanest-track1", "mezzanines stand in a line, and all uplinks leave from the first"},
      {"exanest-track2", "mezzanines stand in a line, and all uplinks leave from the first"}};
  for (const std::string& name : test::single_networks()) {
    Machine m = build(describe(name, {}));
    routing::VerifyOptions how;
    how.channels = m.description.router.channels;
    how.balance = true;
    routing::Verdict v = routing::verify(*m.routing, how);
    EXPECT_TRUE(v.holds()) << name;
    for (const routing::TierBalance& tier : v.balance) {
      EXPECT_EQ(tier.idle, 0u) << name << ": " << tier.name;
      if (!uneven.contains(name)) {
        EXPECT_LE(tier.busiest, 1.2) << name << ": " << tier.name;
      }
    }
  }
}

TEST(Profiles, TheGeneralOnesHaveTheSizesTheyName) {
  EXPECT_EQ(profile("mesh").graph->routers(), 64u);
  EXPECT_EQ(profile("fat-tree").graph->endpoints(), 512u);
  EXPECT_EQ(profile("fat-tree").graph->routers(), 3u * 64);
  EXPECT_EQ(profile("dragonfly").graph->endpoints(), 1056u);
  EXPECT_EQ(of::diameter(*profile("dragonfly").graph), 3u);
  EXPECT_EQ(profile("jellyfish").graph->cables(), 128u * 12 / 2);
}

TEST(Profiles, GreeniceIsTheTorusOfThePaper) {
  Machine m = profile("greenice");
  const Graph& g = *m.graph;
  EXPECT_EQ(g.routers(), 32u);
  EXPECT_EQ(g.cables(), 80u);
  EXPECT_EQ(of::diameter(g), 5u);
  unsigned total = 0;
  for (RouterId r = 0; r < g.routers(); ++r)
    for (std::uint32_t hops : of::distances(g, r)) total += hops;
  EXPECT_EQ(total, 80u * 32) << "a mean of 80/31 over the 32 * 31 pairs";
  EXPECT_EQ(g.cable_types()[0].rate().value, 80'640'000'000);
}

TEST(Profiles, Tianhe2IsTheTreeOfThePaper) {
  Machine m = profile("tianhe2");
  EXPECT_EQ(m.graph->endpoints(), 18'432u);
  EXPECT_EQ(m.graph->routers(), 7'296u);
  std::int64_t optical_strands = 0;
  for (topology::CableId c = 0; c < m.graph->cables(); ++c)
    if (m.graph->cable_length(c).value > 0) optical_strands += m.graph->cable_type(c).strands;
  // 2 cables for each of 32 uplinks of 576 frames, and for each of 12 uplinks of 1,536 leaf switches.
  EXPECT_EQ(optical_strands, 2 * (32 * 576 + 12 * 1536));
}

TEST(Profiles, ExanestRackHasTheCountsOfThePaper) {
  Machine m = profile("exanest-track1");
  EXPECT_EQ(m.graph->endpoints(), 432u);
  EXPECT_EQ(m.graph->routers(), 433u);
}

}  // namespace
}  // namespace weft::machine
