// `weft run --monitor` as a user sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

ProgramResult monitored(const std::string& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words{"run",  "torus", "--set", "topology.dims=[4,4]", "-n", "4", "--engine",
                                 "flit", "--out", folder};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--", WEFT_BUILD "/examples/shift", "262144", "3"});
  return run_program(words);
}

TEST(MonitorRun, LocatesACutCableAndChangesNothing) {
  const ScratchFolder scratch;
  const std::string folder = scratch.file("out");
  const std::vector<std::string> fault{"--fault", "at 20us cut r0.p0"};
  const ProgramResult without = monitored(folder, fault);
  auto with = fault;
  with.insert(with.end(), {"--monitor", "20us", "--set", "management.latency=1us"});
  const ProgramResult r = monitored(folder, with);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, without.out) << "who looks on disturbs nothing";
  EXPECT_THAT(r.err, HasSubstr("cable r0.p0 to "));
  EXPECT_THAT(r.err, HasSubstr("it is down"));
  const std::string csv = read_file(folder + "/monitor.csv");
  EXPECT_THAT(csv, HasSubstr("time_ns,port,router,to,up,"));
  EXPECT_THAT(csv, HasSubstr(",r0.p0,"));
  EXPECT_EQ(without_progress(monitored(folder, with).err), without_progress(r.err));
  EXPECT_EQ(read_file(folder + "/monitor.csv"), csv);
}

TEST(MonitorRun, ATimeIsExpected) {
  const ScratchFolder scratch;
  const ProgramResult r = monitored(scratch.file("out"), {"--monitor", "soon"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--monitor"));
}

}  // namespace
}  // namespace weft::test
