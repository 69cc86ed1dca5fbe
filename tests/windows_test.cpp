// Loads and stores to memory of other nodes, from programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

TEST(RunWindows, AProgramLoadsAndStoresMemoryOfAnother) {
  std::string first;
  for (const char* engine : {"ideal", "flit", "flit"}) {
    ProgramResult r = run_program({"run", "torus", "--set", "topology.dims=[2,2]", "--engine", engine, "-n",
                                   "2", "--", WEFT_BUILD "/test-programs/windows"},
                                  60);
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    EXPECT_THAT(r.out, HasSubstr("load 0: 55\n"));
    EXPECT_THAT(r.out, HasSubstr("seen 66 and 78\n"));
    EXPECT_THAT(r.out, HasSubstr("a load waits longer than a store\n"));
    EXPECT_THAT(r.out, HasSubstr("beyond the window: Bad address\nbeyond what is shared: Bad address\n"
                                 "event 5, operation 15: beyond the end of the memory\nunmapped: 0\n"));
    EXPECT_THAT(r.out, HasSubstr("the last word is 0\n"));
    if (!first.empty()) {
      EXPECT_EQ(r.out, first);
    }
    first = r.out;
  }
}

}  // namespace
}  // namespace weft::test
