// NetPIPE, HPCC and LAMMPS as Debian built them, on a torus and on a fat tree, flit by flit: alone, and with
// bit errors on every cable while one is cut under way. The answers are the same, later.
//
// Whole runs of HPCC take minutes each; they run when WEFT_LONG_TESTS is set (CONTRIBUTING.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <regex>
#include <thread>

#include "base/text.hpp"
#include "mpi_programs.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A machine, and a cable of it that its first ranks use.
struct Ground {
  const char* name;
  Words machine;
  std::string cable;
};
std::ostream& operator<<(std::ostream& out, const Ground& ground) { return out << ground.name; }

const Ground kOnTorus{"torus", kTorus, "r0.p0"};
const Ground kOnTree{"tree", kTree, "r0.p4"};
const Ground kOnTorus64{"torus", {"torus", "--set", "topology.dims=[4,4,4]"}, "r0.p0"};
const Ground kOnTree64{
    "tree", {"fat-tree", "--set", "topology.children=[8,8]", "--set", "topology.parents=[1,4]"}, "r0.p8"};

/// Options that let a cable be cut at some time, while all of them have bit errors.
Words faults(const Ground& ground, const std::string& when) {
  return {"--set", "cable.default.bit_error_rate=1e-7", "--fault", "at " + when + " cut " + ground.cable};
}

Words run_words(const Ground& ground, unsigned ranks, const Words& options, const Words& command) {
  return test::run_words(ground.machine, ranks, command, options);
}

/// Virtual time of a run in microseconds, from its last line.
double virtual_time(const ProgramResult& r) {
  static const std::regex line("engine\\): ([0-9.]+) (us|ms|s) of virtual time");
  std::smatch found;
  if (!std::regex_search(r.err, found, line)) return -1;
  double unit = found[2] == "us" ? 1 : found[2] == "ms" ? 1e3 : 1e6;
  return std::stod(found[1]) * unit;
}

/// The cable was cut while the program ran, and the machine found other ways.
void expect_rerouted(const std::string& err) {
  EXPECT_THAT(err, HasSubstr(" cut r0."));
  EXPECT_THAT(err, HasSubstr("declares its link dead"));
  EXPECT_THAT(err, HasSubstr("nobody cut off"));
}

void skip_unless_long() {
  if (!getenv("WEFT_LONG_TESTS")) GTEST_SKIP() << "takes minutes; set WEFT_LONG_TESTS=1 to run it";
}

class NetPipe : public testing::TestWithParam<Ground> {
 protected:
  ProgramResult run(const Words& options, Words arguments, unsigned seconds = 100) {
    arguments.insert(arguments.begin(), "/usr/bin/NPopenmpi");
    arguments.insert(arguments.end(), {"-o", folder_.file("np.out")});
    Words all{"--place", "0,5"};  // on another router, more than one hop away
    all.insert(all.end(), options.begin(), options.end());
    return run_program(run_words(GetParam(), 2, all, arguments), seconds);
  }

 private:
  ScratchFolder folder_;
};

/// Microseconds by message size.
std::vector<std::pair<unsigned long, double>> latencies(const std::string& text) {
  static const std::regex line(": +([0-9]+) bytes +[0-9]+ times --> +[0-9.]+ Mbps in +([0-9.]+) usec");
  std::vector<std::pair<unsigned long, double>> out;
  for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i)
    out.emplace_back(std::stoul((*i)[1]), std::stod((*i)[2]));
  return out;
}

TEST_P(NetPipe, MeasuresTheSameTwiceAndSlowerWithFaults) {
  Words sizes{"-u", "4096", "-n", "5"};
  ProgramResult first = run({}, sizes), second = run({}, sizes);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
  auto clean = latencies(first.out + first.err);
  ASSERT_GT(clean.size(), 50u);
  EXPECT_GE(clean.back().first, 4096u);

  ProgramResult broken = run(faults(GetParam(), "200us"), sizes);
  ASSERT_EQ(broken.code, 0) << broken.err;
  expect_rerouted(broken.err);
  auto late = latencies(broken.out + broken.err);
  ASSERT_EQ(late.size(), clean.size());
  double more = 0;
  for (std::size_t i = 0; i < late.size(); ++i) {
    EXPECT_EQ(late[i].first, clean[i].first);
    more += late[i].second - clean[i].second;
  }
  if (std::string_view(GetParam().name) == "torus")
    EXPECT_GT(more, 0);
  else
    EXPECT_GE(more, 0);  // a tree has ways left that are as long: only the time without any shows
  EXPECT_GT(virtual_time(broken), virtual_time(first));
}

