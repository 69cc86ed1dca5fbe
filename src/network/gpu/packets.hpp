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
  /// Asks the traffic for all packets up to a cycle.
  void draw(Traffic& traffic, Cycle until);
  Cycle drawn_to() const { return drawn_to_; }
  /// How far to draw from a cycle on: far enough for a launch to be worth it, not so far that packets take
  /// much memory.
  Cycle ahead(Cycle from) const { return from + cycles_ahead_; }
  /// Hands the network what has been drawn, and what it was handed before of cycles from `now` on.
  void hand_in(Cycle now);

  // What has become of them, in two steps, the second of which may be taken while the network runs.
  void fetch(u32 outcomes, Cycle now);
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
    std::vector<Made> made;      // handed in, by endpoint and time
    std::vector<Made> scratch;
    std::size_t first_number = 0;  // of those drawn, in free_
    std::size_t place = 0;         // of its first in the network's array
    std::vector<u32> due;
    std::vector<Delivery> deliveries;
  };
  static constexpr u32 kFirstRoom = 1u << 14, kMostPackets = 1u << 27;
  /// Packets for a launch: handing in looks at every endpoint, so there must be some for each of them.
  static constexpr double kPacketsAhead = 1'000'000, kPacketsAheadEach = 4;

  void make_room(std::size_t numbers);
  void take_numbers();
  void merge(Share& share, Cycle now);
  void place(Share& share, Cycle now);
  template <class T>
  void upload(const T*& at, std::size_t& room, const std::vector<T>& values);

  Backend& backend_;
  Arena& arena_;
  Network& network_;
  const unsigned threads_;
  std::vector<Share> shares_;
  std::vector<Cycle> next_;       // by endpoint: when it makes its next packet
  std::vector<u32> drawn_end_;    // by endpoint: in Share::drawn
  std::vector<u32> begin_, end_;  // by endpoint: in the network's array
  std::vector<Packet> packets_;   // by number
  std::vector<u32> free_;         // numbers
  u32 room_ = 0;                  // numbers the network has room for
  std::vector<Made> made_;
  std::vector<u32> due_;
  std::size_t made_room_ = 0, due_room_ = 0;
  std::vector<Outcome> outcomes_;
  Cycle outcomes_at_ = 0, drawn_to_ = 0, cycles_ahead_ = 256;
};

}  // namespace weft::network::gpu
