// Ranks that share a machine: the same bytes as one process, whatever the machine and the number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <csignal>
#include <functional>
#include <thread>

#include "json.hpp"
#include "machine/profiles.hpp"
#include "machines.hpp"
#include "measure/traffic/sweep.hpp"
#include "network/cycle_engine.hpp"
#include "network/network.hpp"
#include "report/traffic_json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"
#include "workload/replay.hpp"

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

/// Calls what(rank's number, its Ranks) for all ranks at the same time.
void on_ranks(unsigned count, const std::function<void(unsigned, network::Ranks*)>& what) {
  if (count == 1) return what(0, nullptr);
  Team team(count);
  std::vector<std::thread> processes;
  for (unsigned r = 0; r < count; ++r) processes.emplace_back([&, r] { what(r, &team.ranks()[r]); });
  for (std::thread& process : processes) process.join();
}

json without_run(const measure::TrafficResult& result, const machine::Machine& machine) {
  json out = parse_json(report::traffic_json(result, machine).dump(0));
  out.erase("run");
  return out;
}

/// The first rank alone is told of every link, because it writes them.
json without_links(json result) {
  for (json& point : result["points"]) point.erase("links"), point.erase("waiting");
  return result;
}

/// What the first rank ends up with; all must have the same.
json sweep_on(unsigned count, unsigned threads, const machine::Machine& machine,
              const workload::Workload& workload, measure::SweepOptions how) {
  how.threads = threads;
  std::vector<json> results(count);
  on_ranks(count, [&](unsigned r, network::Ranks* ranks) {
    measure::SweepOptions mine = how;
    mine.ranks = ranks;
    results[r] = without_run(measure::sweep(machine, workload, mine), machine);
  });
  for (unsigned r = 1; r < count; ++r)
    EXPECT_EQ(without_links(results[r]), without_links(results[0])) << "rank " << r;
  return results[0];
}

workload::Workload mixed_packets(std::uint64_t batch) {
  workload::Workload out = workload::read_workload({.packet = "1:0.5,7:0.5"});
  out.batch = batch;
  return out;
}

/// Returns what one process finds.
json expect_same_on_ranks(const machine::Machine& machine, const workload::Workload& workload, double load,
                          const std::string& name, const std::string& faults = "",
                          const std::vector<unsigned>& counts = {2, 3, 8}) {
  measure::SweepOptions how;
  how.loads = {load};
  if (!faults.empty()) how.faults = network::link::read_faults(faults, *machine.graph);
  const json alone = sweep_on(1, 1, machine, workload, how);
  for (unsigned ranks : counts) {
    if (ranks > machine.graph->routers()) continue;
    EXPECT_EQ(sweep_on(ranks, ranks == 3 ? 2 : 1, machine, workload, how), alone)
        << name << " on " << ranks << " ranks";
  }
  return alone;
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

// What crosses between ranks here are frames that are damaged and sent again, and packets that lie across
// several ranks when they are taken back.
TEST(Ranks, GiveTheSameBytesWhereCablesFail) {
  struct Case {
    Settings settings;
    std::string faults;
    std::uint64_t batch;
  };
  const Case cases[] = {
      {{}, "at 1us cut r1.p0; at 1.5us cut r5.p2; at 9us restore r1.p0", 40},
      {{}, "at 1us kill router 5; at 9us restore router 5", 40},
      {{"cable.default.bit_error_rate=1e-4"}, "", 20},
      {{"cable.default.bit_error_rate=1e-4", "cable.default.retry=header-footer"}, "", 20},
      {{},
       "at 0.5us lane r1.p0 2 stuck; at 0.7us stall r2.p0 for 300ns; at 1us flip r3.p0 packet 3 bit 5",
       40},
      {{"router.switching=wormhole", "router.buffer_flits=4"}, "at 1us cut r7.p0; at 1.2us cut r8.p2", 40},
      {{"router.kind=virtual-output-queued"}, "at 1us cut r7.p0; at 1.2us kill router 10", 40},
      {{"router.kind=tiled", "cable.default.length=30m"}, "at 1us cut r6.p2", 40},
  };
  std::uint64_t again = 0, back = 0, lost = 0;
  for (const Case& one : cases) {
    machine::Machine machine = make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 2, one.settings);
    const json alone = expect_same_on_ranks(
        machine, mixed_packets(one.batch), 0.4, one.faults + join(one.settings, ", "), one.faults,
        &one == cases ? std::vector<unsigned>{2, 8} : std::vector<unsigned>{3});
    const json& faults = alone["points"][0]["faults"];
    for (const json& cable : faults["cables"]) again += cable["flits_sent_again"].get<std::uint64_t>();
    back += faults["packets_taken_back"].get<std::uint64_t>();
    lost += faults["undeliverable_packets"].get<std::uint64_t>();
  }
  EXPECT_GT(again, 500u);
  EXPECT_GT(back, 100u);
  EXPECT_GT(lost, 20u);
}

