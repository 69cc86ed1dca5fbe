// The packets of a run on the GPU engine, as its host knows them: what the traffic makes, ahead of time, and
// what has become of it.
#pragma once

#include <vector>

#include "network/gpu/backend.hpp"
#include "network/packet.hpp"

namespace weft::network::gpu {

class Packets {
 public:
  Packets(Backend& backend, Arena& arena, Network& network)
      : backend_(backend), arena_(arena), network_(network), next_(network.endpoints, kNever) {}

  /// Asks every endpoint when it makes its first packet.
  void start(Traffic& traffic);
  /// Asks the traffic for all packets up to a cycle and hands them to the network, with those of cycles from
  /// `now` on that it has been handed before and has not come to.
  void make(Traffic& traffic, Cycle now, Cycle until);
  /// How far to ask ahead from a cycle: far enough for a launch to be worth it, not so far that packets take
  /// much memory.
  Cycle ahead(Cycle now) const { return now + cycles_ahead_; }
  /// Tells of what has arrived since the last call.
  void hand_over(Observer& observer, u32 outcomes, Cycle now);
  /// Some packet has been in the network for more than so many cycles.
  bool older_than(Cycle age, Cycle now);

 private:
  struct Packet {
    EndpointId source = 0, destination = 0;
    std::uint16_t flits = 0;
    std::uint8_t message_class = 0;
    bool alive = false;
    Cycle created = 0;
    Tag tag = 0;
  };
  static constexpr u32 kFirstRoom = 1u << 14, kMostPackets = 1u << 27;
  static constexpr double kPacketsAhead = 400'000;

  u32 take_number();
  void make_room(u32 more);
  void add(EndpointId source, Cycle now, const NewPacket& made);

  Backend& backend_;
  Arena& arena_;
  Network& network_;
  std::vector<Cycle> next_;      // by endpoint: when it makes its next packet
  std::vector<Packet> packets_;  // by number
  std::vector<u32> free_;        // numbers
  u32 room_ = 0;                 // numbers the network has room for
  std::vector<Made> made_, kept_;
  std::vector<u32> begin_, end_;  // by endpoint, in `made_`
  std::vector<u32> due_;
  std::size_t made_room_ = 0, due_room_ = 0;
  std::vector<Outcome> outcomes_;
  std::vector<Delivery> deliveries_;
  Cycle cycles_ahead_ = 256;
};

}  // namespace weft::network::gpu
