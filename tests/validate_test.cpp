// `weft validate` and `weft predict` as a user runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft {
namespace {

using nlohmann::json;
using test::ProgramResult;

TEST(ValidateCommand, QuicklyAllFiguresAreWithinTheirTolerances) {
  test::ScratchFolder scratch;
  std::string out = scratch.file("validation");
  ProgramResult r = test::run_program({"validate", "--quick", "--json", "--out", out});
  EXPECT_EQ(r.code, 0) << r.out;
  json rows = test::parse_json(r.out);
  ASSERT_GE(rows.size(), 60u);
  std::map<std::string, std::size_t> bases;
  std::set<std::string> published;
  for (const json& row : rows) {
    published.insert(row["id"]);
    if (!row["measured"].get<bool>()) {
      EXPECT_FALSE(row["needs"].get<std::string>().empty()) << row["id"];
      continue;
    }
    ++bases[row["basis"]];
    EXPECT_EQ(row["within"].get<bool>(),
              std::abs(row["error"].get<double>()) <= row["tolerance"].get<double>());
    EXPECT_NE(row["within"].get<bool>(), row["open_failure"].get<bool>()) << row["id"] << row["point"];
    EXPECT_FALSE(row["machine"].get<std::string>().empty());
    if (row["basis"] == "derived") EXPECT_FALSE(row["set_from"].empty()) << row["id"];
  }
  EXPECT_EQ(bases.size(), 4u);
  EXPECT_GE(bases["predicted"], 15u);
  EXPECT_LT(bases["calibrated"], bases["predicted"] + bases["structure"]);
  EXPECT_GE(std::ranges::count_if(published, [](const std::string& id) { return id.starts_with("V-"); }), 60);
  std::string page = test::read_file(out + "/validation.html");
  for (const char* plot :
       {"Latency over hops", "Message rate over pairs", "Message rate over size", "Bandwidth over size",
        "Unidirectional MPI bandwidth", "What the core clock drives", "Random pairs over candidate ports",
        "One-way latency over packet size"})
    EXPECT_NE(page.find(plot), std::string::npos) << plot;
  EXPECT_NE(r.err.find("experiment 1 of"), std::string::npos) << "progress";
}

TEST(ValidateCommand, AFigureOutsideItsToleranceIsTold) {
  ProgramResult r =
      test::run_program({"validate", "tianhe2", "--figure", "V-TH2-01", "--set", "host.post_cost=100ns"});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("OUTSIDE"), std::string::npos) << r.out;
}

TEST(ValidateCommand, APaperIsDrawnByItsNumbers) {
  test::ScratchFolder scratch;
  std::string out = scratch.file("paper");
  ProgramResult r = test::run_program({"validate", "--paper", "apenet", "--quick", "--out", out});
  EXPECT_EQ(r.code, 0) << r.err;
  std::string page = test::read_file(out + "/apenet.html");
  for (const char* part :
       {"Table 1: Evolution of the APElink cards", "Figure 7: Latency measurement", "34 Gb/s"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_NE(r.out.find("V-APE-01"), std::string::npos);
  EXPECT_EQ(r.out.find("V-TH2-01"), std::string::npos) << "another paper's figure";
}

TEST(ValidateCommand, APaperThatIsNoneIsRefused) {
  ProgramResult r = test::run_program({"validate", "--paper", "extol"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("did you mean 'extoll'"), std::string::npos) << r.err;
}

TEST(ValidateCommand, SourcesOfWorkloadsAreShown) {
  ProgramResult r = test::run_program({"validate", "--sources"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("workload.pending"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("calibrated: 45% of the time"), std::string::npos) << r.out;
}

TEST(ValidateCommand, TheSameTwiceOnAnyNumberOfThreads) {
  auto run = [](const char* threads) {
    return test::run_program({"validate", "extoll-r1", "--quick", "--json", "--threads", threads}).out;
  };
  EXPECT_EQ(run("1"), run("4"));
}

TEST(ValidateCommand, WrongNamesAreRefused) {
  ProgramResult r = test::run_program({"validate", "tianhe", "--figure", "V-1"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("2 errors"), std::string::npos) << r.err;
}

TEST(PredictCommand, SweepsFitsAndExtrapolates) {
  test::ScratchFolder scratch;
  std::string out = scratch.file("prediction");
  ProgramResult r = test::run_program({"predict", "extoll-r1", "--vary", "frequency=117MHz,140MHz",
                                       "--skeleton", "weather", "--to", "200%", "--json", "--out", out});
  ASSERT_EQ(r.code, 0) << r.err;
  json j = test::parse_json(r.out);
  const json& w = j["workloads"][0];
  EXPECT_EQ(w["points"].size(), 3u);
  EXPECT_LT(w["points"][0]["performance"].get<double>(), 1);
  EXPECT_GT(w["amdahl_bound"].get<double>(), 1.5);
  EXPECT_GT(w["beyond"][0]["simulated"].get<double>(), 1);
  EXPECT_LE(w["beyond"][0]["mechanistic"].get<double>(), w["amdahl_bound"].get<double>());
  EXPECT_NE(test::read_file(out + "/prediction.html").find("bound"), std::string::npos);
}

TEST(PredictCommand, TakesSkeletonsAndPrograms) {
  ProgramResult skeleton = test::run_program({"predict", "torus", "--set", "topology.dims=[2,2,2]", "--vary",
                                              "bandwidth=50%,100%", "--skeleton", "all-to-all", "--json"});
  ASSERT_EQ(skeleton.code, 0) << skeleton.err;
  EXPECT_LT(test::parse_json(skeleton.out)["workloads"][0]["points"][0]["performance"].get<double>(), 0.9);
  ProgramResult program = test::run_program({"predict", "extoll-r1", "--vary", "latency=100%,200%", "-n", "2",
                                             "--json", "--", WEFT_BUILD "/examples/pingpong", "10", "64"});
  ASSERT_EQ(program.code, 0) << program.err;
  json points = test::parse_json(program.out)["workloads"][0]["points"];
  EXPECT_LT(points[1]["performance"].get<double>(), 0.95);
}

TEST(PredictCommand, MistakesAreTold) {
  ProgramResult r = test::run_program({"predict", "tianhe2", "--vary", "frequency=50%,fast"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("core.clock"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("'fast'"), std::string::npos) << r.err;
  EXPECT_EQ(
      test::run_program({"predict", "extoll-r1", "--vary", "latency=50%", "--skeleton", "wheather"}).code, 2);
  EXPECT_EQ(
      test::run_program({"predict", "extoll-r1", "--vary", "message-rate=50%", "--skeleton", "lammps"}).code,
      2);
}

TEST(ShowCommand, SourcesOfEveryValueOfTianhe2) {
  ProgramResult r = test::run_program({"show", "tianhe2", "--sources"});
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.out.find("004_bcf4e0dc106c4acb.txt table 1"), std::string::npos);
  EXPECT_NE(r.out.find("assumed: light in glass"), std::string::npos);
}

}  // namespace
}  // namespace weft
