#include "live/link_meter.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/page.hpp"
#include "machine/description.hpp"

namespace weft::live {
namespace {

// A machine that is drawn as tiers shows the load of its bundles: as many as the page has colours for, each
// the mean of its cables.
TEST(LinkMeter, BundlesHaveTheMeanOfTheirCables) {
  const machine::Machine m = machine::build_graph(machine::describe("tianhe2", {"topology.groups=12"}));
  const topology::Graph& graph = *m.graph;
  LinkMeter meter(m);
  std::vector<measure::LinkLoad> loads;
  std::uint64_t upper = 0;
  for (topology::CableId c = 0; c < graph.cables(); ++c)
    if (graph.cable_type(c).name == "long") {
      if (upper++ % 2 == 0) loads.push_back({graph.cable_ends(c).a, 0, 0.5});
    }
  meter.laid(loads);
  std::vector<double> means;
  const Json json = meter.json();
  for (const Json& mean : json["bundles"]) means.push_back(mean.get<double>());
  EXPECT_THAT(means, testing::UnorderedElementsAre(0.0, 0.0, 0.25));
  const std::string text = page(m, {});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(text.find(fmt::format("var(--bundle-{},", i)) != std::string::npos, i < means.size()) << i;
}

TEST(LinkMeter, WhereEveryCableIsDrawnThereAreNoBundles) {
  const machine::Machine m = machine::build_graph(machine::describe("mesh", {}));
  const Json json = LinkMeter(m).json();
  EXPECT_FALSE(json.contains("bundles"));
  EXPECT_EQ(json["use"].get<std::string>().size(), m.graph->cables() * 4);
}

}  // namespace
}  // namespace weft::live
