#include "mpi/block_channel.hpp"

#include <string.h>

#include <algorithm>
#include <utility>

namespace weft::mpi {

void BlockChannel::begin_anew(Peer& peer) {
  peer.requested_blocks = peer.refused = false;
  peer.block_key = 0;
  peer.blocks.clear();
  // A ring is whole again. Which blocks of the pool the old one had nobody knows: they are lost to it.
  peer.emptied.clear();
  for (unsigned i = 0; peer.ring && i < model_.ring_blocks; ++i)
    peer.emptied.push_back(static_cast<std::uint16_t>(i));
  peer.lent = static_cast<std::uint32_t>(peer.emptied.size());
}

void BlockChannel::make(Port& port, Blocks& blocks, unsigned count, unsigned rights) {
  if (blocks.memory) return;
  std::size_t bytes = std::size_t{model_.block} * count;
  blocks.memory.reset(new char[bytes]());  // one that nobody has filled is empty, whatever a message says
  if (port.register_memory(blocks.memory.get(), bytes, rights, blocks.key) != 0) return;
  ++costs_.sums().registrations;
  for (unsigned i = 0; i < count; ++i) blocks.free.push_back(static_cast<std::uint16_t>(count - 1 - i));
}

void BlockChannel::send(Port& port, std::uint32_t index, const EagerHead& head, unsigned flags,
                        const Buffer& buffer, std::uint32_t request) {
  Peer& peer = pairs_[index];
  make(port, send_blocks_, std::max(model_.ring_blocks, model_.credits_most), 0);
  const bool first = peer.waiting.empty();
  Waiting& w = pairs_.wait(port, peer);
  w.kind = Kind::Block;
  w.flags = flags;
  w.request = request;
  w.owner = 0;
  w.mark = port.mark;
  w.left = 0;
  w.message.resize(sizeof head + buffer.length);
  memcpy(w.message.data(), &head, sizeof head);
  buffer.read(0, w.message.data() + sizeof head, buffer.length);
  if (first && fill(port, peer, w)) {
    pairs_.first_has_left(port, peer);
    return;
  }
  if (peer.requested_blocks) return;
  // At first, and whenever all it has are filled.
  ++costs_.sums().stalls;
  peer.requested_blocks = true;
  pairs_.small(port, index, Kind::RequestBlocks, 0, nullptr, 0);
}

bool BlockChannel::fill(Port& port, Peer& peer, Waiting& w) {
  while (w.left < w.message.size()) {
    if (peer.blocks.empty() || send_blocks_.free.empty()) {
      peer.starved |= peer.blocks.empty();
      return false;
    }
    fill_one(port, peer, w);
  }
  return true;
}

void BlockChannel::fill_one(Port& port, Peer& peer, Waiting& w) {
  const std::uint16_t from = send_blocks_.free.back(), to = peer.blocks.front();
  send_blocks_.free.pop_back();
  peer.blocks.pop_front();
  const std::size_t bytes =
      std::min<std::size_t>(model_.block - sizeof(std::uint32_t), w.message.size() - w.left);
  char* block = send_blocks_.memory.get() + std::size_t{from} * model_.block;
  const auto count = static_cast<std::uint32_t>(bytes);
  memcpy(block, &count, sizeof count);
  memcpy(block + sizeof count, w.message.data() + w.left, bytes);
  costs_.copied(port, bytes, protocol());
  const bool first = w.left == 0;
  w.left += bytes;
  const unsigned flags = w.flags | (peer.starved ? kStarved : 0);
  peer.starved = false;
  nic::Descriptor d;
  d.operation = nic::Operation::Put;
  d.flags = nic::kNotifyLocal | nic::kNotifyRemote;
  const bool last = w.left == w.message.size();
  if (last && w.request) d.flags |= nic::kNotifyDone;
  d.node = peer.address.node;
  d.port = peer.address.port;
  d.remote_key = peer.block_key;
  d.remote_offset = std::uint64_t{to} * model_.block;
  d.local_key = send_blocks_.key;
  d.local_offset = std::uint64_t{from} * model_.block;
  d.length = bytes + sizeof count;
  d.spare[4] = w.mark;
  d.operand = block_word(pairs_.next_tag(peer, first ? Kind::Block : Kind::BlockMore, flags, 0), to);
  d.context = std::uint64_t{from} << 32 | (last ? w.request : 0);
  port.post(d);
}

void BlockChannel::lend(Port& port, std::uint32_t index) {
  Peer& peer = pairs_[index];
  if (model_.eager == 2) {
    if (!peer.ring) {
      peer.ring = std::make_unique<Blocks>();
      make(port, *peer.ring, model_.ring_blocks, nic::kRemoteWrite);
      peer.emptied.assign(peer.ring->free.rbegin(), peer.ring->free.rend());
      peer.lent = model_.ring_blocks;
    }
  } else {
    make(port, pool_, model_.blocks, nic::kRemoteWrite);
    lend_more(peer, std::max(1u, model_.credits));
  }
  give_back(port, index, false);
}

/// From the pool, until the peer has so many or there are none.
void BlockChannel::lend_more(Peer& peer, std::uint32_t most) {
  for (; peer.lent < most && !pool_.free.empty(); ++peer.lent) {
    peer.emptied.push_back(pool_.free.back());
    pool_.free.pop_back();
  }
}

/// Blocks go back to their sender when half of its are empty, or all at once where it has run out.
void BlockChannel::give_back(Port& port, std::uint32_t index, bool starved) {
  Peer& peer = pairs_[index];
  if (starved && model_.eager == 1 && peer.lent < model_.credits_most && !pool_.free.empty()) {
    ++costs_.sums().credits_grown;
    lend_more(peer, std::min(2 * peer.lent, model_.credits_most));
  }
  GrantHead head{model_.eager == 2 ? peer.ring->key : pool_.key};
  const std::size_t most = (message_limit_ - sizeof head) / sizeof(std::uint16_t);
  do {
    std::size_t count = std::min(most, peer.emptied.size());
    costs_.counts(Protocol::Control, 0);
    pairs_.small(port, index, Kind::Grant, 0, &head, sizeof head, peer.emptied.data(),
                 count * sizeof(std::uint16_t));
    peer.emptied.erase(peer.emptied.begin(), peer.emptied.begin() + static_cast<std::ptrdiff_t>(count));
  } while (!peer.emptied.empty());
}

BlockChannel::Grant BlockChannel::granted(Peer& peer, const nic::Message& m) {
  GrantHead head;
  if (m.length < sizeof head) return Grant::None;
  memcpy(&head, m.data, sizeof head);
  peer.block_key = head.key;
  for (std::size_t at = sizeof head; at + sizeof(std::uint16_t) <= m.length; at += sizeof(std::uint16_t)) {
    std::uint16_t block;
    memcpy(&block, m.data + at, sizeof block);
    peer.blocks.push_back(block);
  }
  return m.length > sizeof head ? Grant::Blocks : Grant::Refused;
}

std::optional<std::span<const char>> BlockChannel::contents(const Peer& peer, std::uint32_t block) const {
  const Blocks* blocks = model_.eager == 2 ? peer.ring.get() : &pool_;
  if (!blocks || !blocks->memory || block >= (model_.eager == 2 ? model_.ring_blocks : model_.blocks))
    return std::nullopt;
  const char* at = blocks->memory.get() + std::size_t{block} * model_.block;
  std::uint32_t bytes;
  memcpy(&bytes, at, sizeof bytes);
  if (bytes > model_.block - sizeof bytes) return std::nullopt;
  return std::span<const char>(at + sizeof bytes, bytes);
}

void BlockChannel::emptied(Port& port, std::uint32_t index, std::uint32_t block, bool starved) {
  Peer& peer = pairs_[index];
  peer.emptied.push_back(static_cast<std::uint16_t>(block));
  if (starved || peer.emptied.size() * 2 >= peer.lent) give_back(port, index, starved);
}

}  // namespace weft::mpi
