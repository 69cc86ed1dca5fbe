// What MPI programs measure on the papers' machines, and what a machine's description does to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "json.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

/// The numbers a program printed, where this expression has them.
std::vector<double> numbers(const ProgramResult& r, const std::string& expression) {
  EXPECT_EQ(r.code, 0) << r.err;
  std::regex wanted(expression);
  std::vector<double> out;
  for (std::sregex_iterator i(r.out.begin(), r.out.end(), wanted), end; i != end; ++i)
    out.push_back(std::stod((*i)[1].str()));
  return out;
}

/// Million messages a second, by pairs: 1, 2, 4, 8.
std::vector<double> message_rates(const Words& settings = {}) {
  Words options{"--per-node", "8"};
  options.insert(options.end(), settings.begin(), settings.end());
  return numbers(run_ranks({"extoll-r1"}, 16, {kPrograms + "message_rate", "8", "1024", "3"}, options),
                 "pairs: +([0-9.]+) million");
}

TEST(MessageRate, OfAnMpiProgramSaturatesAtTheWireRateOfExtoll) {
  constexpr double kWire = 4.992e9 / 8 / 64 / 1e6;  // 64 bytes of wire for each message at 4.992 Gb/s
  std::vector<double> rates = message_rates();
  ASSERT_EQ(rates.size(), 4u);
  EXPECT_NEAR(rates[1], 2 * rates[0], 0.02 * rates[1]);
  EXPECT_LT(rates[1], 0.8 * kWire);
  EXPECT_NEAR(rates[2], rates[3], 0.02 * rates[3]);
  EXPECT_NEAR(rates[2], kWire, 0.02 * kWire);
  EXPECT_NEAR(rates[3], kWire, 0.02 * kWire);
  // Half the clock, half the wire.
  EXPECT_NEAR(message_rates({"--set", "core.clock=78MHz"})[3], kWire / 2, 0.02 * kWire);
}

TEST(MessageRate, OfAnMpiProgramFallsByThePauseAfterEachSend) {
  double plain = message_rates()[0], paused = message_rates({"--set", "mpi.send_delay=200ns"})[0];
  // Nanoseconds between messages of one pair: so much longer, and no more.
  EXPECT_NEAR(1e3 / paused - 1e3 / plain, 200, 10);
  double by_length = message_rates({"--set", "mpi.send_delay_per_kib=25.6us"})[0];  // 8 bytes of a KiB
  EXPECT_NEAR(1e3 / by_length - 1e3 / plain, 200, 10);
}

TEST(Bandwidth, OfAnMpiProgramIsThePublishedOneOfTianhe2) {
  ProgramResult r = run_ranks({"tianhe2"}, 2, {kPrograms + "bandwidth", "262144", "16", "4"});
  std::vector<double> rate = numbers(r, " 262144 +([0-9.]+)");
  ASSERT_EQ(rate.size(), 1u);
  EXPECT_NEAR(rate[0], 12005, 0.03 * 12005);  // V-TH2-07
}

/// Nanoseconds of a message of 128 KiB in blocks, one way.
double one_way(const std::string& eager, const std::string& block, const std::string& copy_rate) {
  constexpr double kTimes = 20;
  Words options{"--quiet"};
  for (const std::string& setting : {"mpi.eager=" + eager, "mpi.block=" + block, "mpi.copy_rate=" + copy_rate,
                                     std::string("mpi.eager_limit=256KiB"), std::string("mpi.ring_blocks=64"),
                                     std::string("mpi.credits=64"), std::string("mpi.matching=nic")})
    options.insert(options.end(), {"--set", setting});
  ProgramResult r = run_ranks({"torus"}, 2, {kPrograms + "core", "pingpong", "131072", "20"}, options);
  EXPECT_EQ(r.code, 0) << r.err;
  return std::stod(r.out) / (2 * kTimes);
}

