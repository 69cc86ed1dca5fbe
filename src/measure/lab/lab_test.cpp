// Experiments against sums that can be done by hand.
#include "measure/lab/lab.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "measure/lab/accelerators.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/lab/streams.hpp"
#include "measure/lab/workload_file.hpp"

namespace weft::measure::lab {
namespace {

machine::Machine with(const std::string& name, const std::vector<std::string>& settings = {}) {
  return machine::build(machine::describe(name, settings));
}

TEST(Lab, HalfARoundTripIsTheSumOfItsParts) {
  machine::Machine m = with("extoll-r1");
  const auto& d = m.description;
  double bus = (16 + 8 + 8) * 8 / 12.8;  // a message of 8 B with its head, and framing, at 12.8 Gb/s
  auto ns = [](Time t) { return static_cast<double>(t.value) * 1e-3; };
  double expected = ns(d.host.post_cost) + 2 * (bus + ns(d.host.write_latency)) + ns(d.nic.send_latency) +
                    ns(d.nic.receive_latency) + 2 * ns(d.router.latency) +
                    ns(d.cables[0].flight_time(d.cables[0].length)) + 48 * 8 / 4.992 +
                    ns(d.host.memory_read) + ns(d.host.receive_cost);
  EXPECT_NEAR(message_latency_ns(m, {}, 8), expected, 1);
}

TEST(Lab, AnMpiMessageOf8BytesTakes64BytesOfWire) {  // F108
  machine::Machine m = with("extoll-r1");
  EXPECT_EQ(wire_bytes(m, 8), 64u);
  EXPECT_EQ(wire_bytes(m, 48), 104u) << "all of one small message";
  EXPECT_EQ(wire_bytes(m, 49), 104u + 41u) << "and a byte in a second one";
}

TEST(Lab, ExtollsSwitchCutsThrough) {  // F37
  // A hop more takes a router and a cable, however long the packet: stored and forwarded, the long one would
  // take 40 B more of wire time at each.
  machine::Machine m = with("extoll-r1");
  auto latency = [&](topology::EndpointId to, std::uint64_t bytes) {
    PairSetup setup;
    setup.engine = "flit";
    setup.nodes = {{0, to}};
    return message_latency_ns(m, setup, bytes);
  };
  const double wire = 40 * 8 / 4.992;
  EXPECT_GT(latency(1, 48) - latency(1, 8), wire);
  for (auto [near, far] : {std::pair<topology::EndpointId, topology::EndpointId>{1, 3}, {3, 7}})
    EXPECT_NEAR(latency(far, 48) - latency(near, 48), latency(far, 8) - latency(near, 8), wire / 10);
}

TEST(Lab, OnePairIsLimitedByItsProcessorManyByTheWire) {  // F109
  machine::Machine m = with("extoll-r1");
  PairSetup one, four, eight;
  four.pairs = 4;
  eight.pairs = 8;
  double alone = message_rate(m, one, 8), some = message_rate(m, four, 8), many = message_rate(m, eight, 8);
  EXPECT_LT(alone, 1e9 / (240 + 30)) << "its processor's time for a send";
  EXPECT_GT(alone, 0.85e9 / (240 + 30));
  EXPECT_NEAR(some / 9.75e6, 1, 0.02) << "64 B at 4.992 Gb/s";
  EXPECT_NEAR(many / some, 1, 0.02);
}

TEST(Lab, APauseAfterEachSendLowersTheRateAndNotTheLatency) {  // F220
  machine::Machine plain = with("extoll-r1"), paused = with("extoll-r1", {"mpi.send_delay=1us"});
  PairSetup one;
  EXPECT_NEAR(1e9 / message_rate(paused, one, 8) - 1e9 / message_rate(plain, one, 8), 1000, 30);
  // A ping-pong waits for its answer meanwhile.
  EXPECT_NEAR(library_latency_ns(paused, one, 8), library_latency_ns(plain, one, 8), 1);
}

TEST(Lab, LongMessagesAreFetchedAndFillTheWire) {
  machine::Machine m = with("extoll-r1");
  PairSetup one;
  one.volume = 1 << 20;
  double bytes = message_rate(m, one, 1 << 16) * (1 << 16);
  EXPECT_NEAR(bytes / (624e6 * 128 / 168), 1, 0.06);
}

TEST(Lab, LongMessagesFromSeveralSendersAllArrive) {
  // Their pieces come back in any order; every update must be applied for this to end.
  machine::Machine m = with("extoll-r1", {"mpi.eager_limit=0B", "mpi.get_size=64B"});
  RandomUpdates how = random_access_workload();
  how.updates = 128;
  EXPECT_GT(random_updates(m, how).per_second(), 0);
}

TEST(Lab, EnginesAgreeWhereNobodyIsInTheWay) {
  machine::Machine m = with("tianhe2", {"topology.groups=1", "topology.group_frames=1"});
  PairSetup ideal, flit;
  flit.engine = "flit";
  EXPECT_NEAR(put_latency_ns(m, ideal, 8), put_latency_ns(m, flit, 8), 6) << "whole cycles of 1.2 ns";
}

TEST(Lab, TheSameTwice) {
  machine::Machine m = with("extoll-r1");
  RandomUpdates how = random_access_workload();
  how.updates = 256;
  ApplicationResult a = random_updates(m, how), b = random_updates(m, how);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.library_share, b.library_share);
}

TEST(Lab, AFasterProcessorComputesFaster) {
  HaloExchange how = weather_workload();
  how.steps = 2;
  ApplicationResult now = halo_exchange(with("extoll-r1"), how),
                    slower = halo_exchange(with("extoll-r1", {"processor.clock=1.25GHz"}), how);
  EXPECT_GT(slower.seconds, now.seconds + 2 * 129e-6)
      << "129.7 us more in each of two steps, and more in MPI";
  EXPECT_EQ(slower.work, now.work);
}

TEST(Lab, AFasterChipDoesNotSlowAnExchangeDown) {
  HaloExchange how = weather_workload();
  how.steps = 5;
  double before = 0;
  for (const char* clock : {"156MHz", "312MHz", "468MHz", "624MHz"}) {
    double speed = halo_exchange(with("extoll-r1", {std::string("core.clock=") + clock}), how).per_second();
    EXPECT_GE(speed, 0.99 * before) << clock;
    before = speed;
  }
}

TEST(Workload, EveryValueHasItsSource) {
  std::vector<WorkloadValue> values = workload_values();
  EXPECT_EQ(values.size(), 21u);
  for (const WorkloadValue& v : values)
    EXPECT_TRUE(v.source.starts_with("assumed") || v.source.starts_with("calibrated") ||
                v.source.starts_with("recorded") || v.source.find(".txt ") != std::string::npos)
        << v.workload << " " << v.key;
}

TEST(Workload, MistakesInAFileAreToldTogether) {
  std::string path = testing::TempDir() + "workload.toml";
  std::ofstream(path)
      << "[workload]\nnodes = 8\nper_nodes = 8\nupdates = 1\npending = 4096\ncompute = \"1ns\"\n";
  try {
    read_random_updates(path);
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics()) all += d.text() + "\n";
    EXPECT_NE(all.find("per_nodes"), std::string::npos) << all;
    EXPECT_NE(all.find("pending"), std::string::npos) << all;
    EXPECT_NE(all.find("did you mean"), std::string::npos) << all;
  }
}

