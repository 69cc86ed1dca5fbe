// A cable with both its ends, driven without routers: for the tests of the link protocol.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "network/link/protocol.hpp"

namespace weft::network::link {

/// A link of eight lanes, ten cycles long.
inline LinkSettings small_link() {
  LinkSettings s;
  s.flight = 10;
  s.window = 64;
  s.timeout = 60;
  s.beat = 100;
  s.training = 200;
  s.lanes = 8;
  s.fewest_lanes = 4;
  s.lane_rates = {14, 10, 5};
  return s;
}

/// A side of the cable: makes packets, hands them to its end, checks what arrives from the other side.
/// Packets of different channels alternate flit by flit; those of one channel come one after the other.
class Side {
 public:
  Side(const LinkSettings& settings, std::uint64_t seed, std::uint64_t who, unsigned buffer)
      : end(settings),
        settings_(settings),
        seed_(seed),
        who_(who),
        buffer_(buffer),
        out_(settings.channels),
        in_(settings.channels) {}

  LinkEnd end;
  std::uint64_t packets_wanted = 0;  // makes so many and then no more
  unsigned longest_packet = 8;
  double load = 1;
  bool sleepy = false;  // leaves its end alone while that has nothing to do
  std::uint64_t packets_begun = 0, flits_made = 0;
  // What arrived here, checked against what the other side must have sent.
  std::uint64_t packets_here = 0, flits_here = 0, damaged_here = 0;
  Cycle last_arrival = 0;
  std::string problem;      // the first thing that was wrong
  std::uint64_t asked = 0;  // cycles in which its end was asked

  void step(Cycle now, Wire& in, Wire& out, const Side& peer) {
    const std::uint8_t* bytes;
    bool awake = !sleepy || now >= wakes_at_ || in.arriving(now, bytes);
    if (awake) {
      Arrival arrival;
      end.receive(now, in, arrival);
      if (arrival.credits) out_[arrival.credit_channel].used -= arrival.credits;
      if (arrival.has_flit) take(now, arrival, peer);
    }
    for (; !leaving_.empty() && leaving_.front().first <= now; leaving_.pop_front()) {
      end.credit(leaving_.front().second);
      awake = true;
    }
    awake |= send(now);
    if (!awake) return;
    end.transmit(now, out);
    wakes_at_ = end.wakes_at(now);
    ++asked;
  }

  bool credits_whole() const {
    for (const Out& out : out_)
      if (out.used != 0) return false;
    return true;
  }

 private:
  struct Out {
    std::uint64_t packet = 0;
    unsigned flit = 0;
    int used = 0;
  };
  struct In {
    std::uint64_t packet = 0;
    unsigned flit = 0;
    bool changed = false;
  };

  /// Packets of a channel are numbered; length and bytes follow from the number.
  unsigned flits_of(unsigned channel, std::uint64_t packet) const {
    return 1 + random_below(seed_, who_ + 10 * channel, packet, longest_packet);
  }
  const std::uint8_t* bytes_of(unsigned channel, std::uint64_t packet, unsigned flit,
                               std::vector<std::uint8_t>& bytes) const {
    bytes.resize(settings_.flit_bytes);
    std::uint64_t mixed =
        (packet * 64 + channel) * 0x9e3779b97f4a7c15u + flit * 0x2545f4914f6cdd1du + who_ * 77;
    for (std::uint8_t& byte : bytes) {
      mixed = mixed * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::uint8_t>(mixed >> 56);
    }
    return bytes.data();
  }

  bool send(Cycle now) {
    if (!end.ready(now)) return false;
    unsigned channel = random_below(seed_, who_ + 300, now, settings_.channels);
    Out* out = &out_[channel];
    if (out->flit == 0 && packets_begun == packets_wanted)  // no more: finish what is begun
      for (channel = 0; channel < out_.size(); ++channel)
        if (out = &out_[channel]; out->flit > 0 && out->used < static_cast<int>(buffer_)) break;
    if (channel == out_.size() || out->used >= static_cast<int>(buffer_)) return false;
    if (out->flit == 0) {
      bool now_ish =
          load >= 1 || static_cast<double>(random_bits(seed_, who_ + 100, now) >> 11) * 0x1p-53 < load;
      if (packets_begun == packets_wanted || !now_ish) return false;
      ++packets_begun;
    }
    unsigned flits = flits_of(channel, out->packet);
    Flit flit{out->packet, static_cast<std::uint8_t>(channel), out->flit == 0, out->flit + 1 == flits};
    end.offer(flit, bytes_of(channel, out->packet, out->flit, scratch_));
    ++out->used;
    ++flits_made;
    if (++out->flit == flits) out->flit = 0, ++out->packet;
    return true;
  }