// TH Express-2 section 5.2: a block is put while the next one is copied. Where the interface matches, only
// the sender copies, so there are two stages.
TEST(Blocks, AreCopiedWhileThoseBeforeTravel) {
  for (const char* eager : {"exclusive", "shared"})
    for (double gigabits : {25., 10.}) {
      std::string rate = std::to_string(static_cast<int>(gigabits)) + "Gbps";
      double copy = 131072 * 8 / gigabits, transfer = one_way(eager, "4KiB", "1000000Gbps");
      EXPECT_GT(transfer, 50'000);
      double both = one_way(eager, "4KiB", rate);
      EXPECT_GE(both, std::max(copy, transfer)) << eager << rate;
      EXPECT_LT(both, 1.1 * std::max(copy, transfer)) << eager << rate;
      // In one block there is nothing to copy meanwhile.
      double one_block = one_way(eager, "256KiB", rate);
      EXPECT_NEAR(one_block, one_way(eager, "256KiB", "1000000Gbps") + copy, 0.02 * one_block)
          << eager << rate;
    }
}

// MPI_Put, MPI_Get, MPI_Accumulate, MPI_Fetch_and_op and locks by the interface's own operations.
TEST(Windows, AreReachedByPutsGetsAndAtomicsOfTheInterface) {
  auto protocols = [](const Words& options) {
    Words all{"--json"};
    all.insert(all.end(), options.begin(), options.end());
    ProgramResult r = run_ranks(kTorus, 4, {kPrograms + "one_sided"}, all);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr(" 0 failed"));
    return parse_json(r.out)["mpi"]["protocols"];
  };
  auto messages = protocols({}), rdma = protocols({"--windows", "rdma"});
  for (const char* operation : {"put", "get", "atomic"}) {
    EXPECT_FALSE(messages.contains(operation)) << operation;
    ASSERT_TRUE(rdma.contains(operation)) << operation;
    EXPECT_GT(rdma[operation]["messages"].get<int>(), 50) << operation;
  }
  EXPECT_GT(rdma["put"]["bytes"].get<int>(), 50'000);  // the windows' data
  EXPECT_FALSE(rdma.contains("rendezvous_get"));
  EXPECT_LT(rdma["small"]["messages"].get<int>(), messages["small"]["messages"].get<int>());
}

struct Computed {
  double worked, passed;  // seconds
};

Computed compute(const std::string& milliseconds, const std::string& rounds, const Words& settings) {
  Words options;
  for (const std::string& setting : settings) options.insert(options.end(), {"--set", setting});
  ProgramResult r = run_ranks({"torus"}, 4, {kPrograms + "compute", milliseconds, rounds}, options);
  std::vector<double> worked = numbers(r, "worked ([0-9.]+) s"), passed = numbers(r, "passed ([0-9.]+) s");
  if (worked.size() != 1 || passed.size() != 1) return {};
  return {worked[0], passed[0]};
}

TEST(Computing, BetweenCallsIsChargedByProcessorTimeAndScale) {
  for (double scale : {1., 4.}) {
    Computed c = compute("50", "2", {"host.compute=measured", "host.compute_scale=" + std::to_string(scale)});
    EXPECT_GE(c.worked, 0.1);
    EXPECT_NEAR(c.passed, scale * c.worked, 0.3 * scale * c.worked) << scale;
  }
  EXPECT_LT(compute("50", "2", {}).passed, 0.001);  // not counted at all
}

TEST(Computing, OfMpiItselfIsChargedByTheDescriptionAlone) {
  double described = compute("0", "100", {}).passed;
  EXPECT_GT(described, 100 * 100e3 / 3.125e9);  // a long message in each round, at the rate of a link
  EXPECT_NEAR(compute("0", "100", {"host.compute=measured"}).passed, described, 0.2 * described);
  // A library ten times as slow would show, were it measured: it works for some tens of microseconds a call.
  EXPECT_NEAR(compute("0", "100", {"host.compute=measured", "host.compute_scale=10"}).passed, described,
              1.5 * described);
  // A fixed time before each call of the program, not before those the library makes: five in a round.
  double fixed = compute("0", "100", {"host.compute=fixed", "host.compute_fixed=10us"}).passed;
  EXPECT_LT(fixed - described, 5.1e-3);
  EXPECT_GT(fixed - described, 2.5e-3);  // some of it while data is under way
}

}  // namespace
}  // namespace weft::test
