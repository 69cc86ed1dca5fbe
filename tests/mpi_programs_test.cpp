// MPI programs as people have them, on simulated machines: those of tests/mpi, which check their own results,
// and NetPIPE, HPCC and LAMMPS as Debian built them.
#include "mpi_programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <regex>
#include <thread>

#include "base/text.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

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
                                         Case{{"allreduce", "512", "4"}, 6}, Case{{"halo"}, 9},
                                         Case{{"threads"}, 4}),
                         [](const auto& one) { return one.param.command[0]; });

class MpiThreads : public testing::TestWithParam<const char*> {};

// Threads of a rank send and receive at once in every mode, eagerly and by rendezvous; nothing in what they
// see of each other and of time depends on the system.
TEST_P(MpiThreads, SendAndReceiveAtEveryLengthAndTwiceTheSame) {
  for (const char* longest : {"32", "10000", "100000"})
    for (unsigned ranks : {4, 8}) {
      Words command{kPrograms + "threads", longest};
      ProgramResult first = run_ranks(kTorus, ranks, command, {"--engine", GetParam(), "--cores", "one"});
      EXPECT_EQ(first.code, 0) << first.out << first.err;
      EXPECT_THAT(first.out, HasSubstr(" 0 failed"));
      ProgramResult again = run_ranks(kTorus, ranks, command, {"--engine", GetParam(), "--cores", "all"});
      EXPECT_EQ(first.out, again.out);
      EXPECT_EQ(first.err, again.err);
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, MpiThreads, testing::Values("ideal", "flow", "flit"),
                         [](const auto& one) { return std::string(one.param); });

/// When the last thread of any rank was done, in seconds.
double threads_done(const Words& options) {
  ProgramResult r = run_ranks(kTorus, 8, {kPrograms + "threads", "100000"}, options);
  EXPECT_EQ(r.code, 0) << r.err;
  static const std::regex times("([0-9.]+) s\n");
  double last = 0;
  for (std::sregex_iterator i(r.out.begin(), r.out.end(), times), end; i != end; ++i)
    last = std::max(last, std::stod((*i)[1].str()));
  return last;
}

// A wait that nobody ended would last until it is given up, a millisecond or more: no engine may need that.
TEST(MpiThread, WaitForWhatHappensAndNotForTheEndOfAPause) {
  double ideal = threads_done({"--engine", "ideal"});
  EXPECT_GT(ideal, 3 * 8 * 100e3 / 3.125e9);  // of each of 3 threads 8 times 100 kB, at the rate of a link
  for (const char* engine : {"flow", "flit"})
    EXPECT_NEAR(threads_done({"--engine", engine}), ideal, 0.1 * ideal) << engine;
}

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

TEST(NetPipe, MeasuresTheSameTwice) {
  ScratchFolder folder;
  Words command{"/usr/bin/NPopenmpi", "-u", "4096", "-n", "5", "-o", folder.file("np.out")};
  ProgramResult first = run_ranks(kTorus, 2, command), second = run_ranks(kTorus, 2, command);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out + first.err, HasSubstr("4096 bytes"));
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
}

/// HPCC's input: an LU factorisation of order n on p x q processes sets the size of everything else.
std::string hpcc_input(unsigned n, unsigned p, unsigned q) {
  return "HPLinpack benchmark input file\nWeft\nHPL.out output file\n8 device\n1 problems\n" +
         std::to_string(n) + " Ns\n1 block sizes\n40 NBs\n0 PMAP\n1 grids\n" + std::to_string(p) + " Ps\n" +
         std::to_string(q) +
         " Qs\n16.0 threshold\n1 fact\n2 PFACTs\n1 stop\n4 NBMINs\n1 panels\n2 NDIVs\n1 fact\n1 RFACTs\n1 "
         "bcast\n1 "
         "BCASTs\n1 depth\n1 DEPTHs\n2 SWAP\n64 threshold\n0 L1\n0 U\n1 equilibration\n8 alignment\n"
         "#####\n0 PTRANS sizes\n1200 10000 30000\n0 PTRANS blocks\n40 9 8 13 13 20 16 32 64\n";
}

