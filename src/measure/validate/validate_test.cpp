#include <gtest/gtest.h>

#include <algorithm>
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

TEST(Validate, EveryFigureHasItsSourceAndOneName) {
  std::set<std::string> names, published;
  for (const ExperimentKind* e : experiments_in_order())
    for (const Figure& f : e->figures) {
      EXPECT_TRUE(names.insert(f.name()).second) << f.name() << " twice";
      EXPECT_FALSE(f.source.empty()) << f.name();
      EXPECT_FALSE(f.what.empty()) << f.name();
      if (f.open) EXPECT_FALSE(f.open->reason.empty() || f.open->closed_by.empty()) << f.name();
      published.insert(f.id);
    }
  for (const MissingFigure& f : missing_figures()) {
    EXPECT_TRUE(published.insert(f.id).second) << f.id << " is measured";
    EXPECT_FALSE(f.source.empty() || f.needs.empty() || f.published.empty()) << f.id;
  }
  EXPECT_GE(std::ranges::count_if(published, [](const std::string& id) { return id.starts_with("V-"); }), 60);
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
  ASSERT_EQ(settings.size(), 2u) << "for each message, and for each KiB of it";
  auto slower = run("extoll-r1", {"V-EX1-01"}, settings);
  EXPECT_NEAR(ours(slower, "V-EX1-01", "highest") / 9.75, 0.7, 0.03);
}

}  // namespace
}  // namespace weft::measure
