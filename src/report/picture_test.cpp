#include "report/picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>
#include <set>

#include "machine/machine.hpp"

namespace weft::report {
namespace {

machine::Machine build(const std::string& kind, const std::vector<std::string>& settings,
                       const std::string& more = "") {
  std::vector<std::string> all;
  for (const std::string& setting : settings) all.push_back("topology." + setting);
  return machine::build_graph(machine::describe_text(
      "[topology]\nkind = \"" + kind + "\"\n[routing]\nkind = \"up-down\"\n" + more, "test.toml", all));
}

std::string picture_of(const machine::Machine& m, const std::string& title = "test") {
  return draw_machine(*m.graph, *m.faults, title, "about");
}

pugi::xml_document parse(const std::string& svg) {
  pugi::xml_document document;
  auto result = document.load_buffer(svg.data(), svg.size());
  EXPECT_TRUE(result) << result.description();
  EXPECT_STREQ(document.document_element().name(), "svg");
  return document;
}

/// Routers carry their name as a title; the legend's samples do not.
std::size_t drawn_routers(const pugi::xml_document& document) {
  return document.select_nodes("//circle[title]").size();
}

std::size_t drawn_cables(const pugi::xml_document& document) {
  return document.select_nodes("//path[title]").size();
}

void for_every_example(const std::function<void(const machine::Machine&)>& use) {
  for (const auto& [name, kind] : topology::Topologies::all())
    for (const auto& example : kind.examples) {
      SCOPED_TRACE(name + " " + join(example, " "));
      use(build(name, example));
    }
}

TEST(Picture, ShowsEveryRouterAndCableOfSmallMachines) {
  for_every_example([](const machine::Machine& m) {
    pugi::xml_document document = parse(picture_of(m));
    if (m.graph->routers() > kMostDrawnRouters) return;
    EXPECT_EQ(drawn_routers(document), m.graph->routers());
    EXPECT_EQ(drawn_cables(document), m.graph->cables());
  });
}

TEST(Layout, KeepsRoutersApartAndOnThePage) {
  for_every_example([](const machine::Machine& m) {
    if (m.graph->routers() > kMostDrawnRouters) return;
    Layout layout = lay_out(*m.graph);
    for (topology::RouterId a = 0; a < m.graph->routers(); ++a) {
      Point p = layout.routers[a];
      EXPECT_TRUE(p.x >= layout.low.x && p.x <= layout.high.x && p.y >= layout.low.y && p.y <= layout.high.y);
      for (topology::RouterId b = 0; b < a; ++b)
        EXPECT_GT((p - layout.routers[b]).length(), (layout.radius[a] + layout.radius[b]) * 0.9)
            << "routers " << a << " and " << b;
    }
    for (const std::string& path : layout.cables) EXPECT_TRUE(path.starts_with("M"));
    EXPECT_TRUE(layout.ticks.empty() || layout.ticks.size() == m.graph->endpoints());
  });
}

TEST(Layout, IsTheSameEveryTime) {
  auto m = build("jellyfish", {"routers=40", "degree=3"});
  EXPECT_EQ(picture_of(m), picture_of(m));
}

TEST(Picture, GridsOfManySizes) {
  for (const char* dims : {"[1]", "[2]", "[3]", "[600]", "[2,300]", "[24,25]", "[8,8,8]", "[2,2,150]",
                           "[4,4,4,4]", "[2,2,2,2,2,2,2,2,2]"})
    for (const char* kind : {"torus", "mesh"}) {
      SCOPED_TRACE(std::string(kind) + " " + dims);
      auto m = build(kind, {std::string("dims=") + dims});
      std::string svg = picture_of(m);
      EXPECT_LT(svg.size(), 2'000'000u);
      pugi::xml_document document = parse(svg);
      EXPECT_EQ(drawn_routers(document), m.graph->routers());
    }
}

TEST(Picture, CrowdedMachinesStaySmall) {
  auto m = build("jellyfish", {"routers=600", "degree=64"});
  EXPECT_LT(picture_of(m).size(), 2'000'000u);
}

TEST(Picture, LargeMachinesAreDrawnAsTiers) {
  auto tree = build("fat-tree", {"children=[16,16,16]", "parents=[1,16,16]"});
  std::string svg = picture_of(tree);
  parse(svg);
  EXPECT_LT(svg.size(), 50'000u);
  for (const char* words : {"level 1", "level 3", "256 routers", "4,096 cables", "4,096 endpoints"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  auto torus = build("torus", {"dims=[10,10,10]", "attach=[3,9]"});
  svg = picture_of(torus);
  parse(svg);
  for (const char* words : {"device", "3,000 cables", "2 cables", "1,000 endpoints", "2 endpoints"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
}

/// Where texts lie, about; those in routers apart.
struct TextBox {
  std::string text;
  double left, right, top, bottom;
};
std::vector<TextBox> texts_of(const pugi::xml_document& document) {
  std::vector<TextBox> out;
  for (const auto& found : document.select_nodes("//text[not(@fill='#ffffff')]")) {
    const pugi::xml_node node = found.node();
    const std::string text = node.text().get(), anchor = node.attribute("text-anchor").value();
    const double size = node.attribute("font-size").as_double(), width = text_width(text, size);
    const double x = node.attribute("x").as_double(), y = node.attribute("y").as_double();
    const double left = anchor == "end" ? x - width : anchor == "middle" ? x - width / 2 : x;
    if (size > 10) out.push_back({text, left, left + width, y - 0.8 * size, y + 0.2 * size});
  }
  return out;
}

TEST(Picture, LabelsNeverLieOnEachOther) {
  for (const char* name : {"exanest-track2", "exanest-track1", "tianhe2", "dragonfly", "fat-tree", "torus"}) {
    const machine::Machine m = machine::build_graph(machine::describe(name, {}));
    const std::string svg = picture_of(m);
    const std::vector<TextBox> all = texts_of(parse(svg));
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(all[i].left < all[j].right && all[j].left < all[i].right && all[i].top < all[j].bottom &&
                     all[j].top < all[i].bottom)
            << name << ": '" << all[i].text << "' and '" << all[j].text << "'";
  }
}

TEST(Picture, OnePartOfThoseAlikeIsShownInFull) {
  auto torus = build("torus", {"dims=[4,4,4]"});
  std::string svg = picture_of(torus);
  EXPECT_NE(svg.find("The front plane, 0 of dimension 2, in full"), std::string::npos);
  const Layout layout = lay_out(*torus.graph);
  EXPECT_EQ(std::count(layout.faint_routers.begin(), layout.faint_routers.end(), false), 16);
  EXPECT_EQ(std::count(layout.faint_cables.begin(), layout.faint_cables.end(), false), 32);
  auto tree = build("fat-tree", {"children=[8,8]", "parents=[1,4]"});
  svg = picture_of(tree);
  EXPECT_NE(svg.find("4 up, 8 down, taper 2:1"), std::string::npos) << "8 endpoints for 4 cables";
}

TEST(Picture, DeadPartsAreRedAndDashed) {
  auto m = build("mesh", {"dims=[4,4]"}, "[faults]\ndead_cables = [\"r0.p0\"]\ndead_routers = [10]\n");
  std::string svg = picture_of(m);
  pugi::xml_document document = parse(svg);
  std::string colour(kDeadColour);
  std::string dashed = "//g[@stroke='" + colour + "' and @stroke-dasharray]/path";
  EXPECT_EQ(document.select_nodes(dashed.c_str()).size(), 1u + 4u)
      << "one cable, and the four of the dead router";
  EXPECT_EQ(document.select_nodes(("//circle[@stroke='" + colour + "']").c_str()).size(), 1u);
  EXPECT_NE(svg.find("out of order"), std::string::npos);
}

TEST(Picture, TextsAreEscaped) {
  auto m = build("torus", {"dims=[4]"});
  std::string svg = picture_of(m, "a <b> & \"c\" \x01");
  pugi::xml_document document = parse(svg);
  EXPECT_STREQ(document.document_element().child("title").text().get(), "a <b> & \"c\" ");
}

TEST(Picture, AHeatMapColoursTheSameLayout) {
  auto m = build("torus", {"dims=[4,4]"});
  Picture heat = plain_picture(*m.graph, *m.faults, "load", "");
  heat.look = [](topology::CableId c) {
    return CableLook{c < 8 ? "#ff0000" : "#00ff00", 1.0 + c % 2, false};
  };
  pugi::xml_document document = parse(draw(*m.graph, *m.faults, lay_out(*m.graph), heat));
  EXPECT_EQ(document.select_nodes("//g[@stroke='#ff0000']/path").size(), 8u);
  EXPECT_EQ(document.select_nodes("//g[@stroke='#00ff00']/path").size(), m.graph->cables() - 8);
}

}  // namespace
}  // namespace weft::report
