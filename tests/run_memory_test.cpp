// Memory as programs under `weft run` see it: the cache of registrations, protection domains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

ProgramResult run_memory(const std::string& what, const std::vector<std::string>& options) {
  std::vector<std::string> all{"run", "torus", "--set", "topology.dims=[2,2]", "--engine", "ideal"};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {"--", WEFT_BUILD "/test-programs/memory", what});
  return run_program(all, 60);
}

std::vector<std::string> cache_of(unsigned entries) {
  return {"-n",    "1",
          "--set", "nic.registration_cache=" + std::to_string(entries),
          "--set", "nic.registration_hit=40ns",
          "--set", "nic.registration=1us",
          "--set", "nic.registration_page=50ns",
          "--set", "host.system_call=500ns"};
}

TEST(RunMemory, RegistrationsAreCached) {
  // A look is 40 ns; a registration 500 ns of system call, 1000 ns, and 50 ns for each page.
  ProgramResult r = run_memory("cache", cache_of(3));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "first 1590 ns\nagain 40 ns\nlonger 1640 ns\nsame key 1, other key 1\n"
            "one user left: ok\nnone left: no such memory, or not of that port\n"
            "anew 1590 ns\nsecond 1590 ns\nreleased: ok\nreleased 40 ns\nsame key 1\n"
            "third 2090 ns\npushed out: no such memory, or not of that port\n")
      << "the third also pays the system call that takes the oldest off";
}

TEST(RunMemory, WithoutACacheEachRegistrationCosts) {
  ProgramResult r = run_memory("cache", cache_of(0));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("first 1550 ns\nagain 1550 ns\n"));
  EXPECT_THAT(r.out, HasSubstr("same key 0"));
}

TEST(RunMemory, DomainsKeepProcessesApart) {
  ProgramResult r = run_memory("domains", {"-n", "3", "--per-node", "2"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("rank 1: join Device or resource busy\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 0: ok\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 1: the memory may not be used so\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 2: event 3, memory 41 0\n"));
}

}  // namespace
}  // namespace weft::test
