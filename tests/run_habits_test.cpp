// `weft run` as people type it who are used to mpirun, and what it says where they are mistaken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const std::string kCore = WEFT_BUILD "/mpi-programs/core";

TEST(RunHabits, TheProgramsOptionsAreItsOwnWithoutTheTwoDashesToo) {
  ProgramResult r = run_program({"run", "torus", "--quiet", "-np", "2", "/bin/echo", "-v", "--help", "x"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "-v --help x\n-v --help x\n");
  r = run_program(
      {"run", "torus", "-n2", "--set", "topology.dims=[2,2]", "--quiet", kCore, "pingpong", "8", "5"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_GT(std::stoll(r.out), 0);
}

TEST(RunHabits, MistakesAreNamed) {
  auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    ProgramResult r = run_program(words);
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    return r.err;
  };
  ScratchFolder folder;
  std::string source = folder.file("mine.c"), script = folder.file("mine");
  std::ofstream(source) << "int main(void) { return 0; }\n";
  std::ofstream(script) << "#!/bin/sh\n";
  EXPECT_THAT(error({"torus", "--oversubscribe", "-n", "2", "--", kCore}),
              HasSubstr("there is no option --oversubscribe; see `weft help run`"));
  EXPECT_THAT(error({"torus", "--rank", "2", "--", kCore}), HasSubstr("did you mean '--ranks'?"));
  EXPECT_THAT(error({"torus"}), HasSubstr("a machine and a program are needed: weft run tianhe2 -n 4 --"));
  EXPECT_THAT(error({"torus", "--", source}), HasSubstr("compile it first: mpicc.openmpi -o"));
  EXPECT_THAT(error({"torus", "--", script}), HasSubstr("is not executable"));
  EXPECT_THAT(error({"torus", "--", "/tmp"}), HasSubstr("/tmp is a folder, not a program"));
  EXPECT_THAT(error({"torus", "-n", "4", "mpirun", "-np", "4", kCore}),
              HasSubstr("`weft run` is the launcher itself: weft run torus -n 4 -- ./your_program"));
}

TEST(RunHabits, NothingRunsAroundTheNetworkBelowAScript) {
  // A second MPI program of one rank would have no network.
  ProgramResult r = run_program({"run", "torus", "-n", "2", "--", "/bin/sh", "-c",
                                 kCore + " pingpong 8 2; " + kCore + " pingpong 8 2"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("MPI_Init in a process that is no rank of this run"));
}

TEST(RunHabits, AProgramWithoutMpiIsSaidToBeOne) {
  ProgramResult r = run_program({"run", "torus", "-n", "3", "--", "/bin/echo", "hello"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "hello\nhello\nhello\n");
  EXPECT_THAT(r.err, HasSubstr("/bin/echo is not linked with an MPI library: 3 copies of it ran"));
}

}  // namespace
}  // namespace weft::test
