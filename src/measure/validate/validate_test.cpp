#include <gtest/gtest.h>

#include <set>

#include "measure/predict/fit.hpp"
#include "measure/predict/predict.hpp"
#include "measure/validate/figure.hpp"

namespace weft::measure {
namespace {

ValidateResult run(const std::string& machine, const std::vector<std::string>& figures,
                   const std::vector<std::string>& settings = {}) {
  ValidateOptions options;
  options.machine = machine;
  options.figures = figures;
  options.settings = settings;
  options.quick = true;
  return validate(options);
}

double ours(const ValidateResult& r, const std::string& id, const std::string& point = "") {
  for (const FigureResult& f : r.figures)
    if (f.figure.id == id && f.figure.point == point) return f.ours;
  ADD_FAILURE() << id << " " << point;
  return 0;
}

TEST(Validate, AtMostAThirdOfTheFiguresIsCalibrated) {
  std::size_t all = 0, calibrated = 0;
  std::set<std::string> names;
  for (const ExperimentKind* e : experiments_in_order())
    for (const Figure& f : e->figures) {
      ++all;
      calibrated += f.basis == Basis::Calibrated;
      EXPECT_TRUE(names.insert(f.name()).second) << f.name() << " twice";
      EXPECT_FALSE(f.source.empty()) << f.name();
      EXPECT_FALSE(f.what.empty()) << f.name();
    }
  EXPECT_GE(all, 60u);
  EXPECT_LE(3 * calibrated, all);
}

// No figure is written down: each follows from the profile, and changes with it.
TEST(Validate, AChangedProfileChangesTheFigures) {
  auto before = run("extoll-r1", {"V-EX1-01", "V-EX1-04", "C1", "V-EX1-05"});
  auto wire = run("extoll-r1", {"V-EX1-01", "C1"}, {"nic.header=80B"});
  EXPECT_EQ(before.outside(), 0u);
  EXPECT_EQ(ours(wire, "C1"), 104);
  EXPECT_NEAR(ours(wire, "V-EX1-01") / ours(before, "V-EX1-01"), 64.0 / 104, 0.03);
  EXPECT_GT(wire.outside(), 0u);
  EXPECT_NEAR(
      ours(run("extoll-r1", {"V-EX1-04"}, {"router.latency=138.4ns"}), "V-EX1-04") - ours(before, "V-EX1-04"),
      100, 7);
  EXPECT_NEAR(ours(run("extoll-r1", {"V-EX1-05"}, {"cable.default.lanes=2"}), "V-EX1-05", "raw"), 12.48,
              1e-9);

  auto tree = run("tianhe2", {"V-TH2-01", "V-TH2-02", "V-TH2-03", "V-TH2-07"});
  EXPECT_EQ(tree.outside(), 0u);
  auto slower = run("tianhe2", {"V-TH2-01", "V-TH2-03"}, {"router.latency=150.4ns"});
  EXPECT_NEAR(ours(slower, "V-TH2-01") - ours(tree, "V-TH2-01"), 50, 1);
  EXPECT_NEAR(ours(slower, "V-TH2-03", "9 hops") - ours(tree, "V-TH2-03", "9 hops"), 450, 1);
  auto fetched = run("tianhe2", {"V-TH2-02"}, {"host.read_latency=291ns"});
  EXPECT_NEAR(ours(fetched, "V-TH2-02") - ours(tree, "V-TH2-02"), 100, 1);  // F94
  auto short_fibre = run("tianhe2", {"V-TH2-03"}, {"cable.long.length=0m"});
  EXPECT_NEAR(ours(tree, "V-TH2-03", "7 hops") - ours(short_fibre, "V-TH2-03", "7 hops"), 200, 1);  // F72
  EXPECT_NEAR(ours(tree, "V-TH2-03", "5 hops"), ours(short_fibre, "V-TH2-03", "5 hops"), 1);
  EXPECT_LT(ours(run("tianhe2", {"V-TH2-07"}, {"nic.payload=128B"}), "V-TH2-07"),
            0.93 * ours(tree, "V-TH2-07"));
}

TEST(Validate, PerHopLatenciesAreThoseOfThePapers) {  // F39
  EXPECT_NEAR(ours(run("apenet-plus", {"V-APE-01"}), "V-APE-01"), 60, 3);
  EXPECT_NEAR(ours(run("tianhe2", {"V-TH2-04"}), "V-TH2-04"), 100, 2);
  EXPECT_NEAR(ours(run("extoll-r1", {"V-EX1-04"}), "V-EX1-04"), 300, 6);
  EXPECT_NEAR(ours(run("exanest-trenz", {"V-EXN-04"}), "V-EXN-04"), 400, 20);
}

TEST(Validate, TheClockDrivesRateBandwidthAndLatencyByTheirShares) {  // F217
  auto r = run("extoll-r1", {"V-EX1-06"});
  EXPECT_EQ(r.figures.size(), 9u);
  EXPECT_EQ(r.outside(), 0u);
  for (const FigureResult& f : r.figures) EXPECT_EQ(f.figure.basis, Basis::Predicted);
}

TEST(Validate, NamesThatAreNoneAreRefusedTogether) {
  ValidateOptions options;
  options.machine = "tianhe3";
  options.figures = {"V-TH2-99", "V-TH2-03"};
  try {
    validate(options);
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    ASSERT_EQ(error.diagnostics().size(), 2u);
    EXPECT_NE(error.diagnostics()[0].text().find("tianhe2"), std::string::npos);
  }
}

TEST(Validate, ErrorsAreInTheUnitOfTheirTolerance) {
  FigureResult f{"", "", {"X", "", "", "ns", 200, percent_off(2), Basis::Predicted, true, ""}, 206, ""};
  EXPECT_DOUBLE_EQ(f.error(), 3);
  EXPECT_FALSE(f.within());
  f.figure.tolerance = points_off(6);
  EXPECT_DOUBLE_EQ(f.error(), 6);
  EXPECT_TRUE(f.within());
  f.figure.tolerance = at_least();
  EXPECT_TRUE(f.within());
  f.ours = 199;
  EXPECT_FALSE(f.within());
}

TEST(Fit, FindsTheCoefficientsOfAPlane) {
  std::vector<std::array<double, 3>> rows{{1, 0, 0}, {1, 2, 0}, {1, 4, 20}, {1, 6, 60}, {1, 8, 60}};
  std::vector<double> values;
  for (auto& r : rows) values.push_back(750 + 99 * r[1] + 5 * r[2]);
  auto fit = least_squares(rows, values);
  EXPECT_NEAR(fit[0], 750, 1e-9);
  EXPECT_NEAR(fit[1], 99, 1e-9);
  EXPECT_NEAR(fit[2], 5, 1e-9);
}

TEST(Fit, SharesOfTheTimeThatFollowAClock) {  // C7: Table III of the EXTOLL paper
  std::vector<double> clocks{117 / 156.0, 125 / 156.0, 140 / 156.0, 1};
  auto share = [&](std::vector<double> relative) {
    for (double& r : relative) r = 1 / r;
    return scaling_share(clocks, relative, true);
  };
  EXPECT_NEAR(share({.7461, .7921, .8862, 1}), 1.04, 0.02);
  EXPECT_NEAR(share({.8089, .8523, .9264, 1}), 0.70, 0.02);
  EXPECT_NEAR(share({.8379, .8718, .9316, 1}), 0.59, 0.02);
}

machine::Description extoll() { return machine::describe("extoll-r1", {}); }

TEST(Predict, VariationsAreReadAndRefused) {
  Variation v = read_variation("frequency=156MHz,117MHz,50%", extoll());
  EXPECT_EQ(v.factors, (std::vector<double>{0.5, 0.75, 1}));
  auto refused = [](const std::string& text) {
    try {
      read_variation(text, extoll());
    } catch (const UserError& error) {
      return error.diagnostics().size();
    }
    return std::size_t{0};
  };
  EXPECT_EQ(refused("frequence=50%"), 1u);
  EXPECT_EQ(refused("bandwidth=fast,-3,80%"), 2u);
  EXPECT_EQ(refused("message-rate=120%"), 1u);
  EXPECT_THROW(read_variation("frequency=50%", machine::describe("tianhe2", {})), UserError);
}

PredictOptions half(const std::string& vary) {
  PredictOptions o;
  o.machine = "extoll-r1";
  o.vary = vary;
  PredictWorkload w = built_in_workload("random-access");
  o.workloads = {w};
  o.beyond = {4};
  o.run_beyond = false;
  return o;
}

TEST(Predict, RandomAccessFollowsTheMessageRateAndIsBoundedByAmdahl) {  // C8
  WorkloadPrediction w = predict(half("frequency=75%,90%")).workloads[0];
  ASSERT_EQ(w.points.size(), 3u);
  EXPECT_NEAR(w.points[0].relative, 0.75, 0.03);
  EXPECT_NEAR(w.base / (1 - w.library_share), 0.20853 / 0.11, 0.1);
  EXPECT_LE(w.share, w.library_share);
  // Where the paper's fit departs: 1.45 to 1.54 GUPS at 400%, and 0.63 where what communicates takes a
  // quarter.
  EXPECT_GT(w.base * w.beyond[0].exponential, 1.4);
  EXPECT_NEAR(w.base * w.beyond[0].mechanistic, 0.63, 0.04);
}

TEST(Predict, PausesLowerTheMessageRateToTheShareAskedFor) {  // F220
  machine::Machine m = machine::build(extoll());
  Variation v = read_variation("message-rate=70%", m.description);
  std::vector<std::string> settings = settings_for(v, m, 0.7, 8);
  ASSERT_EQ(settings.size(), 1u);
  auto slower = run("extoll-r1", {"V-EX1-01"}, settings);
  EXPECT_NEAR(ours(slower, "V-EX1-01") / 9.75, 0.7, 0.03);
}

}  // namespace
}  // namespace weft::measure
