// Registers of chips, from programs and in the help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const std::string kProgram = WEFT_BUILD "/test-programs/registers";

ProgramResult run_registers(const std::string& engine, const std::string& manager) {
  return run_program({"run", "torus", "--set", "topology.dims=[2,2]", "--set", "nic.manager=" + manager,
                      "--engine", engine, "-n", "1", "--", kProgram},
                     60);
}

TEST(RunRegisters, AProgramReadsAChipWhereNobodyRuns) {
  ProgramResult r = run_registers("flit", "0");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node 3 is on router 3 of 4, read in more than 300 ns\n"));
  EXPECT_THAT(r.out, HasSubstr("mark: ok\nfour at once: 0, manager 0\nbeyond: 1 1 1\n"));
  EXPECT_EQ(run_registers("flit", "0").out, r.out) << "twice the same";
}

TEST(RunRegisters, WhoIsNotTheManagerIsRefused) {
  ProgramResult r = run_registers("ideal", "2");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("mark: the memory may not be used so\nfour at once: 0, manager 2\n"));
}

TEST(RunRegisters, AManagerThatIsNotThereIsAnError) {
  ProgramResult r = run_registers("ideal", "4");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("nic.manager: the machine has nodes 0 to 3"));
}

TEST(RunRegisters, TheHelpListsThem) {
  const std::string text = run_program({"help", "registers"}).out;
  EXPECT_THAT(text, HasSubstr("link.neighbour: Who is at the other end"));
  EXPECT_THAT(text, HasSubstr("written by manager"));
  EXPECT_THAT(run_program({"help", "register"}).err, HasSubstr("did you mean 'registers'?"));
}

}  // namespace
}  // namespace weft::test
