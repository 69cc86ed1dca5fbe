// The hop-by-hop link protocol: what one end of a cable does, as a sender and as a receiver.
//
// Flits given to it arrive at the other end once, in order and unchanged, whatever the wire does, as long as
// the link lives; when it dies, that is found out and said. An end belongs to its router's thread and touches
// only itself and its two wires, so the ends of a cable may be on different threads.
//
// In every cycle an end first receives, then takes a flit from its router where it is ready(), then
// transmits:
//
//   end.receive(now, wire_in, arrival);   // at most one flit for the router, and credits
//   if (end.ready(now)) end.offer(...);   // at most one flit from the router
//   end.transmit(now, wire_out);
//
// Cycles may be left out in which nothing arrives, its router has nothing for it, and which lie before the
// one it named in wakes_at().
#pragma once

#include <vector>

#include "network/link/wire.hpp"

namespace weft::network::link {

struct LinkSettings {
  unsigned flit_bytes = 16;
  unsigned channels = 4;
  unsigned flight = 1;     // cycles, one way
  unsigned window = 64;    // flits of the replay buffer
  unsigned timeout = 100;  // cycles
  unsigned max_retries = 16;
  unsigned beat = 1000;  // cycles
  unsigned missed_beats = 4;
  unsigned training = 1000;  // cycles
  unsigned lanes = 4, fewest_lanes = 2;
  std::vector<std::uint64_t> lane_rates{1};  // fastest first, in any unit
  unsigned interval = 256;                   // 1/256 cycles for a flit with all lanes at the fastest rate
  topology::Retry retry = topology::Retry::Packet;
  bool train_first = false;  // tests its lanes before it carries anything
};

/// A flit as a router knows it.
struct Flit {
  std::uint64_t entry = 0;  // of heads
  std::uint8_t channel = 0;
  bool head = false, tail = false;
};

/// What an end hands to its router in a cycle.
struct Arrival {
  bool has_flit = false;
  Flit flit;
  bool damaged = false;  // of a tail: the packet's payload is not what was sent ('header-footer')
  const std::uint8_t* bytes = nullptr;
  std::uint8_t credit_channel = 0;
  std::uint16_t credits = 0;
};

struct LinkCounters {
  std::uint64_t sent = 0;          // flits, for the first time
  std::uint64_t sent_again = 0;    // flits
  std::uint64_t accepted = 0;      // flits
  std::uint64_t refused = 0;       // flits damaged
  std::uint64_t control_lost = 0;  // control parts damaged
  std::uint64_t gone_back = 0;     // times, on request
  std::uint64_t timeouts = 0;      // times, because no answer came
  std::uint64_t trainings = 0, deaths = 0;
  std::uint64_t beats = 0;
  std::uint64_t damaged_packets = 0;  // handed up flagged

  LinkCounters& operator+=(const LinkCounters& other);
  bool operator==(const LinkCounters&) const = default;
};

enum class LinkState : std::uint8_t { Up, Training, Dead };

/// The sending half: keeps flits until they are acknowledged.
class Sender {
 public:
  explicit Sender(const LinkSettings& settings);
  bool has_room() const { return end_ - acknowledged_ < window_ && next_ == end_; }
  void offer(const Flit& flit, const std::uint8_t* bytes);
  bool has_next() const { return next_ != end_ || (again_ && acknowledged_ != next_); }
  /// Fills in the next flit to send, first or again; false where there is none.
  bool next(Cycle now, Frame& frame, const std::uint8_t*& bytes, LinkCounters& counters);
  /// Takes the other end's word; `now` starts the wait for the next.
  void acknowledge(Cycle now, const Control& control, LinkCounters& counters);
  /// Goes back when nothing has been heard for too long. True: too often in a row.
  bool check_time(Cycle now, LinkCounters& counters);
  /// After training: everything not acknowledged goes again.
  void start_again(Cycle now);
  std::uint16_t epoch() const { return epoch_; }
  bool idle() const { return acknowledged_ == end_; }
  bool exhausted() const { return retries_ > max_retries_; }
  /// When it will have waited too long for an answer, or kNever.
  Cycle times_out_at() const { return acknowledged_ == newest_ ? kNever : waiting_since_ + timeout_ + 1; }

 private:
  void go_back(Cycle now);
  FlitHeader& at(std::uint32_t sequence) { return ring_[sequence & mask_]; }

