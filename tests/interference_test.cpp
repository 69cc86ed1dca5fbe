// Storage and applications in one network: what a storm of checkpoints does to a job, and what classes of
// traffic help; queries over files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

std::vector<std::string> storm(const std::vector<std::string>& more) {
  std::vector<std::string> all{"replay", "torus", "stencil-3d", "--ranks", "8", "--placement", "random"};
  all.insert(all.end(), {"--set", "topology.dims=[4,4]", "--workload-set", "iterations=3", "--workload-set",
                         "halo=32KiB", "--workload-set", "compute=10us"});
  all.insert(all.end(), {"--beside", "checkpoint:8:random", "--beside-set", "per_rank=1MiB"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Interference, AClassOfItsOwnKeepsAStormOfCheckpointsFromAJob) {
  const ProgramResult r = run_program(storm({"--engine", "flit", "--interference", "8:1", "--json"}), 120);
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json cases = parse_json(r.out)["interference"];
  ASSERT_EQ(cases.size(), 4u);
  std::vector<double> slower;
  for (const nlohmann::json& one : cases) slower.push_back(one["slower"].get<double>());
  EXPECT_EQ(slower[0], 1);
  EXPECT_GT(slower[1], 1.3) << r.out;
  EXPECT_LT(slower[2], slower[1]);
  EXPECT_LT(slower[3], slower[2]);
  EXPECT_LT(slower[3], 1.15);
  const ProgramResult again =
      run_program(storm({"--engine", "flit", "--interference", "8:1", "--threads", "2"}), 120);
  const ProgramResult once = run_program(storm({"--engine", "flit", "--interference", "8:1"}), 120);
  EXPECT_EQ(again.out, once.out);
  EXPECT_THAT(once.out, HasSubstr("others beside it in its class"));
}

TEST(Interference, MistakesAreTold) {
  ProgramResult r = run_program(storm({"--interference", "3"}), 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("two weights"));
  r = run_program(storm({"--beside-class", "1"}), 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("no class of traffic 1"));
  r = run_program({"show", "torus", "--set", "storage.traffic_class=1"}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no class 1"));
  r = run_program({"show", "torus", "--set", "router.class_weights=[]"}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("needs a weight"));
  r = run_program({"traffic", "torus", "--engine", "gpu-host", "--set", "router.class_weights=[1,2]"}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("classes of traffic"));
  r = run_program({"check", "torus", "--set", "router.class_weights=[1,2]"}, 60);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("2 classes of traffic"));
}

/// Times of the queries, in microseconds; all of them must have been answered right.
std::vector<double> query_times(const std::vector<std::string>& settings) {
  std::vector<std::string> all{"run", "exanest-trenz", "-n", "4", "--quiet"};
  for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), {"--", WEFT_BUILD "/mpi-programs/queries"});
  const ProgramResult r = run_program(all, 120);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("22 of 22 queries answered right"));
  std::vector<double> out;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("q")) out.push_back(std::stod(line.substr(4)));
  return out;
}

TEST(Queries, EveryOneIsFasterWithNvmInTheNodes) {
  // Disks behind one node, and flash in the nodes themselves.
  const auto disk = query_times({"storage.nodes=[0]", "storage.targets=1", "storage.device.medium=disk"});
  const auto flash = query_times({"storage.nodes=[0,1,2,3]", "storage.targets=3"});
  ASSERT_EQ(disk.size(), 22u);
  ASSERT_EQ(flash.size(), 22u);
  for (std::size_t q = 0; q < disk.size(); ++q) EXPECT_LT(flash[q], disk[q]) << "q" << q + 1;
}

}  // namespace
}  // namespace weft::test
