#include "measure/lab/accelerators.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "measure/lab/messenger.hpp"
#include "node/compute_registers.hpp"

namespace weft::measure::lab {

namespace {

constexpr unsigned kWarmUp = 2, kRounds = 8, kWindow = 4, kStream = 48;

struct Side {
  Process& process;
  bool sends_device, receives_device;  // memory of the device is sent, is what comes put into
  std::uint64_t bytes;

  bool stages_out() const { return sends_device && !process.device_is_peer(); }
  bool stages_in() const { return receives_device && !process.device_is_peer(); }

  Task put(const Side& peer) {
    if (stages_out()) co_await process.copy(false, bytes);
    nic::Descriptor d = process.to(peer.process, nic::Operation::Put, bytes, nic::kNotifyRemote);
    if (sends_device && process.device_is_peer()) d.local_key = process.device_key();
    if (peer.receives_device && peer.process.device_is_peer()) d.remote_key = peer.process.device_key();
    co_await process.post(d);
  }
  Task take() {
    co_await process.next();
    if (stages_in()) co_await process.copy(true, bytes);
  }
};

struct Rounds {
  Time begin{0}, end{0};
};

Task ping_pong(Side me, Side peer, bool first, Rounds* result) {
  for (unsigned i = 0; i < kWarmUp + kRounds; ++i) {
    if (first && i == kWarmUp) result->begin = me.process.clock;
    if (first) co_await me.put(peer);
    co_await me.take();
    if (!first) co_await me.put(peer);
  }
  if (first) result->end = me.process.clock;
}

Task library_ping_pong(Messenger& me, Process& peer, std::uint64_t bytes, bool first, Rounds* result) {
  for (unsigned i = 0; i < kWarmUp + kRounds; ++i) {
    if (first && i == kWarmUp) result->begin = me.process().clock;
    if (first) {
      co_await me.process().copy(false, bytes);
      co_await me.send(peer, bytes);
    }
    co_await me.receive();
    co_await me.process().copy(true, bytes);
    if (first) continue;
    co_await me.process().copy(false, bytes);
    co_await me.send(peer, bytes);
  }
  if (first) result->end = me.process().clock;
  co_await me.sent();
}

/// Every put is answered by a short message once its data is where it belongs.
Task stream_sender(Side me, Side peer, Rounds* result) {
  for (unsigned i = 0; i < kStream; ++i) {
    if (i >= kWindow) co_await me.process.next();
    if (i == kWindow) result->begin = me.process.clock;
    co_await me.put(peer);
  }
  for (unsigned i = 0; i < kWindow; ++i) co_await me.process.next();
  result->end = me.process.clock;
}

Task stream_receiver(Side me, Side peer) {
  for (unsigned i = 0; i < kStream; ++i) {
    co_await me.take();
    co_await me.process.post(me.process.to(peer.process, nic::Operation::Message, 8));
  }
}

/// Two processes with memory of their devices.
struct Bench {
  Bench(const machine::Machine& machine, const DevicePair& pair, std::uint64_t bytes)
      : lab(machine, pair.engine, {pair.first, pair.second}),
        a(lab.add(0, std::max<std::uint64_t>(bytes, 4096))),
        b(lab.add(1, std::max<std::uint64_t>(bytes, 4096))) {
    a.use_device(pair.device);
    b.use_device(pair.device);
  }
  Lab lab;
  Process &a, &b;
};

double nanoseconds(const Rounds& r) { return static_cast<double>((r.end - r.begin).value) * 1e-3; }

/// A crystal of cubes with an atom at each corner and in the middle of each side, in the device's layout.
class Crystal {
 public:
  Crystal(unsigned cells, unsigned neighbours) : neighbours_(neighbours) {
    constexpr double kEdge = 1.6796;  // at the density of 0.8442
    for (unsigned i = 0; i < cells * cells * cells * 4; ++i) {
      const unsigned cell = i / 4, corner = i % 4;
      const unsigned at[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
      for (unsigned k = 0; k < 3; ++k) x_.push_back((at[k] + (corner && corner - 1 != k ? 0.5 : 0)) * kEdge);
    }
  }
  unsigned atoms() const { return static_cast<unsigned>(x_.size() / 3); }
  std::uint64_t forces() const { return x_.size() * 8; }
  std::uint64_t lengths() const { return 2 * forces(); }
  std::uint64_t lists() const { return lengths() + std::uint64_t{atoms()} * 4; }
  std::uint64_t bytes() const { return (lists() + std::uint64_t{atoms()} * neighbours_ * 4 + 7) / 8 * 8; }

  void write(std::uint8_t* to) const {
    std::memcpy(to, x_.data(), x_.size() * 8);
    std::vector<std::uint32_t> others;
    for (std::uint32_t i = 0; i < atoms(); ++i) {
      others.clear();
      for (std::uint32_t j = 0; j < atoms(); ++j)
        if (j != i) others.push_back(j);
      auto nearer = [&](std::uint32_t a, std::uint32_t b) {
        const double left = square(i, a), right = square(i, b);
        return left != right ? left < right : a < b;
      };
      std::nth_element(others.begin(), others.begin() + neighbours_, others.end(), nearer);
      std::memcpy(to + lengths() + std::uint64_t{i} * 4, &neighbours_, 4);
      std::memcpy(to + lists() + std::uint64_t{i} * neighbours_ * 4, others.data(),
                  std::size_t{neighbours_} * 4);
    }
  }
  /// The atom nearest to the middle.
  std::uint32_t middle() const {
    double centre[3] = {0, 0, 0};
    for (std::size_t i = 0; i < x_.size(); ++i) centre[i % 3] += x_[i] / atoms();
    std::uint32_t best = 0;
    double least = 1e300;
    for (std::uint32_t i = 0; i < atoms(); ++i) {
      double away = 0;
      for (unsigned k = 0; k < 3; ++k) away += (x_[3 * i + k] - centre[k]) * (x_[3 * i + k] - centre[k]);
      if (away < least) least = away, best = i;
    }
    return best;
  }

 private:
  double square(std::uint32_t i, std::uint32_t j) const {
    double out = 0;
    for (unsigned k = 0; k < 3; ++k) out += (x_[3 * i + k] - x_[3 * j + k]) * (x_[3 * i + k] - x_[3 * j + k]);
    return out;
  }
  std::uint32_t neighbours_;
  std::vector<double> x_;
};

Task compute_forces(Process& me, const Crystal& crystal, ForceTimes* out) {
  co_await me.copy(true, crystal.bytes());
  const std::uint64_t base = me.device_offset(), blocks = me.look_at_device(node::kComputeBlocks);
  const double cutoff = 2.5;
  const std::uint64_t places = static_cast<std::uint64_t>(out->pairs) / crystal.atoms();
  const std::uint64_t arguments[] = {base + crystal.forces(),
                                     base,
                                     base + crystal.lengths(),
                                     base + crystal.lists(),
                                     crystal.atoms(),
                                     places,
                                     std::bit_cast<std::uint64_t>(cutoff)};
  for (std::uint64_t use = 1; use <= blocks; ++use) {
    me.write_device(node::kComputeUse, use);
    me.command(node::kComputeForces, arguments);
    co_await me.copy(false, crystal.bytes());
    WEFT_CHECK(me.look_at_device(node::kComputeStatus) == node::kComputeDoneWell, "forces can be computed");
    out->picoseconds.push_back(static_cast<double>(me.look_at_device(node::kComputeTime)));
  }
}

}  // namespace

ForceTimes force_times(const machine::Machine& machine, const std::string& device, unsigned neighbours) {
  const Crystal crystal(6, neighbours);
  Lab lab(machine, "ideal", {0});
  Process& process = lab.add(0, crystal.bytes());
  process.use_device(device);
  crystal.write(process.memory().data());
  ForceTimes out;
  out.pairs = static_cast<double>(crystal.atoms()) * neighbours;
  lab.start(process, compute_forces(process, crystal, &out));
  lab.run();
  const std::uint8_t* forces = process.memory().data() + crystal.forces();
  double force[3];
  std::memcpy(force, forces + std::size_t{crystal.middle()} * 24, 24);
  out.force_in_the_middle = std::sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2]);
  return out;
}