  std::uint32_t window_, mask_;
  unsigned flit_bytes_, timeout_, max_retries_;
  bool selective_;
  std::vector<FlitHeader> ring_;
  std::vector<std::uint8_t> bytes_;
  // acknowledged <= next <= end: sequence numbers of the first flit not acknowledged, of the next to go and
  // of the next to be taken. newest: first flit that was never sent.
  std::uint32_t acknowledged_ = 0, next_ = 0, end_ = 0, newest_ = 0;
  struct Chain {            // of the packet under way on a channel; flits of several channels may alternate
    std::uint32_t crc = 0;  // so far; in 'header-footer' mode of its payload only
    std::uint16_t index = 0;
  };
  std::vector<Chain> chains_;
  std::uint16_t epoch_ = 0;
  bool again_ = false;  // 'header-footer': the flit `acknowledged_` goes again, by itself
  unsigned retries_ = 0;
  Cycle waiting_since_ = 0;
};

/// The receiving half: takes flits in order, refuses damaged ones.
class Receiver {
 public:
  explicit Receiver(const LinkSettings& settings);
  /// A flit from the wire; true when `out` has one for the router.
  bool take(const FlitHeader& flit, const std::uint8_t* bytes, Arrival& out, LinkCounters& counters);
  /// 'header-footer': a flit that waited for the one before it; at most one in a cycle in all.
  bool take_held(Arrival& out, LinkCounters& counters);
  bool has_held() const { return selective_ && held_[expected_ & mask_].here; }
  void heard_epoch(std::uint16_t epoch) { peer_epoch_ = epoch; }
  void fill(Control& control) const;
  /// Has it anything new to say?
  bool wants_to_speak() const { return speak_; }
  void spoken() { speak_ = false; }

 private:
  void refuse();
  bool accept_packet_mode(const FlitHeader& flit, const std::uint8_t* bytes, LinkCounters& counters);
  bool hold(const FlitHeader& flit, const std::uint8_t* bytes, LinkCounters& counters);
  void hand_over(const FlitHeader& flit, Arrival& out) const;

  unsigned flit_bytes_;
  bool selective_;
  std::uint32_t expected_ = 0;
  std::vector<std::uint32_t> crc_;  // by channel: of the packet under way, or of its payload
  bool refused_ = false, speak_ = false;
  std::uint16_t refused_epoch_ = 0, peer_epoch_ = 0;
  // 'header-footer': flits behind one that is missing.
  struct Held {
    FlitHeader flit;
    bool here;
  };
  std::uint32_t mask_ = 0;
  std::vector<Held> held_;
  std::vector<std::uint8_t> held_bytes_;
};

class LinkEnd {
 public:
  explicit LinkEnd(const LinkSettings& settings);

  void receive(Cycle now, Wire& in, Arrival& out);
  /// Can it take a flit from its router in this cycle?
  bool ready(Cycle now) const {
    return state_ == LinkState::Up && sender_.has_room() && next_send_ <= now << 8;
  }
  void offer(const Flit& flit, const std::uint8_t* bytes) { sender_.offer(flit, bytes); }
  /// A flit of a channel has left the buffer behind this end.
  void credit(unsigned channel) {
    ++freed_[channel];
    dirty_ |= std::uint64_t{1} << channel;
  }
  /// Returns whether it has put something on the wire.
  bool transmit(Cycle now, Wire& out);
  /// After transmit() at `now`: the first cycle in which something happens here by itself, without a frame
  /// from the other end and without a flit or credit from its router.
  Cycle wakes_at(Cycle now) const;

  /// What it tells the other end about its node.
  void report(std::uint8_t health, std::uint16_t occupied) { health_ = health, occupied_ = occupied; }
  /// ... and was told.
  std::uint8_t peer_health() const { return peer_health_; }
  std::uint16_t peer_occupied() const { return peer_occupied_; }

  LinkState state() const { return state_; }
  const LaneSet& lanes() const { return lanes_; }
  /// Of the full rate, with the lanes that are up.
  double rate_share() const { return static_cast<double>(settings_.interval) / interval_; }
  /// 1/256 cycles that a flit takes with the lanes that are up.
  unsigned interval() const { return interval_; }
  const LinkCounters& counters() const { return counters_; }
  /// Everything sent has been acknowledged.
  bool idle() const { return sender_.idle(); }
  /// As after a flush: both ends forget what they have sent and count from 0. Lanes and state stay.
  void reset(Cycle now);

 private:
  void hear_training(Cycle now, const Training& training);
  void hear_control(Cycle now, const Control& control, Arrival& out);
  void start_training(Cycle now, std::uint32_t round);
  void try_going_up(Cycle now, bool peer_is_up);
  void check_life(Cycle now);
  Cycle patience() const { return Cycle{settings_.beat} * settings_.missed_beats; }
  bool wants_to_speak() const {
    return receiver_.wants_to_speak() || dirty_ || sender_.epoch() != told_epoch_;
  }
  void set_lanes(const LaneSet& lanes);
  bool send_training(Cycle now, Wire& out);
  void fill_control(Cycle now, Control& control, bool only_a_beat);

  LinkSettings settings_;
  Sender sender_;
  Receiver receiver_;
  LinkCounters counters_;
  LinkState state_ = LinkState::Up;
  LaneSet lanes_;
  unsigned interval_ = 256;
  Cycle next_send_ = 0;  // in 1/256 cycles
  Cycle last_heard_ = 0, last_spoken_ = 0;
  // Credits, both ways.
  std::vector<std::uint16_t> freed_, seen_;
  std::uint64_t dirty_ = 0;
  unsigned credit_turn_ = 0;
  std::uint16_t told_epoch_ = 0;
  // Training.
  std::uint32_t round_ = 0;  // the one under way, or the last completed
  Cycle training_since_ = 0;
  bool heard_ = false, peer_heard_ = false;
  Passing here_, there_;
  std::uint8_t health_ = 0, peer_health_ = 0;
  std::uint16_t occupied_ = 0, peer_occupied_ = 0;
};

}  // namespace weft::network::link
