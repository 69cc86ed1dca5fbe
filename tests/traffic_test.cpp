// `weft traffic` as a user meets it, and what a sweep must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "app/load_list.hpp"
#include "base/text.hpp"
#include "json.hpp"
#include "machines.hpp"
#include "measure/traffic/sweep.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

const Arguments kSmall{"traffic", "torus", "--set", "topology.dims=[4,4]"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string expect_mistake(const Arguments& more) {
  ScratchFolder folder;
  ProgramResult result = run_program(with(kSmall, with(more, {"--out", folder.file("out")})));
  EXPECT_EQ(result.code, 2) << join(more, " ") << "\n" << result.out;
  EXPECT_EQ(result.out, "");
  return result.err;
}

/// The result of a run without what may differ between equal runs.
json run_json(const Arguments& more) {
  ScratchFolder folder;
  ProgramResult result = run_program(with(kSmall, with(more, {"--json", "--out", folder.file("out")})));
  EXPECT_EQ(result.code, 0) << result.err;
  json out = parse_json(result.out);
  EXPECT_EQ(out, parse_json(read_file(folder.file("out/result.json"))));
  EXPECT_TRUE(out.contains("run"));
  out.erase("run");
  return out;
}

TEST(Traffic, WritesTablesAndPrintsThem) {
  ScratchFolder folder;
  std::string out = folder.file("out");
  ProgramResult result = run_program(with(kSmall, {"--load", "0.1,0.2", "--out", out}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mean latency"), HasSubstr("takes all of load 0.2"),
                                HasSubstr("hottest link")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("point 1 of 2"), HasSubstr("point 2 of 2")));
  json written = parse_json(read_file(out + "/result.json"));
  EXPECT_EQ(written["points"].size(), 2u);
  EXPECT_EQ(written["settings"]["topology.dims"], "[4, 4]");
  EXPECT_EQ(written["settings"]["pattern.self"], "true");
  EXPECT_THAT(std::string(written["run"]["command"]), HasSubstr("--set 'topology.dims=[4,4]'"));
  EXPECT_EQ(split(read_file(out + "/points.csv"), '\n').size(), 1 + 2 + 1u);
  EXPECT_EQ(split(read_file(out + "/links.csv"), '\n').size(), 1 + 2 * 64 + 1u);
  EXPECT_THAT(read_file(out + "/histogram.csv"), HasSubstr("0.1,packet,"));
  const json& link = written["points"][0]["links"][0];
  EXPECT_GE(link["over_time"].size(), 8u);
  EXPECT_THAT(std::string(link["from"]), HasSubstr("r0.p"));
}

TEST(Traffic, ThreadsChangeNothingAndSeedsDo) {
  json one = run_json({"--load", "0.2,1.0", "--packet", "1:0.5,8:0.5"});
  EXPECT_EQ(one, run_json({"--load", "0.2,1.0", "--packet", "1:0.5,8:0.5", "--threads", "2"}));
  json other = run_json({"--load", "0.2,1.0", "--packet", "1:0.5,8:0.5", "--seed", "2"});
  EXPECT_NE(one["points"], other["points"]);
}

TEST(Traffic, ABatchIsDeliveredToTheLastPacket) {
  json out = run_json({"--pattern", "all-to-all", "--batch", "30", "--packet", "4"});
  const json& point = out["points"][0];
  EXPECT_EQ(point["packet_latency_cycles"]["packets"], 30 * 16);
  EXPECT_GE(point["completion_cycles"], 30 * 4) << "an endpoint sends one flit per cycle";
  EXPECT_DOUBLE_EQ(point["accepted"], 30 * 4 / double(point["completion_cycles"]));
}

TEST(Traffic, AnUncutTreeCarriesAllThatIsInjectedAcrossItsMiddle) {  // F57
  auto accepted = [](const char* parents) {
    ScratchFolder folder;
    ProgramResult result = run_program({"traffic",         "fat-tree",
                                        "--set",           "topology.children=[4,4]",
                                        "--set",           parents,
                                        "--set",           "router.buffer_flits=1024",
                                        "--set",           "router.channels=1",
                                        "--pattern",       "bit-complement",
                                        "--source",        "fixed",
                                        "--load",          "1",
                                        "--batch",         "400",
                                        "--packet",        "256",
                                        "--json",          "--out",
                                        folder.file("out")});
    EXPECT_EQ(result.code, 0) << result.err;
    return double(parse_json(result.out)["points"][0]["accepted"]);
  };
  // Every packet crosses the middle. What is missing to 1 is the time of the first to arrive.
  EXPECT_GT(accepted("topology.parents=[1,4]"), 0.98);
  EXPECT_NEAR(accepted("topology.parents=[1,2]"), 0.5, 0.01);
}

TEST(Traffic, StopsAfterTheSecondSaturatedLoad) {
  json out = run_json({"--pattern", "incast", "--load", "0.02,0.2:1:0.1"});
  ASSERT_EQ(out["points"].size(), 3u);
  EXPECT_FALSE(out["points"][0]["saturated"]);
  EXPECT_TRUE(out["points"][1]["saturated"]);
  EXPECT_TRUE(out["points"][2]["saturated"]);
  EXPECT_TRUE(out["stopped_past_saturation"]);
  EXPECT_EQ(out["senders"], 15);
  EXPECT_LE(double(out["points"][2]["accepted"]), 1.0 / 15 + 0.001) << "the target takes one flit per cycle";
  EXPECT_EQ(out["points"][2]["waiting"][0]["place"], "source queues");
}

TEST(Traffic, MistakesAreNamed) {
  EXPECT_THAT(expect_mistake({"--load", "1.2"}), HasSubstr("1.2 is no load"));
  EXPECT_THAT(expect_mistake({"--load", "0"}), HasSubstr("above 0 and at most 1"));
  EXPECT_THAT(expect_mistake({"--load", "0.1:0.5"}), HasSubstr("expected first:last:step"));
  EXPECT_THAT(expect_mistake({"--pattern", "unifrom"}), HasSubstr("did you mean 'uniform'?"));
  EXPECT_THAT(expect_mistake({"--pattern", "uniform", "--pattern-set", "slef=false"}),
              HasSubstr("did you mean 'self'?"));
  EXPECT_THAT(expect_mistake({"--pattern", "transpose", "--set", "topology.dims=[4,3]"}),
              HasSubstr("9 or 16 would fit"));
  EXPECT_THAT(expect_mistake({"--source", "bernouli"}), HasSubstr("did you mean 'bernoulli'?"));
  EXPECT_THAT(expect_mistake({"--packet", "65"}), HasSubstr("cut-through needs room for a whole packet"));
  EXPECT_THAT(expect_mistake({"--packet", "1:x"}), HasSubstr("expected flits"));
  EXPECT_THAT(expect_mistake({"--set", "router.channels=1"}), HasSubstr("at least 2 channels"));
  EXPECT_THAT(expect_mistake({"--set", "router.buffer_flits=0"}), HasSubstr("router.buffer_flits"));
  EXPECT_THAT(expect_mistake({"--batch", "5000000"}), HasSubstr("48 million packets"));
  EXPECT_THAT(expect_mistake({"--message-class", "3"}), HasSubstr("routers have 1 message class"));
  EXPECT_THAT(expect_mistake({"--threads", "-1"}), HasSubstr("--threads"));
}

TEST(Traffic, LoadsAreReadExactly) {
  EXPECT_THAT(app::parse_loads("0.1:0.6:0.1"), ElementsAre(0.1, 0.2, 0.3, 0.4, 0.5, 0.6));
  EXPECT_THAT(app::parse_loads("0.5,0.05,0.5:0.7:0.1"), ElementsAre(0.05, 0.5, 0.6, 0.7));
  EXPECT_EQ(app::parse_loads("0.05:1.0:0.05").size(), 20u);
  for (const char* bad : {"", "x", "0.1,", "0.1:0.2", "0.1:0.2:0", "0.1:0.2:-0.1", "0.2:0.1:0.1", "-0.1",
                          "1.01", "nan", "0.1:1:0.0000001", "0.1:0.2:0.1:0.1", "0.1 0.2"})
    EXPECT_THROW(app::parse_loads(bad), UserError) << bad;
}

TEST(Traffic, AnInterruptedSweepKeepsItsPoints) {
  ScratchFolder folder;
  std::string out = folder.file("out"), err = folder.file("err");
  pid_t child = fork();
  if (child == 0) {
    alarm(400);
    if (!freopen("/dev/null", "w", stdout) || !freopen(err.c_str(), "w", stderr)) _exit(126);
    // The first load is quick; the rest, on a larger and loaded machine, would take minutes.
    execl(WEFT_PROGRAM, WEFT_PROGRAM, "traffic", "torus", "--set", "topology.dims=[16,16,16]", "--load",
          "0.001,0.1:0.18:0.01", "--packet", "8", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  auto heard = [&] { return read_file(err).find("point 1 of 10") != std::string::npos; };
  EXPECT_TRUE(comes_true(heard));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << read_file(err);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(read_file(err), HasSubstr(" of 10 points kept"));
  json written = parse_json(read_file(out + "/result.json"));
  EXPECT_TRUE(written["interrupted"]);
  EXPECT_GE(written["points"].size(), 1u);
  EXPECT_LT(written["points"].size(), 10u);
}

measure::TrafficResult sweep_torus(const std::string& pattern, std::vector<double> loads,
                                   const std::string& source) {
  machine::Machine m =
      make_machine("torus", {"dims=[8,8]"}, "dimension-order", {}, 4, {"router.buffer_flits=64"});
  workload::Workload w = workload::read_workload({pattern, source, "1", {}, {}});
  measure::SweepOptions how;
  how.loads = std::move(loads);
  return measure::sweep(m, w, how);
}

TEST(Traffic, BelowSaturationAcceptedIsOffered) {
  for (const char* source : {"bernoulli", "fixed"}) {
    auto result = sweep_torus("uniform", {0.05, 0.1, 0.2, 0.3}, source);
    ASSERT_EQ(result.points.size(), 4u);
    double before = 0;
    for (const auto& point : result.points) {
      EXPECT_NEAR(point.accepted, point.offered, 0.01 * point.offered) << source;
      EXPECT_NEAR(point.accepted, point.generated, 0.01 * point.offered) << source;
      EXPECT_NEAR(point.mean_routers, 5, 0.05) << "4 cables on average, oneself included";
      EXPECT_TRUE(point.steady && !point.saturated);
      EXPECT_GT(point.packet.mean, before) << "latency grows with the load";
      EXPECT_GE(point.packet.mean, point.network.mean);
      EXPECT_GT(point.fairness, 0.98);
      EXPECT_LE(point.mean_half_width, 0.01 * point.packet.mean);
      double mean_use = 0;
      for (const auto& link : point.links)
        mean_use += link.utilisation / static_cast<double>(point.links.size());
      EXPECT_NEAR(mean_use, point.accepted, 0.02 * point.accepted)
          << "4 of 4 links out of a router, 4 cables each";
      before = point.packet.mean;
    }
  }
}

}  // namespace
}  // namespace weft::test
