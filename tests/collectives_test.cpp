// Collectives of MPI programs that the interfaces run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const Words kTianhe{"tianhe2"};
const Words kUnits = sets({"nic.triggers=320", "nic.operation_units=2"});

Words offload(Words more = {}) {
  more.insert(more.begin(), {"--collectives", "offload"});
  return more;
}

Words with(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Collectives, EveryResultIsTheLibrarys) {
  const Words command{kPrograms + "collectives_random", "11", "500"};
  ProgramResult library = run_ranks(kTorus, 13, command, {"--engine", "ideal"});
  ASSERT_EQ(library.code, 0) << library.err;
  ProgramResult ours = run_ranks(kTorus, 13, command, with(offload({"--engine", "ideal"}), kUnits));
  ASSERT_EQ(ours.code, 0) << ours.err;
  EXPECT_EQ(ours.out, library.out);
  EXPECT_THAT(ours.err, HasSubstr("collectives run by the interfaces"));
  EXPECT_THAT(ours.err, HasSubstr("left to the library"));
  // Other trees, the same numbers; and twice the same to the nanosecond.
  ProgramResult other =
      run_ranks(kTorus, 13, command,
                with(with(offload({"--engine", "ideal"}), kUnits),
                     sets({"mpi.tree=k-nomial", "mpi.tree_arity=2", "mpi.tree_order=topology"})));
  EXPECT_EQ(other.out, library.out) << other.err;
  ProgramResult again = run_ranks(kTorus, 13, command, with(offload({"--engine", "ideal"}), kUnits));
  EXPECT_EQ(again.err, ours.err);
}

TEST(Collectives, BitErrorsAndACutCableChangeNoResult) {
  const Words command{kPrograms + "collectives_random", "5", "120"};
  ProgramResult whole = run_ranks(kTorus, 8, command, with(offload(), kUnits));
  ASSERT_EQ(whole.code, 0) << whole.err;
  ProgramResult broken = run_ranks(kTorus, 8, command,
                                   with(with(offload({"--fault", "at 200us cut r0.p0"}), kUnits),
                                        sets({"cable.default.bit_error_rate=1e-7"})));
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_EQ(broken.out, whole.out);
}

TEST(Collectives, AProcessorThatComputesAndIsInterruptedDelaysNobodysTree) {
  const Words command{kPrograms + "collectives_overlap", "300"}, noise{"--noise", "10us@100us"};
  auto overlap = [&](const Words& options) {
    ProgramResult r = run_ranks(kTianhe, 16, command, options);
    EXPECT_EQ(r.code, 0) << r.err;
    std::istringstream text(r.out);
    double alone = 0, left = 0;
    text >> alone >> left;
    EXPECT_GT(alone, 0);
    return 1 - left / alone;
  };
  EXPECT_GE(overlap(with(offload({"--engine", "ideal"}), noise)), 0.95);
  EXPECT_LT(overlap(with({"--engine", "ideal"}, noise)), 0.5);
}

TEST(Collectives, WrongUseIsExplained) {
  ProgramResult roots = run_ranks(kTianhe, 6, {kPrograms + "collectives_wrong", "roots"}, offload());
  EXPECT_NE(roots.code, 0);
  EXPECT_THAT(roots.err, HasSubstr("MPI_Bcast with root 1"));
  EXPECT_THAT(roots.err, HasSubstr("MPI_Bcast with root 0"));
  ProgramResult absent = run_ranks(kTianhe, 6, {kPrograms + "collectives_wrong", "absent"}, offload());
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.err, HasSubstr("in MPI_Barrier"));
  EXPECT_THAT(absent.err, HasSubstr("waits for node 2"));
  ProgramResult dies = run_ranks(kTianhe, 6, {kPrograms + "collectives_wrong", "dies"}, offload());
  EXPECT_EQ(dies.code, 1);
  EXPECT_THAT(dies.err, HasSubstr("rank 2"));
  EXPECT_THAT(dies.err, HasSubstr("MPI_Barrier"));
}

TEST(Collectives, AMachineWhoseInterfacesRunNoneSaysSo) {
  ProgramResult r = run_ranks({"extoll-tourmalet"}, 2, {kPrograms + "collectives_wrong", "none"}, offload());
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("nic.triggers"));
}

}  // namespace
}  // namespace weft::test
