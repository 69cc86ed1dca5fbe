#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "test_paths.hpp"
#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

namespace fs = std::filesystem;
using testing::build;
using testing::cable_of;
using testing::cables_between;
using testing::errors;
using testing::Reading;
using Lines = std::vector<std::string>;

/// A file that lives as long as the test that wrote it.
class GraphFile : public ::testing::Test {
 protected:
  GraphFile() {
    auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("weft-{}-{}", test->name(), getpid());
    fs::create_directories(folder_);
  }
  ~GraphFile() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return "file=" + (folder_ / name).string();
  }

  Graph build_text(const std::string& name, std::string_view text) {
    return build("file", {write(name, text)}, {cable_of("default", {2000}), cable_of("optical", {20'000})});
  }

  /// What building says about a text, without the folder.
  Lines complaints(const std::string& name, std::string_view text) { return complaints({write(name, text)}); }
  Lines complaints(const testing::Settings& settings) {
    Reading reading("file", settings, {cable_of("default", {2000}), cable_of("optical", {20'000})});
    EXPECT_EQ(reading.errors, Lines{});
    reading.size();
    Lines out;
    try {
      reading.build();
    } catch (const UserError& error) {
      for (const Diagnostic& d : error.diagnostics()) {
        std::string text = d.text(), prefix = folder_.string() + "/";
        out.push_back(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
      }
    }
    return out;
  }

  fs::path folder_;
};

TEST_F(GraphFile, EdgeListGivesRoutersCablesLengthsAndTypes) {
  Graph graph = build_text("g.edges",
                           "# a comment\n"
                           "spine a 5m\n"
                           "\tspine  b 50cm optical # another\r\n"
                           "spine a\n"
                           "b a optical\n"
                           "router spine endpoints=0\n"
                           "router b endpoints=3\n");
  EXPECT_EQ(graph.routers(), 3u);
  EXPECT_EQ(graph.endpoints(), 4u);
  EXPECT_EQ(graph.router_name(0), "r0 spine");
  EXPECT_EQ(graph.endpoint_count(0), 0u);
  EXPECT_EQ(graph.endpoint_count(1), 1u);
  EXPECT_EQ(graph.endpoint_count(2), 3u);
  EXPECT_EQ(cables_between(graph, 0, 1), 2u);
  EXPECT_EQ(graph.cable_length(0).value, 5000);
  EXPECT_EQ(graph.cable_length(1).value, 500);
  EXPECT_EQ(graph.cable_type(1).name, "optical");
  EXPECT_EQ(graph.cable_length(2).value, 2000);
  EXPECT_EQ(graph.cable_length(3).value, 20'000);
}

TEST_F(GraphFile, NamesMayBeInAnyScript) {
  EXPECT_EQ(build_text("g.edges", "\xef\xbb\xbfköln 東京\n").router_name(1), "r1 東京");
}

TEST_F(GraphFile, EveryMistakeOfAnEdgeListHasItsLine) {
  EXPECT_EQ(
      complaints("g.edges",
                 "a a\n"
                 "a b 5parsec\n"
                 "a b 5m optcal\n"
                 "a\n"
                 "a b 5m optical extra\n"
                 "a b optical 5m\n"
                 "router\n"
                 "router a endpoints=many\n"
                 "router a\n"
                 "a b 7\n"
                 "a b -1m\n"),
      (Lines{
          "g.edges:1:1: a cable joins two routers, not 'a' to itself",
          "g.edges:2:5: length '5parsec': 'parsec' is not a unit of a length; expected one of mm, cm, m, km",
          "g.edges:3:8: expected one of the cable types of this machine (default, optical), got 'optcal' "
          "(did "
          "you mean 'optical'?)",
          "g.edges:4:1: expected a cable, 'router-a router-b [length] [cable-type]', got 1 word",
          "g.edges:5:1: expected a cable, 'router-a router-b [length] [cable-type]', got 5 words",
          "g.edges:6:13: did not expect '5m' here: a cable has one length, then one type",
          "g.edges:7:1: expected 'router NAME' or 'router NAME endpoints=N'",
          "g.edges:8:10: expected a number of endpoints, 0 to 65000, got 'many'",
          "g.edges:9:1: router 'a' is declared on line 8 already",
          "g.edges:10:5: length '7': expected a length with its unit (mm, cm, m, km), such as \"20m\"",
          "g.edges:11:5: length '-1m': is outside 0m to 100km"}));
}

TEST_F(GraphFile, WhatIsNoGraphIsRefused) {
  EXPECT_EQ(complaints("g.edges", ""), Lines{"g.edges: names no routers"});
  EXPECT_EQ(complaints("g.edges", "# nothing\n\n"), Lines{"g.edges: names no routers"});
  EXPECT_EQ(complaints("g.edges", std::string_view("a b\n\0\x01", 6)),
            Lines{"g.edges:2:1: not a text: byte 0x00; expected an edge list or GraphML, in UTF-8"});
  for (std::string_view broken : {"\xff", "a \xc3", "a \xe2\x82 b", "\x80", "\xc0\xaf", "\xf5\x80\x80\x80"})
    EXPECT_EQ(complaints("g.edges", broken).size(), 1u);
  std::string prose;
  for (int i = 0; i < 1000; ++i) prose += "this is not a list of cables\n";
  EXPECT_EQ(complaints("g.edges", prose).size(), 51u) << "the first fifty, and that there are more";
}

TEST_F(GraphFile, TooLargeFilesAndRoutersAreRefused) {
  std::string file = write("g.edges", "a b\n");
  fs::resize_file(folder_ / "g.edges", (512u << 20) + 1);
  EXPECT_EQ(complaints({file}), Lines{"g.edges: has 536,870,913 bytes; a graph may have 536,870,912"});
  EXPECT_EQ(
      complaints("h.edges", "a b\nrouter b endpoints=65000\n"),
      Lines{"h.edges:2:1: router 'b' has 1 cable and 65,000 endpoints; at most 65000 ports can be built"});
}

TEST_F(GraphFile, GraphmlGivesWhatItsKeysSay) {
  Graph graph = build_text("g.graphml", R"(<?xml version="1.0"?>
<graphml>
  <key id="k1" for="node" attr.name="endpoints"><default>2</default></key>
  <key id="k2" for="edge" attr.name="length"/>
  <graph edgedefault="directed">
    <edge source="n0" target="n1"><data key="k2"> 7m </data></edge>
    <node id="n0"/>
    <node id="n1"><data key="k1">0</data></node>
    <node id="n2" endpoints="5"/>
    <edge source="n1" target="n2" cable="optical"/>
    <edge source="n1" target="n2"><data key="type">optical</data></edge>
  </graph>
</graphml>)");
  EXPECT_EQ(graph.routers(), 3u);
  EXPECT_EQ(graph.endpoints(), 7u);
  EXPECT_EQ(graph.cable_length(0).value, 7000);
  EXPECT_EQ(graph.cable_type(1).name, "optical");
  EXPECT_EQ(graph.cable_type(2).name, "optical");
  EXPECT_EQ(cables_between(graph, 1, 2), 2u);
  EXPECT_EQ(graph.router_name(2), "r2 n2");
}

TEST_F(GraphFile, EveryMistakeOfGraphmlHasItsLine) {
  EXPECT_EQ(
      complaints("g.xml", R"(<graphml>
  <graph>
    <node id="one"/>
    <node id="two" endpoints="-1"/>
    <node id="one"/>
    <node/>
    <node id="three"><graph/></node>
    <edge source="one" target="twoo"/>
    <edge source="one"/>
    <edge source="two" target="two"/>
    <edge source="one" target="two" length="3yd" type="coper"/>
    <hyperedge/>
  </graph>
</graphml>)"),
      (Lines{"g.xml:4:5: expected a number of endpoints, 0 to 65000, got '-1'",
             "g.xml:5:5: router 'one' is declared on line 3 already", "g.xml:6:5: <node> needs an id",
             "g.xml:7:5: node 'three' holds a graph of its own; a router cannot",
             "g.xml:8:5: there is no node 'twoo' (did you mean 'two'?)", "g.xml:9:5: <edge> needs a target",
             "g.xml:10:5: a cable joins two routers, not 'two' to itself",
             "g.xml:11:5: length '3yd': 'yd' is not a unit of a length; expected one of mm, cm, m, km",
             "g.xml:11:5: expected one of the cable types of this machine (default, optical), got 'coper'",
             "g.xml:12:5: a cable joins two routers: <hyperedge> cannot be one"}));
}

TEST_F(GraphFile, BrokenXmlIsRefusedWhereItBreaks) {
  auto said = complaints("g.graphml", "<graphml>\n <graph>\n  <node id='a'\n");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("g.graphml:3:")) << said[0];
  EXPECT_EQ(complaints("g.graphml", "<svg/>"),
            Lines{"g.graphml:1:1: expected the element <graphml>, got <svg>"});
  EXPECT_EQ(complaints("g.graphml", "<graphml/>"), Lines{"g.graphml:1:1: expected one <graph>, found 0"});
  EXPECT_EQ(complaints("g.graphml", "<graphml><graph/></graphml>"), Lines{"g.graphml: names no routers"});
  EXPECT_EQ(complaints("g.graphml", "").size(), 1u);
}

TEST_F(GraphFile, LinesMayStandInTheDescription) {
  Graph graph = build("file", {R"(lines=["a b 3m", "b c"])"});
  EXPECT_EQ(graph.routers(), 3u);
  EXPECT_EQ(complaints({R"(lines=["a b", "b b"])"}),
            Lines{"topology.lines:2:1: a cable joins two routers, not 'b' to itself"});
}

TEST_F(GraphFile, NeedsAFileOrLines) {
  EXPECT_EQ(errors("file", {}),
            Lines{"topology.file: is missing; expected a file with the graph, or the lines of an "
                  "edge list as `lines`"});
  EXPECT_EQ(errors("file", {write("g.edges", "a b"), "lines=[\"a b\"]"}),
            Lines{"topology.lines: cannot be given together with file"});
  EXPECT_EQ(errors("file", {"file=/no/such/graph"}), Lines{"topology.file: there is no file /no/such/graph"});
}

TEST_F(GraphFile, TheExamplesBuild) {
  Graph petersen = build("file", {"file=" WEFT_ROOT "/examples/graphs/petersen.graphml"});
  EXPECT_EQ(petersen.routers(), 10u);
  EXPECT_EQ(petersen.cables(), 15u);
  EXPECT_EQ(petersen.endpoints(), 15u);
  EXPECT_EQ(testing::diameter(petersen), 2u);
  Graph leaf_spine =
      build("file", {"file=" WEFT_ROOT "/examples/graphs/leaf-spine.edges", "endpoints_per_router=4"});
  EXPECT_EQ(leaf_spine.endpoints(), 12u);
  EXPECT_EQ(testing::diameter(leaf_spine), 2u);
}

}  // namespace
}  // namespace weft::topology
