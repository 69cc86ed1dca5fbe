// Programs of libfabric beside MPI: the example, and fi_pingpong as Debian built it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const Words kSquare{"torus", "--set", "topology.dims=[2,2]"};

/// A number for a socket that no other test uses at the same time.
std::string socket_number(int which) { return std::to_string(21'002 + getpid() % 9'000 * 4 + which); }

ProgramResult ping_pong(const std::string& options, const Words& more = {}) {
  std::string port = socket_number(0), call = "exec fi_pingpong " + options;
  return run_ranks(
      kSquare, 2,
      {"sh", "-c",
       "[ $WEFT_RANK = 0 ] && " + call + " -B " + port + "; " + call + " -P " + port + " localhost"},
      more);
}

/// The last row for each size: both ranks print one, from their own clocks.
std::map<std::string, double> microseconds_by_size(const std::string& out) {
  std::map<std::string, double> times;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string bytes, sent, ack, total, time;
    double rate = 0, each = 0;
    if (words >> bytes >> sent >> ack >> total >> time >> rate >> each) times[bytes] = each;
  }
  return times;
}

TEST(Libfabric, PingPongOfDebianRunsAsItIs) {
  for (const char* options : {"", "-e rdm", "-e rdm -m tagged -c", "-p weft -e dgram -c"}) {
    ProgramResult first = ping_pong(options), second = ping_pong(options);
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(first.out, second.out) << options;
    EXPECT_EQ(first.err, second.err);
    std::map<std::string, double> times = microseconds_by_size(first.out);
    ASSERT_THAT(times, testing::SizeIs(testing::Ge(6u))) << first.out;
    EXPECT_LT(times["64"], 2.0) << "the machine's time, not the sockets'";
    // Cables of 20 Gb/s: a mebibyte takes 420 us at least.
    EXPECT_GT(times["1m"], 420) << first.out;
    EXPECT_LT(times["1m"], 600) << first.out;
  }
}

TEST(Libfabric, PingPongTakesTheTimeOfItsMachine) {
  auto slow = microseconds_by_size(
      ping_pong("-e rdm -S 1048576 -I 2", {"--set", "cable.default.lane_rate=1.25Gbps"}).out);
  auto fast = microseconds_by_size(ping_pong("-e rdm -S 1048576 -I 2").out);
  ASSERT_EQ(slow.count("1m"), 1u);
  EXPECT_GT(slow["1m"], 3 * fast["1m"]);
}

TEST(Libfabric, AProgramWithoutMpiKnowsNothingOfWeft) {
  Words command{WEFT_BUILD "/examples/fi_ring", socket_number(1)};
  ProgramResult first = run_ranks(kSquare, 4, command), second = run_ranks(kSquare, 4, command);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("  32768 bytes around 4 ranks: "));
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
}

}  // namespace
}  // namespace weft::test
