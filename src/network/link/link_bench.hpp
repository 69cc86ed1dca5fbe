// A cable with both its ends, driven without routers: for the tests of the link protocol.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "network/link/protocol.hpp"

namespace weft::network::link {

/// A side of the cable: makes packets, hands them to its end, checks what arrives from the other side.
class Side {
 public:
  Side(const LinkSettings& settings, std::uint64_t seed, std::uint64_t who, unsigned buffer)
      : end(settings),
        settings_(settings),
        seed_(seed),
        who_(who),
        buffer_(buffer),
        used_(settings.channels) {}

  LinkEnd end;
  std::uint64_t packets_wanted = 0;  // makes so many and then no more
  unsigned longest_packet = 8;
  double load = 1;
  std::uint64_t packets_begun = 0, flits_made = 0;
  // What arrived here, checked against what the other side must have sent.
  std::uint64_t packets_here = 0, flits_here = 0, damaged_here = 0, flits_changed = 0;
  std::string problem;  // the first thing that was wrong

  void step(Cycle now, Wire& in, Wire& out, std::uint64_t peer) {
    Arrival arrival;
    end.receive(now, in, arrival);
    if (arrival.credits) used_[arrival.credit_channel] -= arrival.credits;
    if (arrival.has_flit) take(now, arrival, peer);
    while (!leaving_.empty() && leaving_.front().first <= now) {
      end.credit(leaving_.front().second);
      leaving_.pop_front();
    }
    send(now);
    end.transmit(now, out);
  }

  unsigned flits_of(std::uint64_t packet, std::uint64_t who) const {
    return 1 + random_below(seed_, who, packet * 4, longest_packet);
  }
  unsigned channel_of(std::uint64_t packet, std::uint64_t who) const {
    return random_below(seed_, who, packet * 4 + 1, settings_.channels);
  }
  bool credits_whole() const {
    for (int used : used_)
      if (used != 0) return false;
    return true;
  }
  std::uint64_t who() const { return who_; }

 private:
  void fill(std::vector<std::uint8_t>& bytes, std::uint64_t who, std::uint64_t packet, unsigned flit) const {
    bytes.resize(settings_.flit_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(
          (packet * 0x9e3779b97f4a7c15u + flit * 0x51ed2701u + who * 77 + i * 0x2545f491u) >> 13);
  }

  void send(Cycle now) {
    if (flit_ == 0) {
      bool wanted = packets_begun < packets_wanted;
      bool now_ish =
          load >= 1 || static_cast<double>(random_bits(seed_, who_ + 100, now) >> 11) * 0x1p-53 < load;
      if (!wanted || !now_ish) return;
    }
    unsigned channel = channel_of(packets_begun, who_);
    if (!end.ready(now) || used_[channel] >= static_cast<int>(buffer_)) return;
    unsigned flits = flits_of(packets_begun, who_);
    Flit flit{packets_begun, static_cast<std::uint8_t>(channel), flit_ == 0, flit_ + 1 == flits};
    fill(scratch_, who_, packets_begun, flit_);
    end.offer(flit, scratch_.data());
    ++used_[channel];
    ++flits_made;
    if (++flit_ == flits) flit_ = 0, ++packets_begun;
  }

  void take(Cycle now, const Arrival& arrival, std::uint64_t peer) {
    auto wrong = [&](const std::string& what) {
      if (problem.empty()) problem = what + " in packet " + std::to_string(packets_here);
    };
    unsigned flits = flits_of(packets_here, peer);
    if (arrival.flit.head != (here_ == 0)) wrong("a head out of place");
    if (arrival.flit.tail != (here_ + 1 == flits)) wrong("a tail out of place");
    if (arrival.flit.head && arrival.flit.entry != packets_here) wrong("another packet's entry");
    if (arrival.flit.channel != channel_of(packets_here, peer)) wrong("another channel");
    fill(scratch_, peer, packets_here, here_);
    bool same = std::equal(scratch_.begin(), scratch_.end(), arrival.bytes);
    bool payload = !arrival.flit.head && !arrival.flit.tail;
    if (!same && !(payload && settings_.retry == topology::Retry::HeaderFooter)) wrong("other bytes");
    changed_ |= !same;
    flits_changed += !same;
    leaving_.emplace_back(now + random_below(seed_, who_ + 200, now, 5), arrival.flit.channel);
    ++flits_here;
    ++here_;
    if (!arrival.flit.tail) return;
    if (arrival.damaged != changed_) wrong(changed_ ? "damage not flagged" : "flagged without damage");
    damaged_here += arrival.damaged;
    changed_ = false;
    here_ = 0;
    ++packets_here;
  }

  LinkSettings settings_;
  std::uint64_t seed_, who_;
  unsigned buffer_;
  std::vector<int> used_;
  unsigned flit_ = 0, here_ = 0;
  bool changed_ = false;
  std::deque<std::pair<Cycle, std::uint8_t>> leaving_;
  std::vector<std::uint8_t> scratch_;
};

struct Bench {
  Bench(const LinkSettings& settings, double bit_error_rate, unsigned burst, std::uint64_t seed,
        unsigned buffer = 1'000'000)
      : a(settings, seed, 1, buffer), b(settings, seed, 2, buffer) {
    WireSettings wire;
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
    a.step(now, *b_to_a, *a_to_b, b.who());
    b.step(now, *a_to_b, *b_to_a, a.who());
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
