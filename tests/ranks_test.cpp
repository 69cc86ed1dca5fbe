// Ranks that share a machine: the same bytes as one process, whatever the machine and the number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <csignal>
#include <thread>

#include "json.hpp"
#include "machine/profiles.hpp"
#include "machines.hpp"
#include "measure/traffic/sweep.hpp"
#include "report/traffic_json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Ranks that are threads of this process, so that a test needs no launcher.
class Team {
 public:
  explicit Team(unsigned count) : meet_(static_cast<std::ptrdiff_t>(count)), out_(count), values_(count) {
    for (unsigned r = 0; r < count; ++r) ranks_.emplace_back(*this, r);
  }

  class Rank final : public network::Ranks {
   public:
    Rank(Team& team, unsigned rank) : team_(team), rank_(rank) {}
    unsigned rank() const override { return rank_; }
    unsigned count() const override { return static_cast<unsigned>(team_.out_.size()); }
    void exchange(const std::vector<Bytes>& out, std::vector<Bytes>& in) override {
      team_.out_[rank_] = &out;
      team_.meet_.arrive_and_wait();
      for (unsigned r = 0; r < count(); ++r)
        if (r != rank_) in[r] = (*team_.out_[r])[rank_];
      team_.meet_.arrive_and_wait();
    }
    void sum(std::span<std::uint64_t> values) override { combine(values, std::plus<std::uint64_t>()); }
    void most(std::span<std::uint64_t> values) override {
      combine(values, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
    }

   private:
    template <class Combine>
    void combine(std::span<std::uint64_t> values, Combine with) {
      team_.values_[rank_] = values;
      team_.meet_.arrive_and_wait();
      std::vector<std::uint64_t> all(values.size(), 0);
      for (std::span<std::uint64_t> of : team_.values_)
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = with(all[i], of[i]);
      team_.meet_.arrive_and_wait();
      std::copy(all.begin(), all.end(), values.begin());
    }
    Team& team_;
    unsigned rank_;
  };

  std::vector<Rank>& ranks() { return ranks_; }

 private:
  std::barrier<> meet_;
  std::vector<const std::vector<network::Ranks::Bytes>*> out_;
  std::vector<std::span<std::uint64_t>> values_;
  std::vector<Rank> ranks_;
};

json without_run(const measure::TrafficResult& result, const machine::Machine& machine) {
  json out = parse_json(report::traffic_json(result, machine).dump(0));
  out.erase("run");
  return out;
}

/// What every rank ends up with; all must have the same.
json sweep_on(unsigned count, unsigned threads, const machine::Machine& machine,
              const workload::Workload& workload, measure::SweepOptions how) {
  how.threads = threads;
  if (count == 1) return without_run(measure::sweep(machine, workload, how), machine);
  Team team(count);
  std::vector<json> results(count);
  std::vector<std::thread> processes;
  for (unsigned r = 0; r < count; ++r)
    processes.emplace_back([&, r] {
      measure::SweepOptions mine = how;
      mine.ranks = &team.ranks()[r];
      results[r] = without_run(measure::sweep(machine, workload, mine), machine);
    });
  for (std::thread& process : processes) process.join();
  for (unsigned r = 1; r < count; ++r) EXPECT_EQ(results[r], results[0]) << "rank " << r;
  return results[0];
}

workload::Workload mixed_packets(std::uint64_t batch) {
  workload::Workload out = workload::read_workload({.packet = "1:0.5,7:0.5"});
  out.batch = batch;
  return out;
}

void expect_same_on_ranks(const machine::Machine& machine, const workload::Workload& workload, double load,
                          const std::string& name) {
  measure::SweepOptions how;
  how.loads = {load};
  const json alone = sweep_on(1, 1, machine, workload, how);
  for (unsigned ranks : {2u, 3u, 5u}) {
    if (ranks > machine.graph->routers()) continue;
    EXPECT_EQ(sweep_on(ranks, ranks == 3 ? 2 : 1, machine, workload, how), alone)
        << name << " on " << ranks << " ranks";
  }
}

TEST(Ranks, GiveTheSameBytesOnEveryProfile) {
  constexpr std::uint32_t kMostEndpoints = 2000;
  for (const std::string& name : single_networks()) {
    machine::Machine machine = machine::build(machine::describe(name, {}));
    if (machine.graph->endpoints() > kMostEndpoints) continue;
    expect_same_on_ranks(machine, mixed_packets(6), 0.3, name);
  }
}

TEST(Ranks, GiveTheSameBytesForEveryRouterAndPastSaturation) {
  const Settings routers[] = {
      {"router.switching=wormhole", "router.buffer_flits=4"},
      {"router.switching=cut-through", "router.buffer_flits=8", "router.shared_flits=16"},
      {"router.kind=virtual-output-queued"},
      {"router.kind=tiled"},
      {"router.allocator=age"},
      {"router.allocator=round-robin", "router.iterations=3"},
      {"cable.default.length=30m"},
  };
  for (const Settings& router : routers) {
    machine::Machine machine = make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 2, router);
    expect_same_on_ranks(machine, mixed_packets(40), 1, join(router, ", "));
    if (&router == routers) expect_same_on_ranks(machine, mixed_packets(0), 1, "past saturation");
  }
}

