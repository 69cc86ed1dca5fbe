// MPI programs linked with an MPICH that uses libfabric, where there is one: WEFT_MPICH names its folder, or
// tools/build-mpich put it into the build folder. And what programs of Debian's own MPICH, for UCX, are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/text.hpp"
#include "json.hpp"
#include "mpi_programs.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string mpich() {
  const char* named = getenv("WEFT_MPICH");
  std::string folder = named ? named : WEFT_BUILD "/mpich";
  return access((folder + "/bin/mpicc").c_str(), X_OK) == 0 ? folder : "";
}

class Mpich : public testing::Test {
 protected:
  void SetUp() override {
    if (mpich().empty())
      GTEST_SKIP() << "no MPICH for libfabric in WEFT_MPICH or build/mpich; tools/build-mpich makes one";
  }

  /// A program of tests/mpi, compiled as anybody compiles it.
  std::string compiled(const std::string& name) {
    std::string program = folder_.file(name);
    std::string command =
        mpich() + "/bin/mpicc -O1 -w -o " + program + " " WEFT_ROOT "/tests/mpi/" + name + ".c -lm -fopenmp";
    EXPECT_EQ(std::system((command + " -lpthread 2>&1").c_str()), 0) << command;
    return program;
  }

  static ProgramResult run(unsigned ranks, const Words& options, const Words& command) {
    Words all{"run", "torus", "-n", std::to_string(ranks)};
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return run_program(all);
  }

 private:
  ScratchFolder folder_;
};

struct Case {
  Words command;
  unsigned ranks;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << join(c.command, " "); }

class MpichPrograms : public Mpich, public testing::WithParamInterface<Case> {};

TEST_P(MpichPrograms, CheckTheirResultsAndRunTwiceTheSame) {
  Words command = GetParam().command;
  command[0] = compiled(command[0]);
  Words small{"--set", "topology.dims=[4,2,2]"};
  ProgramResult first = run(GetParam().ranks, small, command);
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr(" 0 failed"));
  small.insert(small.end(), {"--cores", "all"});
  ProgramResult second = run(GetParam().ranks, small, command);
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
}

INSTANTIATE_TEST_SUITE_P(All, MpichPrograms,
                         testing::Values(Case{{"point_to_point"}, 5}, Case{{"probe_cancel"}, 4},
                                         Case{{"datatypes"}, 3}, Case{{"communicators"}, 6},
                                         Case{{"one_sided"}, 4}, Case{{"collectives", "4"}, 7},
                                         Case{{"scramble", "60", "3000"}, 8}, Case{{"threads"}, 4},
                                         Case{{"latency", "4096", "5"}, 2},
                                         Case{{"bandwidth", "16384", "8", "2"}, 2}, Case{{"halo"}, 9},
                                         Case{{"openmp"}, 4}),
                         [](const auto& one) { return one.param.command[0]; });