  void take(Cycle now, const Arrival& arrival, const Side& peer) {
    unsigned channel = arrival.flit.channel;
    auto wrong = [&](const std::string& what) {
      if (problem.empty()) problem = what + " on channel " + std::to_string(channel);
    };
    if (channel >= in_.size()) return wrong("a flit from nowhere");
    In& in = in_[channel];
    unsigned flits = peer.flits_of(channel, in.packet);
    if (arrival.flit.head != (in.flit == 0)) wrong("a head out of place");
    if (arrival.flit.tail != (in.flit + 1 == flits)) wrong("a tail out of place");
    if (arrival.flit.head && arrival.flit.entry != in.packet) wrong("another packet's entry");
    const std::uint8_t* expected = peer.bytes_of(channel, in.packet, in.flit, scratch_);
    bool same = std::equal(expected, expected + settings_.flit_bytes, arrival.bytes);
    bool payload = !arrival.flit.head && !arrival.flit.tail;
    if (!same && !(payload && settings_.retry == topology::Retry::HeaderFooter)) wrong("other bytes");
    in.changed |= !same;
    leaving_.emplace_back(now + random_below(seed_, who_ + 200, now, 5), arrival.flit.channel);
    ++flits_here;
    last_arrival = now;
    ++in.flit;
    if (!arrival.flit.tail) return;
    if (arrival.damaged != in.changed) wrong(in.changed ? "damage not flagged" : "flagged without damage");
    damaged_here += arrival.damaged;
    in = {in.packet + 1, 0, false};
    ++packets_here;
  }

  LinkSettings settings_;
  std::uint64_t seed_, who_;
  unsigned buffer_;
  Cycle wakes_at_ = 0;
  std::vector<Out> out_;
  std::vector<In> in_;
  std::deque<std::pair<Cycle, std::uint8_t>> leaving_;
  std::vector<std::uint8_t> scratch_;
};

struct Bench {
  Bench(const LinkSettings& settings, double bit_error_rate, unsigned burst, std::uint64_t seed,
        unsigned buffer = 1'000'000, WireSettings wire = {})
      : a(settings, seed, 1, buffer), b(settings, seed, 2, buffer) {
    wire.flit_bytes = settings.flit_bytes;
    wire.flight = settings.flight;
    wire.lanes = settings.lanes;
    wire.rates = static_cast<unsigned>(settings.lane_rates.size());
    wire.bit_error_rate = bit_error_rate;
    wire.error_burst = burst;
    wire.seed = seed;
    wire.who = 11;
    a_to_b = std::make_unique<Wire>(wire);
    wire.who = 12;
    b_to_a = std::make_unique<Wire>(wire);
  }
  void step() {
    a.step(now, *b_to_a, *a_to_b, b);
    b.step(now, *a_to_b, *b_to_a, a);
    ++now;
  }
  void run(Cycle cycles) {
    for (Cycle end = now + cycles; now < end;) step();
  }
  bool done() const {
    return a.packets_here == b.packets_wanted && b.packets_here == a.packets_wanted && a.end.idle() &&
           b.end.idle();
  }
  /// False: not done within `limit` cycles.
  bool run_until_done(Cycle limit) {
    for (Cycle end = now + limit; now < end && !done();) step();
    return done();
  }
  std::string problem() const { return a.problem.empty() ? b.problem : a.problem; }

  Side a, b;
  std::unique_ptr<Wire> a_to_b, b_to_a;
  Cycle now = 0;
};

}  // namespace weft::network::link