double device_put_latency_ns(const machine::Machine& machine, const DevicePair& pair, std::uint64_t bytes) {
  Bench bench(machine, pair, bytes);
  // Both ways alike: what the first sends as a sender, the second sends back as one.
  Side a{bench.a, pair.from_device, pair.to_device, bytes},
      b{bench.b, pair.from_device, pair.to_device, bytes};
  Rounds result;
  bench.lab.start(bench.a, ping_pong(a, b, true, &result));
  bench.lab.start(bench.b, ping_pong(b, a, false, &result));
  bench.lab.run();
  return nanoseconds(result) / 2 / kRounds;
}

double device_library_latency_ns(const machine::Machine& machine, const DevicePair& pair,
                                 std::uint64_t bytes) {
  Bench bench(machine, pair, bytes);
  Messenger a(bench.a), b(bench.b);
  Rounds result;
  bench.lab.start(bench.a, library_ping_pong(a, bench.b, bytes, true, &result));
  bench.lab.start(bench.b, library_ping_pong(b, bench.a, bytes, false, &result));
  bench.lab.run();
  return nanoseconds(result) / 2 / kRounds;
}

double device_put_bandwidth(const machine::Machine& machine, const DevicePair& pair, std::uint64_t bytes) {
  Bench bench(machine, pair, bytes);
  Side a{bench.a, pair.from_device, false, bytes}, b{bench.b, false, pair.to_device, bytes};
  Rounds result;
  bench.lab.start(bench.a, stream_sender(a, b, &result));
  bench.lab.start(bench.b, stream_receiver(b, a));
  bench.lab.run();
  // The first has come when the time begins.
  return static_cast<double>(bytes) * (kStream - 1) / (nanoseconds(result) * 1e-9);
}

}  // namespace weft::measure::lab