TEST_F(Mpich, PingPongIsTheClosedForm) {
  std::string core = compiled("core");
  for (int bytes : {0, 8, 104}) {
    ProgramResult r = run(2, plain(), {core, "pingpong", std::to_string(bytes), "100"});
    ASSERT_EQ(r.code, 0) << r.err;
    // Picoseconds: head, data and descriptor over both buses of 19.2 Gbit/s, the wire, the router.
    std::int64_t message = 16 + bytes, bus = (16 + message) * 8 * 1'000'000 / 19'200;
    EXPECT_EQ(std::stoll(r.out), 200 * (2 * (bus + 1'000) + 1'500'000 + message * 100) / 1000) << bytes;
  }
}

TEST_F(Mpich, EveryBytePassesTheFabric) {
  ProgramResult r = run(4, {"--per-node", "2", "--json"}, {compiled("core"), "everywhere"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("0 bytes differ"));
  const std::uint64_t sent = 115'462;  // twelve lengths from each rank to each, itself too
  std::map<std::pair<int, int>, std::uint64_t> bytes;
  json result = parse_json(r.out);
  for (const json& row : result["matrix"]) bytes[{row[0], row[1]}] = row[3];
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)  // what is fetched is counted with the one who fetches it
      EXPECT_GE((bytes[{from, to}] + bytes[{to, from}]), 2 * sent) << from << " and " << to;
}

TEST_F(Mpich, RanksLiveOnTheSimulatedNodes) {
  ProgramResult r = run(3, {"--per-node", "2", "--quiet", "--place", "5,3"}, {compiled("core"), "where"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "rank 0 on node5, 0 of 2 there\nrank 1 on node5, 1 of 2 there\nrank 2 on node3, 0 of 1 there\n");
}

TEST_F(Mpich, AnAbortIsNamed) {
  ProgramResult r = run(3, {}, {compiled("misbehave"), "abort"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("rank 1 on node 1 called MPI_Abort with code 7"));
}

// Collectives in the interfaces, as tests/collectives_test.cpp has them with Open MPI.

const Words kIdeal{"--engine", "ideal", "--set", "topology.dims=[4,2,2]"};

Words offloaded(const Words& more = {}) {
  Words all = kIdeal;
  all.insert(all.end(),
             {"--collectives", "offload", "--set", "nic.triggers=320", "--set", "nic.operation_units=2"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(Mpich, CollectivesInTheInterfacesHaveTheLibrarysResults) {
  const Words command{compiled("collectives_random"), "11", "500"};
  ProgramResult library = run(13, kIdeal, command), ours = run(13, offloaded(), command);
  ASSERT_EQ(library.code, 0) << library.err;
  ASSERT_EQ(ours.code, 0) << ours.err;
  EXPECT_EQ(ours.out, library.out);
  EXPECT_THAT(ours.err, HasSubstr("collectives run by the interfaces"));
  EXPECT_EQ(run(13, offloaded(), command).err, ours.err);
}

TEST_F(Mpich, EveryConstructorOfCommunicatorsAndPersistentOnes) {
  ProgramResult r = run(6, offloaded(), {compiled("collectives_constructors")});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.err, HasSubstr("18 barrier (persistent)"));
  EXPECT_THAT(r.err, HasSubstr("6 all-reduce (the communicator has two groups)"));
}

TEST_F(Mpich, WrongUseOfCollectivesIsExplained) {
  const std::string program = compiled("collectives_wrong");
  auto told = [&](const Words& how) {
    Words command{program};
    command.insert(command.end(), how.begin(), how.end());
    ProgramResult r = run(6, offloaded({"--set", "mpi.tree_arity=2"}), command);
    EXPECT_EQ(r.code, 1) << r.err;
    return r.err;
  };
  EXPECT_THAT(told({"two roots"}), HasSubstr("MPI_Bcast with root 1"));
  EXPECT_THAT(told({"absent", "5"}), HasSubstr("waits for rank 5; ranks 0, 1, 2, 3, 4 are there"));
  EXPECT_THAT(told({"dies", "2"}), HasSubstr("it waits for rank 2, which ended with exit code 7"));
}

/// A program linked with libraries of these names, which hold nothing else.
std::string linked_with(const ScratchFolder& folder, const std::string& library, const std::string& text) {
  auto make = [&](const std::string& command) { EXPECT_EQ(std::system(command.c_str()), 0) << command; };
  std::ofstream(folder.file("ucp.c")) << "int ucp_stand_in;\n";
  std::ofstream(folder.file("mpi.c"))
      << "extern int ucp_stand_in;\nint MPI_Init(int* a, char*** b) { (void)a; "
         "(void)b; return ucp_stand_in; }\n"
         "int MPI_Get_library_version(char* t, int* n) {\n  const char* s = \"" +
             text + "\";\n  for (*n = 0; (t[*n] = s[*n]); ++*n) {}\n  return 0;\n}\n";
  std::ofstream(folder.file("program.c"))
      << "int MPI_Init(int*, char***);\nint main(void) { return MPI_Init(0, 0); }\n";
  std::string here = " -Wl,--disable-new-dtags,-rpath," + folder.file("");  // not the system's own
  std::string in = "cd " + folder.file("") + " && gcc ";
  make(in + "-shared -fPIC -Wl,-soname,libucp.so.0 -o libucp.so.0 ucp.c");
  make(in + "-shared -fPIC -Wl,-soname," + library + " -o " + library + " mpi.c ./libucp.so.0" + here);
  make(in + "-o program program.c ./" + library + " ./libucp.so.0" + here);
  return folder.file("program");
}

TEST(MpichForUcx, IsRefusedBeforeItStarts) {
  for (const char* library : {"libmpich.so.12", "libmpi.so.12"}) {  // Debian's name and everybody else's
    ScratchFolder folder;
    ProgramResult r = run_program(
        {"run", "torus", "-n", "2", "--", linked_with(folder, library, "MPICH Device:\\tch4:ucx")});
    EXPECT_EQ(r.code, 2);
    EXPECT_THAT(r.err, HasSubstr("is linked with an MPICH built for UCX, as Debian's is"));
    EXPECT_THAT(r.err, HasSubstr("mpicc.openmpi"));
    EXPECT_THAT(r.err, HasSubstr("tools/build-mpich"));
  }
}

TEST(MpichForUcx, IsRefusedUnderAScript) {
  ScratchFolder folder;
  std::string program = linked_with(folder, "libmpich.so.12", "MPICH Device:\\tch4:ucx");
  ProgramResult r = run_program({"run", "torus", "-n", "2", "--", "/bin/sh", "-c", program});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("uses an MPICH built for UCX (ch4:ucx)"));
  program = linked_with(folder, "libmpich.so.12", "MPICH Device:\\tch3:nemesis");
  r = run_program({"run", "torus", "-n", "2", "--", "/bin/sh", "-c", program});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("uses an MPICH not built for libfabric"));
}

}  // namespace
}  // namespace weft::test