// A ring with one channel jams: no rank sees who waits for whom, but all see that nothing moves, and say so.
TEST(Ranks, ANetworkThatJamsIsToldByAll) {
  machine::Machine machine = make_machine("torus", {"dims=[8]"}, "shortest-path", {"channel_rule=one"}, 1,
                                          {"router.switching=wormhole", "router.buffer_flits=2"});
  measure::SweepOptions how;
  how.loads = {1};
  workload::Workload workload = workload::read_workload({.packet = "12"});
  json alone = sweep_on(1, 1, machine, workload, how), together = sweep_on(3, 1, machine, workload, how);
  ASSERT_EQ(alone["points"][0]["stalled"], true);
  EXPECT_EQ(together["points"][0]["stalled"], true);
  EXPECT_THAT(alone["points"][0]["stall"].dump(), HasSubstr("waits"));
  EXPECT_THAT(together["points"][0]["stall"].dump(), HasSubstr("the flit engine does, in one process"));
}

TEST(Ranks, MoreThanRoutersAreRefused) {
  machine::Machine machine = make_machine("mesh", {"dims=[2]"}, "dimension-order", {}, 2);
  Team team(3);
  std::vector<std::thread> processes;
  std::atomic<unsigned> refused = 0;
  for (network::Ranks& rank : team.ranks())
    processes.emplace_back([&] {
      measure::SweepOptions how;
      how.loads = {0.1};
      how.ranks = &rank;
      try {
        measure::sweep(machine, mixed_packets(2), how);
      } catch (const UserError& error) {
        refused += std::string(error.what()).find("3 ranks cannot share 2 routers") != std::string::npos;
      }
    });
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(refused, 3u);
}

/// As a user starts them.
ProgramResult run_under_mpirun(unsigned ranks, const std::vector<std::string>& words) {
  std::vector<std::string> all{"--allow-run-as-root", "--oversubscribe", "-n", std::to_string(ranks),
                               WEFT_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  return run_command("mpirun.openmpi", all);
}

TEST(Ranks, StartedByMpirunWriteOneResult) {
  ScratchFolder folder;
  const std::vector<std::string> words{"traffic", "torus",   "--set",    "topology.dims=[6,6]",
                                       "--load",  "0.2,0.4", "--packet", "4",
                                       "--batch", "20"};
  auto with_out = [&](const std::string& name) {
    std::vector<std::string> out = words;
    out.insert(out.end(), {"--out", folder.file(name)});
    return out;
  };
  ASSERT_EQ(run_program(with_out("alone")).code, 0);
  json alone = parse_json(read_file(folder.file("alone/result.json")));
  alone.erase("run");
  for (unsigned ranks : {1u, 2u, 4u}) {
    const std::string name = "ranks" + std::to_string(ranks);
    ProgramResult result = run_under_mpirun(ranks, with_out(name));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("packets from each of 36 endpoints delivered"));
    EXPECT_EQ(result.out.find("delivered"), result.out.rfind("delivered")) << "one of them speaks";
    json together = parse_json(read_file(folder.file(name + "/result.json")));
    EXPECT_EQ(together["run"]["ranks"], ranks);
    together.erase("run");
    EXPECT_EQ(together, alone) << ranks << " ranks";
  }
}

TEST(Ranks, AnErrorIsToldOnce) {
  ProgramResult result = run_under_mpirun(3, {"traffic", "torrus"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean"));
  EXPECT_EQ(result.err.find("error: "), result.err.rfind("error: ")) << result.err;
  ScratchFolder folder;
  result = run_under_mpirun(2, {"traffic", "torus", "--set", "topology.dims=[4,4]", "--fault",
                                "at 1us cut r0.p0", "--out", folder.file("out")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("cables that can fail are run by one process"));
}

}  // namespace
}  // namespace weft::test
