#include "machine/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "machine/machine.hpp"
#include "power/body.hpp"
#include "run_program.hpp"

namespace weft::machine {
namespace {

using ::testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

constexpr const char* kRing = R"([topology]
kind = "torus"
dims = [4]
[routing]
kind = "dimension-order"
)";

Lines errors(const std::string& text, const Lines& settings = {}) {
  Lines lines;
  try {
    describe_text(text, "m.toml", settings);
  } catch (const UserError& error) {
    for (const Diagnostic& d : error.diagnostics()) lines.push_back(d.text());
  }
  return lines;
}

std::string setting(const Description& d, std::string_view key) {
  for (const config::Setting& s : d.settings)
    if (s.key == key) return s.value;
  return "(none)";
}

TEST(Description, EveryParameterInForceIsListedWithItsOrigin) {
  Description d = describe_text(kRing, "m.toml", {"router.channels=3"});
  EXPECT_EQ(setting(d, "topology.dims"), "[4]");
  EXPECT_EQ(setting(d, "router.channels"), "3");
  EXPECT_EQ(setting(d, "cable.default.lanes"), "4") << "defaults are in force too";
  EXPECT_EQ(d.origin("topology.dims").text(), "m.toml:3:1");
  EXPECT_EQ(d.origin("router.channels").text(), "--set router.channels=3");
}

TEST(Description, MistakesOfAllSectionsAreReportedTogether) {
  EXPECT_THAT(errors("colour = 1\n[topology]\nkind = \"tours\"\n[routing]\nkind = \"dimension-order\"\n"
                     "[cable.default]\nlane_rate = \"14m\"\n[router]\nchannels = 0\n"),
              ElementsAre(HasSubstr("m.toml:1:1: colour: unknown key"),
                          HasSubstr("m.toml:7:1: cable.default.lane_rate: 'm' is not a unit of a data rate"),
                          HasSubstr("m.toml:3:1: topology.kind: expected one of "),
                          HasSubstr("m.toml:9:1: router.channels: 0 is outside 1 to 64")));
}

TEST(Description, SettingsAreCheckedLikeTheFile) {
  EXPECT_THAT(errors(kRing, {"topology.dmis=[4]"}),
              ElementsAre("--set topology.dmis=[4]: topology.dmis: unknown key (did you mean 'dims'?)"));
  EXPECT_THAT(errors(kRing, {"router.channels=many"}),
              ElementsAre(HasSubstr("--set router.channels=many: router.channels: expected")));
}

TEST(Description, CableTypesAreNamedAndTheirNamesChecked) {
  std::string text = std::string(kRing) + "[cable.optical]\nlength = \"20m\"\n";
  Description d = describe_text(text, "m.toml", {"topology.cable=optical"});
  ASSERT_EQ(d.cables.size(), 2u);
  EXPECT_EQ(d.cables[1].name, "optical");
  EXPECT_EQ(d.cables[1].length.value, 20'000);
  EXPECT_THAT(errors(text, {"topology.cable=optcal"}), ElementsAre(HasSubstr("did you mean 'optical'?")));
}

TEST(Description, AnotherKindDropsWhatItDoesNotKnow) {
  Description d = describe_text(kRing, "m.toml", {"topology.kind=hypercube", "routing.kind=up-down"});
  EXPECT_EQ(d.topology->name, "hypercube");
  EXPECT_EQ(setting(d, "topology.dims"), "(none)");
  EXPECT_EQ(setting(d, "topology.dimension"), "6");
}

TEST(Description, AKeyOfAnotherRouterKindIsAnError) {
  const std::string text = std::string(kRing) + "[router]\nrow_buffer_flits = 8\n";
  EXPECT_THAT(errors(text),
              ElementsAre(HasSubstr("router.row_buffer_flits: is a key of router kind tiled, and "
                                    "this router is input-queued; set router.kind to tiled")));
  EXPECT_THAT(
      errors(kRing, {"router.kind=virtual-output-queued", "router.tile_rows=2"}),
      ElementsAre(HasSubstr("--set router.tile_rows=2: router.tile_rows: is a key of router kind tiled, "
                            "and this router is virtual-output-queued")));
  EXPECT_THAT(errors(text, {"router.kind=tiled"}), ElementsAre());
  EXPECT_THAT(errors(text + "kind = \"tiled\"\n", {"router.kind=input-queued"}), ElementsAre())
      << "another kind drops what it does not know";
  EXPECT_THAT(errors(std::string(kRing) + "[sources]\n\"router.tile_rows\" = \"assumed\"\n"),
              ElementsAre(HasSubstr("is no parameter of this machine")));
}

TEST(Description, SourcesMustNameParameters) {
  std::string text = std::string(kRing) + "[sources]\n\"topology.dims\" = \"assumed: small\"\n";
  Description d = describe_text(text, "m.toml", {});
  ASSERT_EQ(d.sources.size(), 1u);
  EXPECT_EQ(d.sources[0].second, "assumed: small");
  EXPECT_THAT(errors(std::string(kRing) + "[sources]\n\"topology.dim\" = \"assumed\"\n"),
              ElementsAre(HasSubstr("is no parameter of this machine (did you mean 'topology.dims'?)")));
}

TEST(Description, SourcesGoWithTheKindTheyExplain) {
  std::string text = std::string(kRing) + "[sources]\n\"topology.dims\" = \"assumed: small\"\n";
  EXPECT_THAT(errors(text, {"topology.kind=hypercube"}), ElementsAre());
  EXPECT_THAT(errors(text + "\"topology.dim\" = \"assumed\"\n", {"topology.dims=[8]"}),
              ElementsAre(HasSubstr("did you mean 'topology.dims'?")));
}

TEST(Description, BuildsOnAFileBesideIt) {
  test::ScratchFolder folder;
  std::ofstream(folder.file("lower.toml")) << kRing << "[router]\nchannels = 5\n";
  std::ofstream(folder.file("upper.toml")) << "base = \"lower.toml\"\n[topology]\ndims = [6]\n";
  Description d = describe(folder.file("upper.toml"), {});
  EXPECT_EQ(setting(d, "topology.dims"), "[6]");
  EXPECT_EQ(d.router.channels, 5u);
  EXPECT_THAT(d.files, ElementsAre(folder.file("upper.toml"), folder.file("lower.toml")));
}

TEST(Description, ABodyOfItsOwnHasNothingOfTheBases) {
  test::ScratchFolder folder;
  std::ofstream(folder.file("changed.toml")) << "base = \"greenice\"\n[cooling]\ninlet_c = 30\n";
  const Description changed = describe(folder.file("changed.toml"), {});
  EXPECT_EQ(changed.body->parts.size(), 2u) << "the accelerators and cards of the base";
  EXPECT_EQ(setting(changed, "cooling.inlet_c"), "30");
  std::ofstream(folder.file("own.toml")) << "base = \"greenice\"\n[rack.box]\ncount = 32\n"
                                            "[power.part.cell]\nidle_watts = 5\n[cooling]\nkind = \"air\"\n";
  const Description own = describe(folder.file("own.toml"), {});
  ASSERT_EQ(own.body->parts.size(), 1u);
  EXPECT_EQ(own.body->parts.front().name, "cell");
  EXPECT_EQ(own.body->levels.size(), 1u);
  EXPECT_EQ(own.body->supply.count, 1u);
}

TEST(Machine, FaultsAreNamedByPort) {
  Machine m =
      build(describe_text(kRing, "m.toml", {"faults.dead_cables=[\"r0.p0\"]", "faults.dead_routers=[2]"}));
  EXPECT_TRUE(m.faults->router_dead(2));
  EXPECT_TRUE(m.faults->cable_dead(m.graph->port_cable(m.graph->port(0, 0))));
  EXPECT_FALSE(m.faults->cable_dead(m.graph->port_cable(m.graph->port(0, 1))));
}

TEST(Machine, StagesAreNamedAndTimed) {
  Machine m = build(describe_text(kRing, "m.toml", {}));
  Lines names;
  for (const Stage& stage : m.stages) names.push_back(stage.name);
  EXPECT_THAT(names, ElementsAre("build graph", "build routes"));
}

TEST(Description, FallbackRatesGoDown) {
  const std::string text = "[topology]\nkind = \"torus\"\ndims = [2]\n[routing]\nkind = \"up-down\"\n";
  auto refused = [&](const char* setting) {
    try {
      describe_text(text, "test", {setting});
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("cable.default.fallback_rates=[\"5Gbps\", \"6Gbps\"]").find("6Gbps is not below 5Gbps"),
            std::string::npos);
  EXPECT_NE(refused("cable.default.min_lanes=5").find("the cable has 4 lanes"), std::string::npos);
  EXPECT_EQ(refused("cable.default.fallback_rates=[\"5Gbps\", \"2.5Gbps\"]"), "");
}

}  // namespace
}  // namespace weft::machine