TEST(StagedRanks, CopiesCostWhatTheyTake) {
  const std::vector<std::string> slow{"node.device.knc.copy_rate=8Gbps", "node.device.knc.copy_startup=100us",
                                      "node.device.knc.os=none", "node.device.knc.path=staged"};
  const machine::Machine m = with("deep-booster", slow);
  AtomExchange how;
  how.steps = 4;
  how.step = {64'000};
  how.lists = {64'000, 64'000, 64'000};
  const double plain = exchange_step_ns(m, {}, how), staged = exchange_step_ns(m, {"knc"}, how);
  // Six messages in four steps; each is copied twice: 100 us, and 64 us of data.
  EXPECT_NEAR(staged - plain, 1.5 * 2 * 164e3, 0.03 * staged);
  const double alone = rank_ping_pong_bandwidth(m, {}, 1 << 20),
               copied = rank_ping_pong_bandwidth(m, {"knc"}, 1 << 20);
  EXPECT_NEAR((1 << 20) / copied - (1 << 20) / alone, 2 * (100e-6 + (1 << 20) * 1e-9), 20e-6);
  // In a row, a side's own copies are what is waited for: 100 us and a nanosecond for each byte; and the
  // library's work.
  const double copies = (1 << 17) / (100e-6 + (1 << 17) * 1e-9),
               row = rank_stream_bandwidth(m, {"knc"}, 1 << 17);
  EXPECT_LT(row, copies);
  EXPECT_GT(row, 0.85 * copies);
}

TEST(Lab, WhatWaitsForEverIsTold) {
  machine::Machine m = with("extoll-r1");
  Lab lab(m, "ideal", {0, 1});
  Process& alone = lab.add(0);
  auto waits = [](Process& p) -> Task { co_await p.next(); };
  lab.start(alone, waits(alone));
  EXPECT_THROW(lab.run(), std::runtime_error);
  Lab polling(m, "ideal", {0, 1});
  Process& polls = polling.add(0);
  auto looks = [](Process& p) -> Task {
    while (!p.waiting()) {
      p.compute({10'000});
      co_await p.in_step();
    }
  };
  polling.start(polls, looks(polls));
  EXPECT_THROW(polling.run(), std::runtime_error);
}

TEST(Streams, SharedWaysAreShared) {
  machine::Machine m = with("mesh", {"topology.dims=[4]"});
  StreamSetup setup;
  setup.packet = 256;
  setup.packets = 400;
  double alone = stream_rates(m, {{0, 3}}, setup)[0];
  std::vector<double> both = stream_rates(m, {{0, 3}, {1, 2}}, setup);
  EXPECT_NEAR(both[0] / alone, 0.5, 0.05);
  EXPECT_NEAR(both[1] / alone, 0.5, 0.05);
}

TEST(Streams, EveryEndpointHasOnePartner) {
  machine::Machine m = with("mesh");
  std::vector<int> sends(m.graph->endpoints()), receives(m.graph->endpoints());
  for (const Stream& s : random_pairs(m, 7)) {
    ++sends[s.from];
    ++receives[s.to];
    EXPECT_NE(s.from, s.to);
  }
  EXPECT_EQ(std::accumulate(sends.begin(), sends.end(), 0), 64);
  for (int one : sends) EXPECT_EQ(one, 1);
  for (int one : receives) EXPECT_EQ(one, 1);
}

}  // namespace
}  // namespace weft::measure::lab
