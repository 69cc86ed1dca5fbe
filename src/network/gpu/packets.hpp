// The packets of a run on the GPU engine, as its host knows them: what the traffic makes, ahead of time, and
// what has become of it.
#pragma once

#include <vector>

#include "network/gpu/backend.hpp"
#include "network/packet.hpp"

namespace weft::network::gpu {

class Packets {
 public:
  /// `threads`: of the host, each for a share of the endpoints.
  Packets(Backend& backend, Arena& arena, Network& network, unsigned threads);

  /// Asks every endpoint when it makes its first packet.
  void start(Traffic& traffic);

  // What is made, in two steps. The first may be taken while the network runs.
  /// Asks the traffic for all packets up to a cycle, and makes them ready for the network.
  void draw(Traffic& traffic, Cycle until);
  /// There is something the network has not been handed.
  bool drawn_ahead() const { return drawn_to_ > handed_to_; }
  Cycle handed_to() const { return handed_to_; }
  /// How far to draw from a cycle on: far enough for a launch to be worth it, not so far that packets take
  /// much memory.
  Cycle ahead(Cycle from) const { return from + cycles_ahead_; }
  /// Hands the network what has been drawn, unless it is still far from the end of what it was handed before.
  bool hand_in(Cycle now);

  // What has become of them, in two steps, the second of which may be taken while the network runs again.
  void take_outcomes(u32 count, Cycle now);
  void tell(const std::vector<Observer*>& observers);

  /// Some packet has been in a router for more than so many cycles.
  bool older_than(Cycle age, Cycle now) const;

 private:
  struct Packet {
    EndpointId source = 0, destination = 0;
    std::uint16_t flits = 0;
    std::uint8_t message_class = 0;
    Remainder remainder = 0;
    Cycle created = 0;
    Tag tag = 0;
  };
  /// A thread's endpoints, and what they have made and the network does not know yet.
  struct Share {
    EndpointId begin = 0, end = 0;
    std::vector<Packet> drawn;
    std::vector<Cycle> in_vain;  // cycles in which one was asked and made nothing: something happens in them
    std::size_t first_number = 0;      // of those drawn, in free_
    std::size_t count = 0, place = 0;  // of its packets in a segment
    std::vector<u32> due;
    std::vector<Delivery> deliveries;
  };
  /// What the network is handed at once, here and there: packets by endpoint and time from `from` on, the
  /// cycles in which some are made. There are two: one that the network works on, one that is made ready.
  struct Segment {
    explicit Segment(Backend& backend) : made(backend), begin(backend), end(backend), due(backend) {}
    Cycle from = 0;
    HostArray<Made> made;
    HostArray<u32> begin, end;  // by endpoint: in `made`
    HostArray<u32> due;
    Made* there_made = nullptr;
    u32 *there_begin = nullptr, *there_end = nullptr, *there_due = nullptr;
    std::size_t made_room = 0, due_room = 0;
  };
  static constexpr u32 kFirstRoom = 1u << 14, kMostPackets = 1u << 27;
  /// Packets for a launch: handing in looks at every endpoint, so there must be some for each of them.
  static constexpr double kPacketsAhead = 500'000, kPacketsAheadEach = 1;

  void make_room(std::size_t numbers);
  void take_numbers();
  void make_ready(Cycle until);
  void count(Share& share, const Segment& before, Segment& next);
  void place(Share& share, const Segment& before, Segment& next);
  template <class T>
  void upload(T*& at, std::size_t& room, const HostArray<T>& values);

  Backend& backend_;
  Arena& arena_;
  Network& network_;
  const unsigned threads_;
  std::vector<Share> shares_;
  std::vector<Cycle> next_;      // by endpoint: when it makes its next packet
  std::vector<u32> drawn_end_;   // by endpoint: in Share::drawn
  std::vector<Packet> packets_;  // by number
  std::vector<u32> free_;        // numbers
  u32 room_ = 0;                 // numbers the network has room for
  Segment segments_[2];
  unsigned handed_ = 0;  // the segment the network works on
  HostArray<Outcome> outcomes_;
  Outcome* there_outcomes_ = nullptr;  // of the launch before, where the network does not write
  u32 outcome_count_ = 0;
  Cycle outcomes_at_ = 0, drawn_to_ = 0, handed_to_ = 0, cycles_ahead_ = 256;
};

}  // namespace weft::network::gpu
