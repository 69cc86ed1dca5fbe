// `weft manage`, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

TEST(Manage, BootsAMachineAsItIsDescribed) {
  ProgramResult r = run_program({"manage", "torus", "--set", "topology.dims=[4,4]"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("16 routers and 16 nodes found"));
  EXPECT_THAT(r.out, HasSubstr("as described"));
  EXPECT_THAT(r.out, HasSubstr(", 0 not delivered"));
}

TEST(Manage, NamesASwappedCable) {
  ProgramResult r = run_program({"manage", "extoll-tourmalet", "--swap", "r3.p0,r9.p0"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.out,
              testing::ContainsRegex("expected r3.p0 to r[0-9]+.p[0-9]+, found r3.p0 to r[0-9]+.p[0-9]+"));
  EXPECT_THAT(r.out, HasSubstr("the plugs at r3.p0 and r9.p0 look exchanged"));
}

TEST(Manage, NamesWhatIsMissingAndWhatIsUnknown) {
  ProgramResult r = run_program({"manage", "mesh", "--set", "topology.dims=[3,3]", "--unplug", "r0.p0",
                                 "--replace", "r4.p0", "--json"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.out, HasSubstr("\"found\": \"an unknown device\""));
  EXPECT_THAT(r.out, HasSubstr("\"same\": false"));
}

TEST(Manage, ReadsMistakesFromAFileAndTellsAllErrorsAtOnce) {
  ScratchFolder folder;
  const std::string path = folder.file("mistakes");
  std::ofstream(path) << "# two of them\nswap r1.p0,r2.p0\nunplug r3.p1\n";
  ProgramResult r = run_program({"manage", "torus", "--set", "topology.dims=[4,4]", "--mistakes", path});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.out, HasSubstr("found nothing at r3.p1"));
  std::ofstream(path) << "swop r1.p0,r2.p0\nunplug r99.p1\nswap r1.p0\nunplug x\n";
  r = run_program({"manage", "torus", "--set", "topology.dims=[4,4]", "--mistakes", path});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr(path + ":1: there is no mistake 'swop' (did you mean 'swap'?)"));
  EXPECT_THAT(r.err, HasSubstr(path + ":2: 'r99.p1': there are routers r0 to r15"));
  EXPECT_THAT(r.err, HasSubstr(path + ":3: swap takes two ports"));
  EXPECT_THAT(r.err, HasSubstr(path + ":4: expected a port such as r12.p3, got 'x'"));
}

TEST(Manage, AnyNodeCanBeTheManager) {
  ProgramResult r =
      run_program({"manage", "torus", "--set", "topology.dims=[4,4]", "--from", "13", "--discover"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("from node 13"));
  EXPECT_EQ(run_program({"manage", "torus", "--set", "topology.dims=[4,4]", "--from", "16"}).code, 2);
}

TEST(Manage, BringsNewRoutesAfterAFailure) {
  ProgramResult r = run_program(
      {"manage", "torus", "--set", "topology.dims=[4,4]", "--set", "router.channels=4", "--fail", "r1.p0"});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("detected and found out in"));
  // One that dies on the way says who is left without, and the next one ends it.
  r = run_program({"manage", "torus", "--set", "topology.dims=[4,4]", "--set", "router.channels=4", "--fail",
                   "r1.p0", "--die-after", "3"});
  EXPECT_EQ(r.code, 1) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("then the manager died"));
  EXPECT_THAT(r.out, testing::Not(HasSubstr("followed, 0 not delivered\n    node")));
  r = run_program({"manage", "torus", "--set", "topology.dims=[4,4]", "--set", "router.channels=4", "--fail",
                   "r1.p0", "--die-after", "3", "--second", "9"});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node 9 is the manager now"));
}

}  // namespace
}  // namespace weft::test