TEST_P(NetPipe, FindsEveryByteRightWithFaults) {
  ProgramResult r = run(faults(GetParam(), "200us"), {"-i", "-u", "8192", "-n", "5"});
  ASSERT_EQ(r.code, 0) << r.err;
  expect_rerouted(r.err);
  std::string all = r.out + r.err;
  EXPECT_THAT(all, Not(HasSubstr("Integrity check failed")));
  EXPECT_GT(split(all, '\n').size(), 20u);
  EXPECT_THAT(all, HasSubstr("6145 bytes      5 times -->  Integrity check passed"));
}

auto name_of_ground = [](const testing::TestParamInfo<Ground>& one) { return std::string(one.param.name); };
INSTANTIATE_TEST_SUITE_P(On, NetPipe, testing::Values(kOnTorus, kOnTree), name_of_ground);

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

struct HpccResult {
  std::string text;  // what it wrote into its file
  ProgramResult run;
};

struct HpccSize {
  unsigned p, q;
};

std::ostream& operator<<(std::ostream& out, const HpccSize& size) { return out << size.p * size.q; }

/// Runs HPCC, until it has written a text if one is given: then it is interrupted.
HpccResult run_hpcc(const Ground& ground, HpccSize size, const Words& options, unsigned seconds,
                    const std::string& until = "") {
  ScratchFolder folder;
  std::ofstream(folder.file("hpccinf.txt")) << hpcc_input(100, size.p, size.q);
  Words words = run_words(ground, size.p * size.q, options, {"/usr/bin/hpcc"});
  pid_t weft = fork();
  if (weft == 0) {
    if (chdir(folder.file("").c_str()) != 0 || !freopen("out", "w", stdout) || !freopen("err", "w", stderr))
      _exit(126);
    std::vector<char*> argv{const_cast<char*>(WEFT_PROGRAM)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(WEFT_PROGRAM, argv.data());
    _exit(127);
  }
  auto since = std::chrono::steady_clock::now();
  HpccResult result;
  int status = 0;
  bool ended = false, there = false;
  while (!ended && !there && std::chrono::steady_clock::now() - since < std::chrono::seconds(seconds)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ended = waitpid(weft, &status, WNOHANG) == weft;
    result.text = read_file(folder.file("hpccoutf.txt"));
    there = !until.empty() && result.text.find(until) != std::string::npos;
  }
  if (!ended) {
    kill(weft, SIGINT);
    waitpid(weft, &status, 0);
  }
  result.run = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                read_file(folder.file("out")), read_file(folder.file("err"))};
  EXPECT_TRUE(until.empty() ? ended : there) << result.run.out << result.run.err;
  return result;
}

/// Every answer that does not depend on time: counted errors, residuals, differences, sizes.
Words answers(const std::string& text) {
  static const std::regex kept(
      "Found [0-9]+ errors|residual|max\\(\\|x-x0\\|\\)|Node\\(s\\) with error|Validates|PASSED|FAILED");
  Words out;
  for (const std::string& line : split(text, '\n')) {
    // PTRANS writes its rate between its answers.
    static const std::regex rate(" +[0-9]+\\.[0-9]+ (PASSED|FAILED) +[0-9]+\\.[0-9]+");
    if (std::regex_search(line, kept)) out.push_back(std::regex_replace(line, rate, " $1"));
  }
  return out;
}

void expect_verified(const std::string& text) {
  static const std::regex found("Found ([0-9]+) errors");
  unsigned checks = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), found), end; i != end; ++i, ++checks)
    EXPECT_EQ((*i)[1].str(), "0") << (*i).str();
  EXPECT_GE(checks, 4u);  // RandomAccess, of all and of each, with two generators
  EXPECT_THAT(text, HasSubstr("PASSED"));
  EXPECT_THAT(text, Not(HasSubstr("FAILED")));
  EXPECT_THAT(text, HasSubstr("0 tests completed and failed residual checks"));
  EXPECT_THAT(text, Not(testing::ContainsRegex("Node.s. with error [1-9]")));
  EXPECT_THAT(text, HasSubstr("Solution Validates"));
}

