#include "workload/source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "workload/synthetic.hpp"

namespace weft::workload {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Source> make(const std::string& name, double load,
                             const std::vector<std::string>& settings = {}) {
  Workload w = read_workload({"uniform", name, "1", {}, settings});
  return w.source->make(w.source_parameters.get(), load, 1);
}

/// The times at which an endpoint makes packets, up to a cycle.
std::vector<Cycle> times(const Source& source, double rate, Cycle until, std::uint32_t endpoint = 5) {
  std::vector<Cycle> out;
  SourceState state;
  for (Cycle at = source.next(endpoint, rate, state, 0); at < until;
       at = source.next(endpoint, rate, state, at + 1)) {
    out.push_back(at);
    ++state.packets;
  }
  return out;
}

double mean_rate(const std::string& name, double load, double rate,
                 const std::vector<std::string>& settings = {}) {
  auto source = make(name, load, settings);
  std::size_t packets = 0;
  for (std::uint32_t endpoint = 0; endpoint < 32; ++endpoint)
    packets += times(*source, rate, 100'000, endpoint).size();
  return static_cast<double>(packets) / 32 / 100'000;
}

TEST(Source, MeanRatesAreRight) {
  for (double load : {0.01, 0.3, 0.9, 1.0}) {
    EXPECT_NEAR(mean_rate("bernoulli", load, load), load, 0.01 * load);
    EXPECT_NEAR(mean_rate("fixed", load, load), load, 0.001 * load);
    EXPECT_NEAR(mean_rate("on-off", load, load, {"burst=20"}), load, 0.02 * load);
  }
  EXPECT_NEAR(mean_rate("on-off", 0.2, 0.2 / 8, {"burst=50", "peak=0.5"}), 0.2 / 8, 0.03 * 0.2 / 8);
}

TEST(Source, BernoulliGapsAreGeometric) {
  auto at = times(*make("bernoulli", 0.25), 0.25, 400'000);
  double mean = 0, next_cycle = 0;
  for (std::size_t i = 1; i < at.size(); ++i) {
    mean += static_cast<double>(at[i] - at[i - 1]);
    next_cycle += at[i] - at[i - 1] == 1;
  }
  EXPECT_NEAR(mean / static_cast<double>(at.size() - 1), 4, 0.05);
  EXPECT_NEAR(next_cycle / static_cast<double>(at.size() - 1), 0.25, 0.01);
}

TEST(Source, FixedRateHasEqualIntervalsAndAPhaseOfItsOwn) {
  auto source = make("fixed", 0.1);
  auto a = times(*source, 0.1, 1000, 1), b = times(*source, 0.1, 1000, 2);
  ASSERT_EQ(a.size(), 100u);
  for (std::size_t i = 1; i < a.size(); ++i) EXPECT_EQ(a[i] - a[i - 1], 10u);
  EXPECT_NE(a.front(), b.front());
}

TEST(Source, BurstsAreAtPeakWithPausesBetween) {
  auto at = times(*make("on-off", 0.1, {"burst=100"}), 0.1, 1'000'000);
  std::size_t bursts = 1;
  for (std::size_t i = 1; i < at.size(); ++i) bursts += at[i] - at[i - 1] > 1;
  EXPECT_NEAR(static_cast<double>(at.size()) / static_cast<double>(bursts), 100, 10);
}

TEST(Source, AnImpossiblePeakIsRefused) {
  EXPECT_THAT([] { make("on-off", 0.6, {"peak=0.5"}); },
              ::testing::ThrowsMessage<UserError>(HasSubstr("cannot give a mean load of 0.6")));
  EXPECT_THROW(make("poisson", 0.5), UserError);
}

TEST(PacketSizes, FixedAndMixed) {
  EXPECT_EQ(PacketSizes::parse("8").draw(1, 2, 3), 8);
  PacketSizes mix = PacketSizes::parse("8:1, 1:3");
  EXPECT_EQ(mix.largest(), 8u);
  EXPECT_DOUBLE_EQ(mix.mean(), 2.75);
  unsigned ones = 0;
  for (unsigned packet = 0; packet < 10'000; ++packet) ones += mix.draw(1, 0, packet) == 1;
  EXPECT_NEAR(ones, 7500, 150);
}

TEST(PacketSizes, MistakesAreNamed) {
  auto refuse = [](const char* text) {
    try {
      PacketSizes::parse(text);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no mistake");
  };
  EXPECT_THAT(refuse("x"), HasSubstr("expected flits"));
  EXPECT_THAT(refuse(""), HasSubstr("expected flits"));
  EXPECT_THAT(refuse("0"), HasSubstr("outside 1 to 4095"));
  EXPECT_THAT(refuse("1:0"), HasSubstr("above 0"));
  EXPECT_THAT(refuse("1:0.5,1:0.5"), HasSubstr("listed twice"));
  EXPECT_THAT(refuse("1:nan"), HasSubstr("above 0"));
}

}  // namespace
}  // namespace weft::workload
