// What interfaces can do beyond plain messages and puts, as programs under `weft run` see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgramResult run_interface(const std::string& what, const std::vector<std::string>& settings,
                            const std::string& ranks = "2", const std::string& per_node = "1") {
  std::vector<std::string> all{"run",   "torus", "--set", "topology.dims=[2,2]", "--engine",
                               "ideal", "-n",    ranks,   "--per-node",          per_node};
  for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), {"--", WEFT_BUILD "/test-programs/interface", what});
  return run_program(all, 60);
}

const std::vector<std::string> kSmall{"nic.queue_slots=4", "nic.message_slots=4", "nic.hold_slots=4",
                                      "nic.watchdog=50us"};

std::vector<std::string> with(std::vector<std::string> settings, const std::string& more) {
  settings.push_back(more);
  return settings;
}

TEST(Stall, AWatchdogLetsProcessorsGoThatWaitForEachOther) {
  // Both send and neither reads: every credit is gone, and both processors stand (EXTOLL, section III.B).
  ProgramResult r = run_interface("flood", with(kSmall, "nic.full_queue=stall"));
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  for (const char* rank : {"0", "1"})
    EXPECT_THAT(r.out, testing::ContainsRegex(
                           "rank " + std::string(rank) +
                           ": 200 received, let go [1-9][0-9]* times, refused 0 times, stood 50 us"));
  EXPECT_EQ(run_interface("flood", with(kSmall, "nic.full_queue=stall")).out, r.out) << "twice the same";
}

TEST(Stall, WithoutItPostsAreRefused) {
  ProgramResult r = run_interface("flood", kSmall);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("rank 0: 200 received, let go 0 times"));
  EXPECT_THAT(r.out, Not(HasSubstr("refused 0 times")));
}

TEST(Stall, AProcessorStandsUntilThereIsRoom) {
  std::vector<std::string> settings{"nic.queue_slots=4", "nic.message_slots=4", "nic.hold_slots=4",
                                    "nic.watchdog=5ms"};
  ProgramResult r = run_interface("stand", with(settings, "nic.full_queue=stall"));
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "rank 0: all posted after more than 1 ms\n") << "the other reads after 1 ms";
  // An interface that holds any number takes them all at once.
  settings[2] = "nic.hold_slots=0";
  r = run_interface("stand", with(settings, "nic.full_queue=stall"));
  EXPECT_EQ(r.out, "rank 0: all posted after less than 1 ms\n") << r.err;
}

TEST(Stall, IsCounted) {
  std::vector<std::string> all{"run", "torus", "--json", "--engine", "ideal", "-n", "2"};
  for (const std::string& setting : with(with(kSmall, "nic.full_queue=stall"), "topology.dims=[2,2]"))
    all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), {"--", WEFT_BUILD "/test-programs/interface", "flood"});
  ProgramResult r = run_program(all, 60);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, testing::ContainsRegex("\"watchdog_ends\": [1-9]"));
  EXPECT_THAT(r.out, testing::ContainsRegex("\"core_stalls\": [1-9]"));
  EXPECT_THAT(r.out, testing::ContainsRegex("\"held_back\": [1-9]"));
}

TEST(RunMailbox, HasTheSizeAProgramChooses) {
  ProgramResult r = run_interface("mailbox", {}, "1");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "-22 -22\n4 of 256 slots\n0 1 2 3 4 5 6 7 8 9 \nanew: 0\n");
}

TEST(RunCoherence, StoresAreSeenByRemoteUnitsAndTheirsByLoads) {
  ProgramResult r = run_interface("coherent", {"host.snoop=20ns"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "rank 0: gets 41\nrank 1: loads 7\nrank 1: loads 1107\nrank 0: found 107\n");
}

TEST(RunKernel, PhysicalAddressesAreTheKernelsAlone) {
  ProgramResult r = run_interface("kernel", {"nic.kernel_ports=1"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("rank 0: as a process: Operation not permitted\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 0: a process: the memory may not be used so\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 0: the kernel: ok\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 1: has 77\n"));
  r = run_interface("kernel", {});
  EXPECT_THAT(r.out, HasSubstr("open: Operation not permitted")) << "a machine without such ports";
}

TEST(RunGlobalMap, MovesWhereItIsDynamicAndStaysWhereItIsStatic) {
  ProgramResult r = run_interface("move", {});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "rank 1: Success\nrank 1: 1 2\n");
  r = run_interface("move", {"nic.global_map=static", "nic.physical_bits=40"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "rank 1: Operation not permitted\nrank 1: 2 0\n");
  r = run_interface("move", {"nic.global_map=static"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("at most 42 bits"));
}

TEST(RunMicrocontroller, RegistrationsOfANodeWaitForEachOther) {
  std::vector<std::string> settings{"nic.registration=1us", "nic.registration_page=1us",
                                    "host.system_call=500ns"};
  ProgramResult r = run_interface("table", settings, "2", "2");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "rank 0: 17500 ns\nrank 1: 17500 ns\n") << "each writes its own sixteen entries";
  r = run_interface("table", with(settings, "nic.microcontroller=true"), "2", "2");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "rank 0: 17500 ns\nrank 1: 33500 ns\n") << "the second waits for sixteen of the first";
}

TEST(RunPause, SeesWhatIsWrittenWhenItIsWritten) {
  // 5 ms of computing, then a put that tells nobody: the loop ends when its byte is there.
  ProgramResult r = run_interface("look", {});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, testing::ContainsRegex("^rank 1: 3 at 500[0-9]\\.[0-9]+ us after few looks\n$"));
  EXPECT_EQ(run_interface("look", {}).out, r.out);
  r = run_interface("stare", {});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("deadlock"));
  EXPECT_THAT(r.err, HasSubstr("rank 0: looks at its memory"));
}

TEST(RunPause, ARankThatAsksForNothingIsNamed) {
  ProgramResult r = run_interface("stand-still", {});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, testing::ContainsRegex(
                         "rank 1 \\(process [0-9]+\\) waits in nanosleep; the others wait for it"));
}

}  // namespace
}  // namespace weft::test