class Hpcc : public testing::TestWithParam<std::tuple<Ground, HpccSize>> {
 protected:
  const Ground& ground() const { return std::get<0>(GetParam()); }
  HpccSize size() const { return std::get<1>(GetParam()); }
};

// LatencyBandwidth moves gigabytes and has nothing to verify; LU comes after it. Both are in whole runs.
TEST_P(Hpcc, VerifiesItsResultsUpToItsLastSections) {
  const std::string last = "Begin of LatencyBandwidth section";
  HpccResult clean = run_hpcc(ground(), size(), {}, 90, last);
  expect_verified(clean.text);
  EXPECT_EQ(clean.run.code, 1);
  EXPECT_THAT(clean.run.err, HasSubstr("weft: interrupted"));
  HpccResult broken = run_hpcc(ground(), size(), faults(ground(), "1ms"), 120, last);
  expect_verified(broken.text);
  EXPECT_EQ(answers(broken.text), answers(clean.text));
  expect_rerouted(broken.run.err);
}

// Wide flits, or this takes four times as long.
TEST_P(Hpcc, VerifiesAllOfItsResults) {
  skip_unless_long();
  if (IsSkipped()) return;
  Words wide{"--set", "router.flit=64B"};
  HpccResult clean = run_hpcc(ground(), size(), wide, 3000);
  EXPECT_EQ(clean.run.code, 0) << clean.run.err;
  expect_verified(clean.text);
  EXPECT_THAT(clean.text, HasSubstr("End of LatencyBandwidth section"));
  EXPECT_THAT(clean.text, HasSubstr("1 tests completed and passed residual checks"));  // LU
  EXPECT_THAT(clean.text, HasSubstr("Success=1"));
  Words all = faults(ground(), "5ms");
  all.insert(all.end(), wide.begin(), wide.end());
  HpccResult broken = run_hpcc(ground(), size(), all, 3000);
  EXPECT_EQ(broken.run.code, 0) << broken.run.err;
  EXPECT_EQ(answers(broken.text), answers(clean.text));
  expect_rerouted(broken.run.err);
  EXPECT_GT(virtual_time(broken.run), virtual_time(clean.run));
  RecordProperty("clean", clean.run.err);
  RecordProperty("broken", broken.run.err);
}

INSTANTIATE_TEST_SUITE_P(On, Hpcc,
                         testing::Combine(testing::Values(kOnTorus, kOnTree),
                                          testing::Values(HpccSize{2, 4}, HpccSize{4, 4})),
                         [](const auto& one) {
                           HpccSize size = std::get<1>(one.param);
                           return std::get<0>(one.param).name + std::to_string(size.p * size.q);
                         });

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

struct LammpsCase {
  Ground ground;
  unsigned ranks;
};

std::ostream& operator<<(std::ostream& out, const LammpsCase& c) {
  return out << c.ground.name << " " << c.ranks;
}

class Lammps : public testing::TestWithParam<LammpsCase> {};

TEST_P(Lammps, MeltsAsItDoesWithoutWeftAndLaterWithFaults) {
  const auto& [ground, ranks] = GetParam();
  ScratchFolder folder;
  std::ofstream(folder.file("in.melt")) << kMelt;
  std::string alone = folder.file("alone");
  ASSERT_EQ(
      std::system(("/usr/bin/lmp -in " + folder.file("in.melt") + " -log none > " + alone + " 2>&1").c_str()),
      0);
  std::string expected = thermo(read_file(alone));
  EXPECT_NE(expected, "nothing");
  Words command{"/usr/bin/lmp", "-in", folder.file("in.melt"), "-log", "none"};
  ProgramResult clean = run_program(run_words(ground, ranks, {}, command), 100);
  EXPECT_EQ(clean.code, 0) << clean.err;
  EXPECT_EQ(thermo(clean.out), expected);
  ProgramResult broken = run_program(run_words(ground, ranks, faults(ground, "500us"), command), 150);
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_EQ(thermo(broken.out), expected);
  expect_rerouted(broken.err);
  EXPECT_GT(virtual_time(broken), virtual_time(clean));
}

INSTANTIATE_TEST_SUITE_P(On, Lammps,
                         testing::Values(LammpsCase{kOnTorus, 8}, LammpsCase{kOnTree, 8},
                                         LammpsCase{kOnTorus64, 64}, LammpsCase{kOnTree64, 64}),
                         [](const auto& one) {
                           return one.param.ground.name + std::to_string(one.param.ranks);
                         });

}  // namespace
}  // namespace weft::test