/// Runs HPCC up to its last section, which has nothing to verify and moves many gigabytes, then interrupts
/// it. Returns what it wrote.
std::string run_hpcc(const Words& machine, unsigned p, unsigned q) {
  ScratchFolder folder;
  std::ofstream(folder.file("hpccinf.txt")) << hpcc_input(100, p, q);
  Words words = run_words(machine, p * q, {"/usr/bin/hpcc"});
  pid_t weft = fork();
  if (weft == 0) {
    alarm(100);
    if (chdir(folder.file("").c_str()) != 0 || !freopen("out", "w", stdout) || !freopen("err", "w", stderr))
      _exit(126);
    std::vector<char*> argv{const_cast<char*>(WEFT_PROGRAM)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(WEFT_PROGRAM, argv.data());
    _exit(127);
  }
  auto since = std::chrono::steady_clock::now();
  std::string text;
  int status = 0;
  bool ended = false;
  while (!ended && text.find("Begin of LatencyBandwidth section") == std::string::npos &&
         std::chrono::steady_clock::now() - since < std::chrono::seconds(90)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    text = read_file(folder.file("hpccoutf.txt"));
    ended = waitpid(weft, &status, WNOHANG) == weft;
  }
  EXPECT_FALSE(ended) << read_file(folder.file("out")) << read_file(folder.file("err"));
  if (!ended) {
    kill(weft, SIGINT);
    waitpid(weft, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    EXPECT_THAT(read_file(folder.file("err")), HasSubstr("weft: interrupted"));
  }
  return text;
}

void expect_verified(const std::string& text) {
  static const std::regex found("Found ([0-9]+) errors");
  unsigned checks = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), found), end; i != end; ++i, ++checks)
    EXPECT_EQ((*i)[1].str(), "0") << (*i).str();
  EXPECT_GE(checks, 2u);  // RandomAccess
  EXPECT_THAT(text, HasSubstr("PASSED"));
  EXPECT_THAT(text, Not(HasSubstr("FAILED")));
  EXPECT_THAT(text, HasSubstr("0 tests completed and failed residual checks"));
}

TEST(Hpcc, VerifiesItsResultsOn8RanksOfATorus) { expect_verified(run_hpcc(kTorus, 2, 4)); }
TEST(Hpcc, VerifiesItsResultsOn16RanksOfATree) { expect_verified(run_hpcc(kTree, 4, 4)); }

// The standard Lennard-Jones melt, smaller.
constexpr const char* kMelt = R"(units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 5 0 5 0 5
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 5
run 20
)";

/// The lines of thermodynamic output.
std::string thermo(const std::string& text) {
  std::size_t from = text.find("Step Temp"), until = text.find("Loop time");
  return from == std::string::npos || until == std::string::npos ? "nothing"
                                                                 : text.substr(from, until - from);
}

TEST(Lammps, MeltsAsItDoesWithoutWeft) {
  ScratchFolder folder;
  std::ofstream(folder.file("in.melt")) << kMelt;
  std::string alone = folder.file("alone");
  ASSERT_EQ(
      std::system(("/usr/bin/lmp -in " + folder.file("in.melt") + " -log none > " + alone + " 2>&1").c_str()),
      0);
  std::string expected = thermo(read_file(alone));
  EXPECT_NE(expected, "nothing");
  Words command{"/usr/bin/lmp", "-in", folder.file("in.melt"), "-log", "none"};
  for (const Words& machine : {kTorus, kTree}) {
    ProgramResult r = run_ranks(machine, 8, command);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(thermo(r.out), expected);
  }
  // Links with bit errors, one of them cut half way: the same answer, later.
  ProgramResult broken = run_ranks(
      kTorus, 8, command, {"--set", "cable.default.bit_error_rate=1e-7", "--fault", "at 500us cut r0.p0"});
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("new routes in every table"));
  EXPECT_EQ(thermo(broken.out), expected);
}

}  // namespace
}  // namespace weft::test
