// Two ranks of MPI whose buffers lie in memory of accelerators: at hand, or staged through the processor's.
#include <algorithm>
#include <memory>

#include "measure/lab/accelerators.hpp"
#include "measure/lab/messenger.hpp"

namespace weft::measure::lab {

namespace {

constexpr unsigned kWarmUp = 2, kRounds = 8, kBurst = 64, kBursts = 3;

/// One of the two.
struct Rank {
  Messenger& messenger;
  Process& peer;
  bool staged;

  Process& process() const { return messenger.process(); }
  Task send(std::uint64_t bytes) const {
    if (staged) co_await process().copy(false, bytes);
    co_await messenger.send(peer, bytes);
  }
  Task receive() const {
    co_await messenger.receive();
    if (staged) co_await process().copy(true, messenger.last_length());
  }
};

struct Measured {
  Time begin{0}, end{0};
  double nanoseconds() const { return static_cast<double>((end - begin).value) * 1e-3; }
};

/// As programs exchange with a neighbour: the receive is posted, the message is sent, and both are waited
/// for.
Task exchange(Rank me, AtomExchange how, Measured* result) {
  for (unsigned round = 0; round < kWarmUp + kRounds; ++round) {
    if (round == kWarmUp) result->begin = me.process().clock;
    for (unsigned step = 0; step < how.steps; ++step)
      for (std::uint64_t bytes : step == 0 ? how.lists : how.step) {
        co_await me.messenger.expect(1);
        co_await me.send(bytes);
        co_await me.messenger.sent();
        co_await me.receive();
      }
  }
  result->end = me.process().clock;
}

Task ping_pong(Rank me, std::uint64_t bytes, bool first, Measured* result) {
  for (unsigned i = 0; i < kWarmUp + kRounds; ++i) {
    if (i == kWarmUp) result->begin = me.process().clock;
    if (first) co_await me.send(bytes);
    co_await me.receive();
    if (!first) co_await me.send(bytes);
  }
  result->end = me.process().clock;
  co_await me.messenger.sent();
}

Task stream_out(Rank me, std::uint64_t bytes, Measured* result) {
  for (unsigned burst = 0; burst <= kBursts; ++burst) {
    if (burst == 1) result->begin = me.process().clock;
    for (unsigned i = 0; i < kBurst; ++i) co_await me.send(bytes);
    co_await me.messenger.sent();
    co_await me.receive();
  }
  result->end = me.process().clock;
}

Task stream_in(Rank me) {
  for (unsigned burst = 0; burst <= kBursts; ++burst) {
    co_await me.messenger.expect(kBurst);
    for (unsigned i = 0; i < kBurst; ++i) co_await me.receive();
    co_await me.send(8);
  }
  co_await me.messenger.sent();
}

struct Bench {
  Bench(const machine::Machine& machine, const RankPair& pair, std::uint64_t bytes)
      : lab(machine, pair.engine, {0, 1}),
        a(lab.add(0, bytes + 128)),
        b(lab.add(1, bytes + 128)),
        of_a(a),
        of_b(b),
        staged(!pair.device.empty()) {
    if (!staged) return;
    a.use_device(pair.device);
    b.use_device(pair.device);
  }
  Rank first() { return {of_a, b, staged}; }
  Rank second() { return {of_b, a, staged}; }

  Lab lab;
  Process &a, &b;
  Messenger of_a, of_b;
  bool staged;
};

}  // namespace

double exchange_step_ns(const machine::Machine& machine, const RankPair& pair, const AtomExchange& how) {
  std::uint64_t most = 0;
  for (const std::vector<unsigned>* some : {&how.step, &how.lists})
    for (unsigned bytes : *some) most = std::max<std::uint64_t>(most, bytes);
  Bench bench(machine, pair, most);
  Measured of[2];
  bench.lab.start(bench.a, exchange(bench.first(), how, &of[0]));
  bench.lab.start(bench.b, exchange(bench.second(), how, &of[1]));
  bench.lab.run();
  return std::max(of[0].nanoseconds(), of[1].nanoseconds()) / (kRounds * how.steps);
}

double rank_ping_pong_bandwidth(const machine::Machine& machine, const RankPair& pair, std::uint64_t bytes) {
  Bench bench(machine, pair, bytes);
  Measured of[2];
  bench.lab.start(bench.a, ping_pong(bench.first(), bytes, true, &of[0]));
  bench.lab.start(bench.b, ping_pong(bench.second(), bytes, false, &of[1]));
  bench.lab.run();
  return static_cast<double>(bytes) * 2 * kRounds / (of[0].nanoseconds() * 1e-9);
}

double rank_stream_bandwidth(const machine::Machine& machine, const RankPair& pair, std::uint64_t bytes) {
  Bench bench(machine, pair, bytes);
  Measured of;
  bench.lab.start(bench.a, stream_out(bench.first(), bytes, &of));
  bench.lab.start(bench.b, stream_in(bench.second()));
  bench.lab.run();
  return static_cast<double>(bytes) * kBurst * kBursts / (of.nanoseconds() * 1e-9);
}

}  // namespace weft::measure::lab
