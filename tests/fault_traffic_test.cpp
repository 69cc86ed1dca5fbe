// `weft traffic --fault`: a run in which things break, from the command line to the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <pugixml.hpp>

#include "json.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<std::string> torus_with(const std::string& script, const std::string& out) {
  return {"traffic", "torus", "--set", "topology.dims=[4,4]", "--load", "0.2", "--packet", "4", "--fault",
          script,    "--out", out};
}

TEST(FaultTraffic, ShowsTheTimelineOnTheTerminalAndInEveryFile) {
  ScratchFolder folder;
  ProgramResult result =
      run_program(torus_with("at 20us cut r0.p0; at 40us restore r0.p0", folder.file("run")));
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("20.000 us  cut r0.p0\n"));
  EXPECT_THAT(result.out, HasSubstr("r0.p0 declares its link dead\n"));
  EXPECT_THAT(result.out,
              HasSubstr("new routes in every table: fault-avoiding over dimension-order; nobody cut off"));
  EXPECT_THAT(result.out, HasSubstr("new routes in every table: dimension-order; nobody cut off"));
  EXPECT_THAT(result.out, HasSubstr("no packet lost"));

  auto json = parse_json(read_file(folder.file("run/result.json")));
  const auto& faults = json["points"][0]["faults"];
  EXPECT_EQ(faults["timeline"][0]["what"], "cut r0.p0");
  EXPECT_EQ(faults["undeliverable_packets"], 0);
  EXPECT_GT(faults["packets_taken_back"], 0);
  EXPECT_EQ(faults["cables"].size(), 1u);
  // While tables are written nobody sends; before and after, everything offered gets through.
  double least = 1, first = faults["slices"][10]["accepted"], last = faults["slices"][95]["accepted"];
  for (const auto& slice : faults["slices"]) least = std::min(least, slice["accepted"].get<double>());
  EXPECT_EQ(least, 0);
  EXPECT_NEAR(first, 0.2, 0.05);
  EXPECT_NEAR(last, 0.2, 0.05);
  EXPECT_THAT(json["run"]["command"].get<std::string>(), HasSubstr("--fault 'at 20us cut r0.p0;"));

  std::string page = read_file(folder.file("run/report.html"));
  EXPECT_THAT(page, HasSubstr("declares its link dead"));
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(page.c_str())) << "the page is well-formed";
  EXPECT_TRUE(document.select_node("//section[@id='faults']//table"));
}

TEST(FaultTraffic, NamesWhoIsCutOff) {
  ScratchFolder folder;
  ProgramResult result = run_program(torus_with("at 10us kill router 5", folder.file("run")));
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("cut off: e5"));
  EXPECT_THAT(result.out, ContainsRegex("undeliverable e[0-9]+ -> e5: [0-9]+ packet"));
}

TEST(FaultTraffic, BitErrorsShowInTheTable) {
  ScratchFolder folder;
  ProgramResult result =
      run_program({"traffic", "torus", "--set", "topology.dims=[4,4]", "--load", "0.2", "--set",
                   "cable.default.bit_error_rate=1e-6", "--out", folder.file("run")});
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              ContainsRegex("32 cables could fail: [0-9,]+ bits damaged, [0-9,]+ flits? refused"));
}

TEST(FaultTraffic, NeighboursHearOfFullBuffersAndDeadLinks) {
  // Two cables of router 0 have a link layer. While the first is down, the other's frames say so at its far
  // end.
  ScratchFolder folder;
  ProgramResult result =
      run_program(torus_with("at 20us cut r0.p0; at 50us stall r0.p2 for 1us", folder.file("run")));
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  auto run = parse_json(read_file(folder.file("run/result.json")));
  bool other = false;
  for (const auto& cable : run["points"][0]["faults"]["cables"]) {
    EXPECT_GT(cable["fullest_buffer_told"], 0) << cable;
    if (cable["port"] != "r0.p2") continue;
    other = true;
    EXPECT_EQ(cable["dead_links_told"], 1);
    EXPECT_EQ(cable["deaths"], 0);
  }
  EXPECT_TRUE(other) << run["points"][0]["faults"];
}

TEST(FaultTraffic, AnEmptyCableSectionCostsNothingAndSaysNothing) {
  ScratchFolder folder;
  ProgramResult result = run_program(
      {"traffic", "torus", "--set", "topology.dims=[4,4]", "--load", "0.1", "--out", folder.file("run")});
  EXPECT_EQ(result.out.find("could fail"), std::string::npos);
  EXPECT_EQ(read_file(folder.file("run/result.json")).find("\"faults\""), std::string::npos);
}

TEST(FaultTraffic, BadScriptsSayWhereAndWhy) {
  ScratchFolder folder;
  ProgramResult result = run_program(torus_with("at 3us cut r99.p0; at 2us cut r0.p0", folder.file("run")));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--fault:1:12: there is no router r99: there are r0 to r15"));
  EXPECT_THAT(result.err, HasSubstr("--fault:1:23: 2us is in the past: the statement before it is at 3us"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("run"))) << "nothing is run";

  std::ofstream(folder.file("faults.txt"))
      << "# two lines\nat 3us cut r0.p0\nat 4us restore r0.p0\nat 5us restore r0.p0\n";
  result = run_program(torus_with(folder.file("faults.txt"), folder.file("run")));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("faults.txt:4:16: that cable is up already"));
}

TEST(FaultTraffic, ThreadsGiveTheSameFile) {
  ScratchFolder folder;
  auto run = [&](const std::string& threads) {
    auto command = torus_with("at 5us cut r0.p0; at 8us kill router 9", folder.file("run" + threads));
    command.insert(command.end(), {"--threads", threads, "--set", "cable.default.bit_error_rate=1e-6"});
    EXPECT_EQ(run_program(command).code, 0);
    auto json = parse_json(read_file(folder.file("run" + threads + "/result.json")));
    json.erase("run");
    return json.dump();
  };
  EXPECT_EQ(run("1"), run("2"));
}

}  // namespace
}  // namespace weft::test
