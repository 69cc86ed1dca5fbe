#include "network/link/protocol.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "network/link/link_bench.hpp"

namespace weft::network::link {
namespace {

TEST(Link, CarriesAFlitInEveryCycleWhenNothingFails) {
  Bench bench(small_link(), 0, 1, 1);
  bench.a.packets_wanted = bench.b.packets_wanted = 100'000;
  bench.run(5010);
  EXPECT_EQ(bench.b.flits_here, 5000u) << "the first arrives after the flight, then one in each cycle";
  EXPECT_EQ(bench.a.flits_here, 5000u);
  EXPECT_EQ(bench.a.end.counters().sent_again, 0u);
  EXPECT_EQ(bench.problem(), "");
}

// Go-back-N: a damaged flit costs what is sent until its refusal is back, a round trip of N flits; so
// 1 / (1 + N p / (1 - p)) of the rate is left.
struct Efficiency {
  double expected, measured;
};

Efficiency efficiency(double bit_error_rate, unsigned flight, unsigned flit_bytes, unsigned packet,
                      Cycle cycles) {
  LinkSettings s = small_link();
  s.flight = flight;
  s.flit_bytes = flit_bytes;
  s.window = 4 * flight + 2 * packet;
  s.timeout = 4 * flight + 2 * packet;
  s.beat = 100 * flight;
  s.max_retries = 1000;
  Bench bench(s, bit_error_rate, 1, 7);
  bench.a.longest_packet = bench.b.longest_packet = packet;
  bench.a.packets_wanted = ~0ull;
  bench.run(cycles + flight);
  double p = -std::expm1(std::log1p(-bit_error_rate) * (8.0 * flit_bytes + 32));
  EXPECT_EQ(bench.problem(), "");
  return {1 / (1 + p / (1 - p) * 2 * flight),
          static_cast<double>(bench.b.flits_here) / static_cast<double>(cycles)};
}

TEST(Link, RetryEfficiencyFollowsTheGoBackNFormula) {
  for (double rate : {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5}) {
    Efficiency e = efficiency(rate, 40, 64, 1, rate < 1e-7 ? 50'000 : 400'000);
    EXPECT_NEAR(e.measured / e.expected, 1, 0.02) << "bit error rate " << rate;
  }
  Efficiency far = efficiency(1e-5, 200, 32, 9, 1'000'000);
  EXPECT_LT(far.expected, 0.5) << "far enough for errors to matter";
  EXPECT_NEAR(far.measured / far.expected, 1, 0.02);
}

// Every bit of a packet in turn: of each flit's header, bytes and CRC. Nothing damaged gets through.
TEST(Link, EverySingleBitOfAPacketIsGuarded) {
  LinkSettings s = small_link();
  const unsigned flits = 4, image = 8 * (static_cast<unsigned>(sizeof(FlitHeader)) + s.flit_bytes);
  Sender sender(s);
  std::vector<std::uint8_t> bytes(s.flit_bytes);
  std::vector<Frame> frames;
  std::vector<std::vector<std::uint8_t>> payload;
  LinkCounters ignored;
  for (unsigned f = 0; f < flits; ++f) {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_bits(3, f, payload.size() * 100 + byte));
    sender.offer({77, 1, f == 0, f + 1 == flits}, bytes.data());
    Frame frame;
    const std::uint8_t* sent = nullptr;
    ASSERT_TRUE(sender.next(0, frame, sent, ignored));
    frames.push_back(frame);
    payload.emplace_back(sent, sent + s.flit_bytes);
  }
  unsigned tried = 0;
  for (unsigned damaged = 0; damaged < flits; ++damaged)
    for (unsigned bit = 0; bit < image; ++bit, ++tried) {
      Receiver receiver(s);
      LinkCounters counters;
      unsigned accepted = 0;
      for (unsigned f = 0; f < flits; ++f) {
        Frame frame = frames[f];
        std::vector<std::uint8_t> body = payload[f];
        if (f == damaged) {
          auto* header = reinterpret_cast<std::uint8_t*>(&frame.flit);
          std::uint8_t* at =
              bit / 8 < sizeof(FlitHeader) ? header + bit / 8 : &body[bit / 8 - sizeof(FlitHeader)];
          *at ^= static_cast<std::uint8_t>(1u << (bit % 8));
        }
        Arrival arrival;
        if (receiver.take(frame.flit, body.data(), arrival, counters)) {
          ++accepted;
          ASSERT_EQ(body, payload[f]) << "flit " << f << " bit " << bit;
        }
      }
      ASSERT_EQ(accepted, damaged) << "bit " << bit << " of flit " << damaged << " went through";
    }
  EXPECT_EQ(tried, flits * image);
}

TEST(Link, EverySingleBitOfTheControlPartIsGuarded) {
  Control control{};
  control.acknowledged = 123456;
  control.credit = 99;
  control.crc = control_crc(control);
  for (unsigned bit = 0; bit < 8 * sizeof(Control); ++bit) {
    Control damaged = control;
    reinterpret_cast<std::uint8_t*>(&damaged)[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_NE(control_crc(damaged), damaged.crc) << bit;
  }
}

TEST(Link, GoesBackToWhatWasDamaged) {
  LinkSettings s = small_link();
  Bench bench(s, 0, 1, 5);
  bench.a.packets_wanted = 400;
  bench.a_to_b->flip(10, 3);  // a bit of the tenth packet's first flit
  ASSERT_TRUE(bench.run_until_done(20'000));
  EXPECT_EQ(bench.problem(), "");
  EXPECT_EQ(bench.b.end.counters().refused, 1u);
  EXPECT_EQ(bench.a.end.counters().gone_back, 1u);
  EXPECT_EQ(bench.a.end.counters().sent_again, 2u * s.flight) << "one round trip";
}

TEST(Link, AShortCutLosesNothing) {
  Bench bench(small_link(), 0, 1, 6);
  bench.a.packets_wanted = bench.b.packets_wanted = 2000;
  bench.run(300);
  bench.a_to_b->cut(), bench.b_to_a->cut();
  bench.run(150);
  bench.a_to_b->restore(), bench.b_to_a->restore();
  ASSERT_TRUE(bench.run_until_done(100'000));
  EXPECT_EQ(bench.problem(), "");
  EXPECT_EQ(bench.a.end.counters().deaths, 0u);
  EXPECT_GT(bench.a.end.counters().timeouts, 0u);
}

TEST(Link, IsDeclaredDeadAfterTheMissedBeatsAndComesBack) {
  LinkSettings s = small_link();
  Bench bench(s, 0, 1, 6);
  bench.run(1000);  // idle, with heartbeats
  EXPECT_GT(bench.a.end.counters().beats, 5u);
  EXPECT_EQ(bench.a.end.state(), LinkState::Up);
  bench.a_to_b->cut(), bench.b_to_a->cut();
  Cycle cut_at = bench.now;
  while (bench.a.end.state() == LinkState::Up) bench.step();
  Cycle noticed = bench.now - cut_at;
  EXPECT_LE(noticed, s.beat * s.missed_beats + 2u);
  EXPECT_GT(noticed, s.beat * (s.missed_beats - 1));
  bench.run(1000);
  EXPECT_EQ(bench.a.end.state(), LinkState::Dead);
  EXPECT_EQ(bench.b.end.state(), LinkState::Dead);
  bench.a_to_b->restore(), bench.b_to_a->restore();
  bench.a.packets_wanted = bench.b.packets_wanted = 500;
  ASSERT_TRUE(bench.run_until_done(20'000));
  EXPECT_EQ(bench.problem(), "");
  EXPECT_GE(bench.a.end.counters().trainings, 1u);
}

TEST(Link, AStuckLaneIsDroppedAndTheRestGoesOn) {
  LinkSettings s = small_link();
  Bench bench(s, 0, 1, 8);
  bench.a.packets_wanted = bench.b.packets_wanted = 20'000;
  bench.run(500);
  bench.a_to_b->limit_lane(3, Wire::kBroken);
  ASSERT_TRUE(bench.run_until_done(400'000));
  EXPECT_EQ(bench.problem(), "");
  LaneSet seven{0xff & ~0x8u, 0};
  EXPECT_EQ(bench.a.end.lanes(), seven);
  EXPECT_EQ(bench.b.end.lanes(), seven) << "the handshake makes both ends agree";
  EXPECT_EQ(bench.a.end.interval(), (256u * 8 + 6) / 7);
}

TEST(Link, FiveBadLanesLowerTheRateOfAll) {
  Bench bench(small_link(), 0, 1, 8);
  for (unsigned lane = 0; lane < 5; ++lane) bench.b_to_a->limit_lane(lane, 1);
  bench.a.packets_wanted = bench.b.packets_wanted = 2000;
  ASSERT_TRUE(bench.run_until_done(200'000));
  EXPECT_EQ(bench.problem(), "");
  EXPECT_EQ(bench.a.end.lanes(), (LaneSet{0xff, 1}));
  EXPECT_EQ(bench.a.end.interval(), (256u * 14 + 9) / 10);
  Cycle before = bench.now;
  std::uint64_t made = bench.a.flits_made;
  bench.a.packets_wanted += 4000;
  ASSERT_TRUE(bench.run_until_done(100'000));
  auto flits = static_cast<double>(bench.a.flits_made - made);
  EXPECT_NEAR(static_cast<double>(bench.now - before) / flits, 1.4, 0.02) << "14 / 10 cycles for a flit";
}

TEST(Link, TooManyBrokenLanesAreTheEndOfIt) {
  Bench bench(small_link(), 0, 1, 8);
  for (unsigned lane = 0; lane < 5; ++lane) bench.b_to_a->limit_lane(lane, Wire::kBroken);
  bench.a.packets_wanted = bench.b.packets_wanted = 100;
  bench.run(20'000);
  EXPECT_NE(bench.a.end.state(), LinkState::Up);
  EXPECT_NE(bench.b.end.state(), LinkState::Up);
  EXPECT_GT(bench.a.end.counters().deaths, 0u);
  for (unsigned lane = 0; lane < 5; ++lane) bench.b_to_a->heal_lane(lane);
  EXPECT_TRUE(bench.run_until_done(20'000)) << "repaired lanes are found by knocking";
  EXPECT_EQ(bench.problem(), "");
}

TEST(Link, CreditsSurviveErrors) {
  LinkSettings s = small_link();
  Bench bench(s, 2e-5, 1, 21, 12);  // buffers of 12 flits: a lost credit would show
  bench.a.packets_wanted = bench.b.packets_wanted = 5000;
  ASSERT_TRUE(bench.run_until_done(2'000'000));
  EXPECT_GT(bench.a.end.counters().control_lost, 0u);
  bench.run(1000);  // heartbeats bring the last ones
  EXPECT_TRUE(bench.a.credits_whole());
  EXPECT_TRUE(bench.b.credits_whole());
  EXPECT_EQ(bench.problem(), "");
}

TEST(Link, HealthAndOccupancyReachTheOtherEnd) {
  Bench bench(small_link(), 0, 1, 3);
  bench.a.end.report(7, 1234);
  bench.run(300);
  EXPECT_EQ(bench.b.end.peer_health(), 7);
  EXPECT_EQ(bench.b.end.peer_occupied(), 1234);
}

TEST(Link, HeaderFooterHandsUpDamagedPayloadFlagged) {
  LinkSettings s = small_link();
  s.retry = topology::Retry::HeaderFooter;
  Bench bench(s, 3e-5, 1, 31);
  bench.a.packets_wanted = bench.b.packets_wanted = 5000;
  ASSERT_TRUE(bench.run_until_done(1'000'000));
  EXPECT_EQ(bench.problem(), "") << "headers and footers are whole, damage is flagged, nothing else is";
  EXPECT_GT(bench.b.damaged_here, 10u);
  EXPECT_GT(bench.b.end.counters().refused, 20u) << "headers and footers were sent again";
  EXPECT_LT(bench.a.end.counters().sent_again, 4 * bench.b.end.counters().refused)
      << "one flit goes again, not a window";
}

TEST(Link, APacketWithADamagedHeaderIsNeverHandedOver) {
  LinkSettings s = small_link();
  s.retry = topology::Retry::HeaderFooter;
  for (unsigned bit = 0; bit < 8 * s.flit_bytes; ++bit) {
    Bench bench(s, 0, 1, 5);
    bench.a.packets_wanted = 4;
    bench.a_to_b->flip(2, bit);
    ASSERT_TRUE(bench.run_until_done(5'000));
    ASSERT_EQ(bench.problem(), "") << "bit " << bit;
    ASSERT_EQ(bench.b.damaged_here, 0u) << "a header is repaired, not flagged";
    ASSERT_EQ(bench.b.end.counters().refused, 1u);
  }
}

/// A link of any kind, with errors and bursts.
Bench random_bench(std::uint64_t seed) {
  auto draw = [&](std::uint64_t step, std::uint32_t below) { return random_below(seed, 9, step, below); };
  LinkSettings s = small_link();
  s.flight = 1 + draw(0, 30);
  s.flit_bytes = 1 + draw(1, 64);
  s.channels = 1 + draw(2, 8);
  s.window = 8 + draw(3, 100);
  s.timeout = 2 * s.flight + 1 + draw(4, 100);
  s.beat = 2 * s.flight + 20 + draw(5, 200);
  s.training = draw(6, 300);
  s.interval = 256 + (draw(7, 2) ? draw(8, 600) : 0);
  s.retry = draw(9, 4) == 0 ? topology::Retry::HeaderFooter : topology::Retry::Packet;
  double rate = draw(10, 4) == 0 ? 0 : std::pow(10.0, -3.0 - draw(11, 40) / 10.0);
  unsigned burst = draw(12, 3) == 0 ? 2 + draw(13, 200) : 1;
  Bench bench(s, rate, burst, seed, 4 + draw(14, 40));
  bench.a.packets_wanted = draw(15, 200);
  bench.b.packets_wanted = draw(16, 200);
  bench.a.load = bench.b.load = draw(17, 2) ? 1 : 0.05;
  return bench;
}

/// Cuts, stalls and lanes at random; in the end everything is repaired.
void run_through_faults(Bench& bench, std::uint64_t seed) {
  for (std::uint64_t event = 0; event < 6; ++event) {
    auto draw = [&](std::uint64_t step, std::uint32_t below) {
      return random_below(seed, 9, 100 + event * 5 + step, below);
    };
    bench.run(draw(0, 500));
    unsigned lane = draw(1, 8);
    Wire& wire = draw(2, 2) ? *bench.a_to_b : *bench.b_to_a;
    switch (draw(3, 6)) {
      case 0:
        bench.a_to_b->cut(), bench.b_to_a->cut();
        break;
      case 1:
        bench.a_to_b->restore(), bench.b_to_a->restore();
        break;
      case 2:
        wire.stall(bench.now + draw(4, 400));
        break;
      case 3:
        wire.limit_lane(lane, Wire::kBroken);
        break;
      case 4:
        wire.limit_lane(lane, 1 + draw(4, 2));
        break;
      case 5:
        wire.heal_lane(lane);
        break;
    }
  }
  bench.a_to_b->restore(), bench.b_to_a->restore();
  for (unsigned lane = 0; lane < 8; ++lane) bench.a_to_b->heal_lane(lane), bench.b_to_a->heal_lane(lane);
}

TEST(Link, NothingLostNothingTwiceNothingChanged) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bench bench = random_bench(seed);
    run_through_faults(bench, seed);
    ASSERT_TRUE(bench.run_until_done(3'000'000))
        << bench.a.packets_here << " of " << bench.b.packets_wanted << ", " << bench.b.packets_here << " of "
        << bench.a.packets_wanted;
    ASSERT_EQ(bench.problem(), "");
  }
}

// An end left alone while it has nothing to do behaves to the cycle like one that is asked in every cycle.
TEST(Link, SleepingChangesNothing) {
  std::uint64_t cycles = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bench awake = random_bench(seed), sleepy = random_bench(seed);
    sleepy.a.sleepy = sleepy.b.sleepy = true;
    auto expect_same = [&] {
      for (auto side : {&Bench::a, &Bench::b}) {
        const Side &x = awake.*side, &y = sleepy.*side;
        ASSERT_EQ(x.end.counters(), y.end.counters());
        ASSERT_EQ(x.end.state(), y.end.state());
        ASSERT_EQ(x.end.lanes(), y.end.lanes());
        ASSERT_EQ(x.last_arrival, y.last_arrival);
        ASSERT_EQ(x.flits_here, y.flits_here);
      }
      ASSERT_EQ(awake.a_to_b->bits_damaged(), sleepy.a_to_b->bits_damaged());
      ASSERT_EQ(awake.b_to_a->bits_damaged(), sleepy.b_to_a->bits_damaged());
    };
    for (Bench* bench : {&awake, &sleepy}) run_through_faults(*bench, seed);
    ASSERT_NO_FATAL_FAILURE(expect_same());
    while (!awake.done()) {
      awake.run(50), sleepy.run(50);
      ASSERT_NO_FATAL_FAILURE(expect_same());
    }
    ASSERT_EQ(sleepy.problem(), "");
    awake.run(3000), sleepy.run(3000);  // idle
    ASSERT_NO_FATAL_FAILURE(expect_same());
    cycles += awake.a.asked + awake.b.asked;
    asked += sleepy.a.asked + sleepy.b.asked;
  }
  EXPECT_LT(asked, cycles / 3);
}

}  // namespace
}  // namespace weft::network::link
