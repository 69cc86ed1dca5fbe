// The MPI programs of tests/mpi, which check their own results, on simulated machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/text.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const std::string kPrograms = WEFT_BUILD "/mpi-programs/";

using Words = std::vector<std::string>;

const Words kTorus{"torus", "--set", "topology.dims=[4,2,2]"};
const Words kTree{"fat-tree", "--set", "topology.children=[4,4]", "--set", "topology.parents=[1,2]"};

Words run_words(const Words& machine, unsigned ranks, const Words& command, const Words& options = {}) {
  Words all{"run"};
  all.insert(all.end(), machine.begin(), machine.end());
  all.insert(all.end(), {"-n", std::to_string(ranks)});
  all.insert(all.end(), options.begin(), options.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

ProgramResult run_ranks(const Words& machine, unsigned ranks, Words command, const Words& options = {}) {
  return run_program(run_words(machine, ranks, command, options), 100);
}

struct Case {
  Words command;
  unsigned ranks;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << join(c.command, " ") << ", " << c.ranks;
}

class MpiPrograms : public testing::TestWithParam<Case> {};

TEST_P(MpiPrograms, CheckTheirResultsOnATorusAndOnATree) {
  Words command = GetParam().command;
  command[0] = kPrograms + command[0];
  ProgramResult torus = run_ranks(kTorus, GetParam().ranks, command);
  EXPECT_EQ(torus.code, 0) << torus.out << torus.err;
  EXPECT_THAT(torus.out, HasSubstr(" 0 failed"));
  ProgramResult tree = run_ranks(kTree, GetParam().ranks, command);
  EXPECT_EQ(tree.code, 0) << tree.out << tree.err;
  EXPECT_THAT(tree.out, HasSubstr(" 0 failed"));
  // The same bytes again, whichever cores there are.
  ProgramResult again = run_ranks(kTorus, GetParam().ranks, command, {"--cores", "all"});
  EXPECT_EQ(torus.out, again.out);
  EXPECT_EQ(torus.err, again.err);
}

INSTANTIATE_TEST_SUITE_P(All, MpiPrograms,
                         testing::Values(Case{{"point_to_point"}, 5}, Case{{"probe_cancel"}, 4},
                                         Case{{"datatypes"}, 3}, Case{{"communicators"}, 6},
                                         Case{{"one_sided"}, 4}, Case{{"collectives", "4"}, 7},
                                         Case{{"scramble", "60", "3000"}, 8}, Case{{"fortran"}, 4},
                                         Case{{"latency", "4096", "5"}, 2},
                                         Case{{"bandwidth", "16384", "8", "2"}, 2}, Case{{"message_rate"}, 8},
                                         Case{{"allreduce", "512", "4"}, 6}, Case{{"halo"}, 9}),
                         [](const auto& one) { return one.param.command[0]; });

TEST(MpiProgram, AreNotDisturbedByBitErrors) {
  Words errors{"--set", "cable.default.bit_error_rate=1e-7"};
  for (const Words& command :
       {Words{kPrograms + "scramble", "40", "3000"}, {kPrograms + "collectives", "3"}}) {
    ProgramResult r = run_ranks(kTorus, 8, command, errors);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
  }
}

TEST(MpiProgram, SeveralRanksOfANodeShareItsInterface) {
  ProgramResult r = run_ranks(kTorus, 8, {kPrograms + "collectives", "3"}, {"--per-node", "4"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
}

/// Million messages a second, by pairs: 1, 2, 4, 8.
std::vector<double> message_rates(const Words& settings = {}) {
  Words options{"--per-node", "8"};
  options.insert(options.end(), settings.begin(), settings.end());
  ProgramResult r = run_ranks({"extoll-r1"}, 16, {kPrograms + "message_rate", "8", "64", "20"}, options);
  EXPECT_EQ(r.code, 0) << r.err;
  static const std::regex rate("pairs: +([0-9.]+) million");
  std::vector<double> out;
  for (std::sregex_iterator i(r.out.begin(), r.out.end(), rate), end; i != end; ++i)
    out.push_back(std::stod((*i)[1].str()));
  return out;
}

TEST(MessageRate, OfAnMpiProgramSaturatesAtTheWireRateOfExtoll) {
  std::vector<double> rates = message_rates();
  ASSERT_EQ(rates.size(), 4u);
  EXPECT_NEAR(rates[1], 2 * rates[0], 0.02 * rates[1]);
  EXPECT_LT(rates[2], 3.5 * rates[0]);
  EXPECT_NEAR(rates[3], 9.73, 0.3);  // 64 bytes of wire for each message at 4.992 Gb/s
  // Half the clock, half the wire.
  EXPECT_NEAR(message_rates({"--set", "core.clock=78MHz"})[3], rates[3] / 2, 0.1 * rates[3]);
}

}  // namespace
}  // namespace weft::test
