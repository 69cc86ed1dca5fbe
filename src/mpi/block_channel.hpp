// Channels of blocks, after TH Express-2 (section 5.2): a message is copied into blocks, and each block is
// put into one of the receiver's while the next is copied. Blocks are lent: a sender fills one, the receiver
// empties it and gives it back. In the shared channel a receiver's blocks are one pool; who uses up what he
// has gets more. In the exclusive channel every pair has a ring.
#pragma once

#include <optional>
#include <span>

#include "mpi/pairs.hpp"

namespace weft::mpi {

class BlockChannel {
 public:
  /// `message_limit`: bytes of a small message.
  BlockChannel(const abi::MpiModel& model, Costs& costs, Pairs& pairs, std::size_t message_limit)
      : model_(model), costs_(costs), pairs_(pairs), message_limit_(message_limit) {}

  bool used() const { return model_.eager != 0; }
  Protocol protocol() const { return model_.eager == 1 ? Protocol::Shared : Protocol::Exclusive; }
  void begin_anew(Peer& peer);

  // As a sender.
  void send(Port& port, std::uint32_t peer, const EagerHead& head, unsigned flags, const Buffer& buffer,
            std::uint32_t request);
  /// Copies and puts block by block; false where one is missing, here or there.
  bool fill(Port& port, Peer& peer, Waiting& w);
  /// A block that was sent from is free again.
  void sent_from(std::uint16_t block) { send_blocks_.free.push_back(block); }
  enum class Grant { None, Blocks, Refused };
  /// A peer lends blocks, or has none to lend.
  Grant granted(Peer& peer, const nic::Message& m);

  // As a receiver.
  /// A peer wants blocks: as many as it starts with, from the pool or as a ring of its own.
  void lend(Port& port, std::uint32_t peer);
  /// What lies in a block that a peer has filled.
  std::optional<std::span<const char>> contents(const Peer& peer, std::uint32_t block) const;
  void emptied(Port& port, std::uint32_t peer, std::uint32_t block, bool starved);

 private:
  void make(Port& port, Blocks& blocks, unsigned count, unsigned rights);
  void fill_one(Port& port, Peer& peer, Waiting& w);
  void lend_more(Peer& peer, std::uint32_t most);
  void give_back(Port& port, std::uint32_t peer, bool starved);

  const abi::MpiModel& model_;
  Costs& costs_;
  Pairs& pairs_;
  const std::size_t message_limit_;
  Blocks pool_, send_blocks_;  // lent to others, and used here to send from
};

}  // namespace weft::mpi