/// All that a caller of a network hears of messages between many, some of which are lost.
std::vector<network::Notice> heard(const machine::Machine& machine, unsigned threads,
                                   const std::string& faults, Time reaction, network::Ranks* ranks) {
  network::EngineOptions options;
  options.threads = threads;
  options.ranks = ranks;
  if (!faults.empty()) options.faults = network::link::read_faults(faults, *machine.graph);
  const auto* kind = config::Registry<network::EngineKind>::find("flit");
  const auto network = kind->make(machine, options);
  network->set_reaction_time(reaction);
  const std::uint32_t endpoints = machine.graph->endpoints();
  network::Tag tag = 0;
  const auto send = [&](std::uint32_t from, Time at) {
    const std::uint64_t draw = random_bits(7, tag, 0);
    const auto to = static_cast<std::uint32_t>((from + 1 + draw % (endpoints - 1)) % endpoints);
    network->send_message({from, to, 1 + (draw >> 32) % 3000, 0, tag}, at);
    ++tag;
  };
  for (std::uint32_t e = 0; e < endpoints; ++e) send(e, {static_cast<std::int64_t>(e) * 1000});
  std::vector<network::Notice> all, batch;
  while (!network->idle()) {
    batch.clear();
    network->advance(network::kForever, batch);
    if (batch.empty()) break;
    for (const network::Notice& notice : batch) {
      all.push_back(notice);
      // Who hears of an arrival sends the next.
      if (notice.kind == network::Notice::Kind::Delivered && tag < 8 * endpoints)
        send(static_cast<std::uint32_t>(notice.tag % endpoints), later(notice.at, reaction));
    }
  }
  return all;
}

TEST(Ranks, ACallerHearsTheSame) {
  for (const std::string faults : {"", "at 1us cut r1.p0; at 3us cut r5.p2; at 5us kill router 6"})
    for (Time reaction : {Time{0}, Time{100'000}})
      for (const Settings& router :
           {Settings{}, Settings{"router.switching=wormhole", "router.buffer_flits=4"}}) {
        machine::Machine machine = make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 2, router);
        const auto alone = heard(machine, 1, faults, reaction, nullptr);
        ASSERT_GT(alone.size(), 150u);
        for (unsigned count : {2u, 3u})
          on_ranks(count, [&](unsigned r, network::Ranks* ranks) {
            EXPECT_TRUE(heard(machine, count == 2 ? 2 : 1, faults, reaction, ranks) == alone)
                << "rank " << r << " of " << count << " " << faults << join(router, ", ");
          });
      }
}

TEST(Ranks, ReplayTheSame) {
  for (const auto& [workload, setting] :
       {std::pair<std::string, std::string>{"all-to-all", "bytes=512B"}, {"stencil-3d", "halo=1KiB"}}) {
    machine::Machine machine = make_machine("torus", {"dims=[3,3,3]"}, "dimension-order", {}, 2,
                                            {"cable.default.bit_error_rate=1e-6"});
    workload::ReplayText text;
    text.engine = "flit";
    text.jobs.push_back({.workload = workload, .settings = {setting}, .ranks = 27});
    const auto result = [&](network::Ranks* ranks) {
      workload::ReplayText mine = text;
      mine.ranks = ranks;
      const workload::ExecutionResult run = workload::replay(machine, mine).run;
      EXPECT_TRUE(run.finished);
      std::vector<std::int64_t> out{run.completion.value,
                                    static_cast<std::int64_t>(run.message_time.picoseconds())};
      for (Time end : run.rank_end) out.push_back(end.value);
      return out;
    };
    const auto alone = result(nullptr);
    for (unsigned count : {2u, 3u})
      on_ranks(count, [&](unsigned, network::Ranks* ranks) { EXPECT_EQ(result(ranks), alone); });
  }
}

TEST(Ranks, StateDivides) {
  machine::Machine machine = make_machine("torus", {"dims=[12,12,12]"}, "dimension-order", {}, 4, {});
  const network::CycleEngineKind& kind = network::cycle_engine("flit");
  const std::uint64_t whole = kind.make(machine, {})->bytes();
  on_ranks(4, [&](unsigned, network::Ranks* ranks) {
    network::CycleOptions options;
    options.ranks = ranks;
    EXPECT_LT(kind.make(machine, options)->bytes(), whole * 3 / 10);
  });
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
  result = run_under_mpirun(2, {"replay", "torus", "all-to-all", "--ranks", "8"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("the engine flow runs in one process"));
}

TEST(Ranks, StartedByMpirunReplayAndRepairErrors) {
  ScratchFolder folder;
  const auto same = [&](const std::string& name, std::vector<std::string> words, const std::string& file) {
    std::string alone;
    for (unsigned ranks : {0u, 2u}) {
      const std::string out = folder.file(name + std::to_string(ranks));
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--out", out});
      const ProgramResult result = ranks ? run_under_mpirun(ranks, all) : run_program(all);
      ASSERT_EQ(result.code, 0) << result.err;
      const std::string text = read_file(out + "/" + file);
      if (alone.empty()) alone = text;
      EXPECT_EQ(text, alone) << name;
    }
  };
  same("replay",
       {"replay", "torus", "all-to-all", "--set", "topology.dims=[2,4]", "--engine", "flit", "--ranks", "8"},
       "matrix.csv");
  same("errors",
       {"traffic", "torus", "--set", "topology.dims=[4,4]", "--set", "cable.default.bit_error_rate=1e-4",
        "--load", "0.3", "--packet", "4", "--batch", "5"},
       "points.csv");
}

}  // namespace
}  // namespace weft::test
