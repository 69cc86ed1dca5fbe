// Programs in the interfaces of real machines (tests/native), and how they are compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::string> programs_of(const std::string& interface) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(WEFT_BUILD "/native-programs"))
    if (entry.path().filename().string().starts_with(interface + "_")) out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

ProgramResult run_native(const std::string& machine, const std::string& program) {
  return run_program({"run", machine, "--engine", "ideal", "-n", "2", "--per-node", "1", "--", program}, 120);
}

/// Each program exercises some calls and what they refuse, and ends with 0 where all was as it should be.
void run_all(const std::string& interface, const std::string& machine, std::size_t at_least) {
  std::vector<std::string> programs = programs_of(interface);
  ASSERT_GE(programs.size(), at_least);
  for (const std::string& program : programs) {
    ProgramResult r = run_native(machine, program);
    EXPECT_EQ(r.code, 0) << program << "\n" << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(fs::path(program).filename().string() + ": ok")) << r.err;
    if (program.ends_with("_random")) {
      EXPECT_EQ(run_native(machine, program).out, r.out) << "twice the same";
    }
  }
}

TEST(Native, Rma2) { run_all("rma2", "extoll-r1", 18); }
TEST(Native, Velo2) { run_all("velo2", "extoll-r1", 9); }
TEST(Native, Glex) { run_all("glex", "tianhe2", 17); }
TEST(Native, Apenet) { run_all("apenet", "apenet-plus", 8); }

// Collective requests are there where the interface has what runs them.
TEST(Native, GlexWithoutTriggers) {
  ProgramResult r =
      run_program({"run", "tianhe2", "--engine", "ideal", "--set", "nic.triggers=0", "-n", "2", "--per-node",
                   "1", "--", WEFT_BUILD "/native-programs/glex_collective_errors", "without"},
                  120);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

// The same answers whatever moves the packets, where they may overtake each other and where bits flip.
TEST(Native, GlexCollectivesOnOtherNetworks) {
  const std::vector<std::vector<std::string>> machines{{"--engine", "flit", "--set", "nic.order=sequence"},
                                                       {"--engine", "flow"},
                                                       {"--engine", "ideal", "--set", "nic.corruption=0.01"}};
  for (const auto& machine : machines)
    for (const char* program : {"glex_counter", "glex_swap", "glex_reduce"}) {
      std::vector<std::string> words{"run", "tianhe2", "--set",      "topology.groups=2",
                                     "-n",  "2",       "--per-node", "1"};
      words.insert(words.end(), machine.begin(), machine.end());
      words.insert(words.end(), {"--", std::string(WEFT_BUILD "/native-programs/") + program});
      ProgramResult r = run_program(words, 120);
      EXPECT_EQ(r.code, 0) << program << " " << machine[1] << machine.back() << "\n" << r.out << r.err;
    }
}

TEST(NativeConfig, SaysWhatToCompileWith) {
  ProgramResult r = run_program({"config", "--cflags", "--libs", "rma2"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "-I" WEFT_BUILD "/include -L" WEFT_BUILD " -Wl,-rpath," WEFT_BUILD " -lrma2 -lweft\n");
  r = run_program({"config", "--pkg-config-path"});
  EXPECT_EQ(r.out, WEFT_BUILD "/pkgconfig\n");
  r = run_program({"config", "--libs", "rma3", "glxe"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no library 'rma3' (did you mean 'rma2'?)"));
  EXPECT_THAT(r.err, HasSubstr("there is no library 'glxe' (did you mean 'glex'?)"));
  r = run_program({"config", "rma2"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--cflags"));
}

TEST(NativeConfig, PackagesNameTheSame) {
  ProgramResult r = run_command(
      "/bin/sh",
      {"-c", "PKG_CONFIG_PATH=" WEFT_BUILD "/pkgconfig pkg-config --cflags --libs rma2 velo2 glex apenet"});
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* word : {"/include", "-lrma2", "-lvelo2", "-lglex", "-lapenet", "-lweft", "-rpath"})
    EXPECT_THAT(r.out, HasSubstr(word));
}

// Vendors' clients tell each other their addresses by MPI.
TEST(Native, BesideMpi) {
  ProgramResult r = run_program(
      {"run", "extoll-r1", "-n", "2", "--", WEFT_BUILD "/native-mpi-programs/rma2_beside_mpi"}, 120);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("put of 4000 bytes: 0 wrong"));
}

TEST(Native, WhatEndsAProgramIsSaid) {
  auto run = [](const std::string& what) {
    return run_program({"run", "extoll-r1", "--engine", "ideal", "-n", "1", "--",
                        WEFT_BUILD "/native-mpi-programs/rma2_abort", what},
                       120);
  };
  ProgramResult r = run("size");
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("rma2: a transfer of 0 bytes"));
  r = run("free");
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("rma2: only the oldest notification can be freed"));
}

TEST(Native, WithoutARunThereIsNoDevice) {
  ProgramResult r = run_command(WEFT_BUILD "/native-mpi-programs/alone", {});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
}

}  // namespace
}  // namespace weft::test
