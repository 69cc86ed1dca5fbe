// What this process has agreed with each of its peers: order, credit, and small messages that wait for it.
#pragma once

#include <unordered_map>

#include "mpi/costs.hpp"

namespace weft::mpi {

class Pairs {
 public:
  /// `generation` tells this endpoint from those that had its port before.
  Pairs(const abi::MpiModel& model, Costs& costs, std::uint16_t generation)
      : model_(model), costs_(costs), generation_(generation) {}

  std::uint16_t generation() const { return generation_; }
  std::uint32_t peer_of_address(Address address);
  std::uint32_t count() const { return static_cast<std::uint32_t>(peers_.size()); }
  Peer& operator[](std::uint32_t index) { return *peers_[index]; }
  const Peer& operator[](std::uint32_t index) const { return *peers_[index]; }
  /// All that was agreed with the endpoint before is void. What came too early is the new one's: the port was
  /// closed when all of the old one's had arrived.
  void begin_anew(Peer& peer);

  /// `request`: 0, or who hears that it has arrived.
  void small(Port& port, std::uint32_t peer, Kind kind, unsigned flags, const void* head,
             std::size_t head_bytes, const void* data = nullptr, std::size_t bytes = 0,
             std::uint32_t request = 0);
  std::uint32_t next_tag(Peer& peer, Kind kind, unsigned flags, unsigned credits);

  // What waits at a peer, for credit or for blocks, in order. While anything does, the process is stalled.
  Waiting& wait(Port& port, Peer& peer);
  /// Sends a small message that waits; false where there is no credit for it.
  bool transmit_waiting(Port& port, Peer& peer, const Waiting& w);
  /// The first of it has left. Returns the send that is done by that, or 0.
  std::uint32_t first_has_left(Port& port, Peer& peer);
  Fifo<Waiting> take_waiting(Port& port, Peer& peer);
  /// Small messages and messages for blocks, at all peers.
  unsigned waiting() const { return waiting_; }

  /// Is it this message's turn? One that came before its turn is kept.
  bool is_next(Peer& peer, const nic::Message& m);
  /// One that was kept, if it is its turn now.
  bool next_of_early(Peer& peer, nic::Message& out);
  /// A receiver gives credit back when half of it is used up, and twice as much to those who had to wait for
  /// it.
  void consumed_one(Port& port, Peer& peer, bool starved);

 private:
  void transmit(Port& port, Peer& peer, const Waiting& w);
  void have_left(Port& port, unsigned count);

  const abi::MpiModel& model_;
  Costs& costs_;
  const std::uint16_t generation_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint64_t, std::uint32_t> peer_of_;
  unsigned waiting_ = 0;
  std::int64_t stalled_since_ = 0;
};

}  // namespace weft::mpi
