// Channels of blocks, after TH Express-2 (section 5.2): a message is copied into blocks, and each block is
// put into one of the receiver's while the next is copied. Blocks are lent: a sender fills one, the receiver
// empties it and gives it back. In the shared channel a receiver's blocks are one pool; who uses up what he
// has gets more. In the exclusive channel every pair has a ring.
#include <string.h>

#include <algorithm>
#include <utility>

#include "mpi/transport.hpp"

namespace weft::mpi {

void Transport::make_blocks(Port& port, Blocks& blocks, unsigned count, unsigned rights) {
  if (blocks.memory) return;
  std::size_t bytes = std::size_t{model_.block} * count;
  blocks.memory.reset(new char[bytes]);
  if (port.register_memory(blocks.memory.get(), bytes, rights, blocks.key) != 0) return;
  ++sums_.registrations;
  made_blocks(port);
  for (unsigned i = 0; i < count; ++i) blocks.free.push_back(static_cast<std::uint16_t>(count - 1 - i));
}

void Transport::send_in_blocks(Port& port, std::uint32_t index, const EagerHead& head, unsigned flags,
                               const Buffer& buffer, std::uint32_t request) {
  Peer& peer = *peers_[index];
  make_blocks(port, send_blocks_, std::max(model_.ring_blocks, model_.credits_most), 0);
  const bool first = peer.waiting.empty();
  Waiting& w = peer.waiting.push();
  w.kind = Kind::Block;
  w.flags = flags;
  w.request = request;
  w.owner = 0;
  w.left = 0;
  w.message.resize(sizeof head + buffer.length);
  memcpy(w.message.data(), &head, sizeof head);
  buffer.read(0, w.message.data() + sizeof head, buffer.length);
  if (first && fill_blocks(port, peer, w)) return peer.waiting.pop_front();
  ++waiting_;
  if (peer.requested_blocks) return;
  // At first, and whenever all it has are filled.
  ++sums_.stalls;
  peer.requested_blocks = true;
  small(port, index, Kind::RequestBlocks, 0, nullptr, 0);
}

/// Copies and puts block by block; false where one is missing, here or there.
bool Transport::fill_blocks(Port& port, Peer& peer, Waiting& w) {
  while (w.left < w.message.size()) {
    if (peer.blocks.empty() || send_blocks_.free.empty()) {
      peer.starved |= peer.blocks.empty();
      return false;
    }
    fill_block(port, peer, w);
  }
  return true;
}

void Transport::fill_block(Port& port, Peer& peer, Waiting& w) {
  const std::uint16_t from = send_blocks_.free.back(), to = peer.blocks.front();
  send_blocks_.free.pop_back();
  peer.blocks.pop_front();
  const std::size_t bytes =
      std::min<std::size_t>(model_.block - sizeof(std::uint32_t), w.message.size() - w.left);
  char* block = send_blocks_.memory.get() + std::size_t{from} * model_.block;
  const auto count = static_cast<std::uint32_t>(bytes);
  memcpy(block, &count, sizeof count);
  memcpy(block + sizeof count, w.message.data() + w.left, bytes);
  copied(port, bytes, block_protocol());
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
  d.operand = block_word(next_tag(peer, first ? Kind::Block : Kind::BlockMore, flags, 0), to);
  d.context = std::uint64_t{from} << 32 | (last ? w.request : 0);
  port.post(d);
}

/// A peer wants blocks: as many as it starts with, from the pool or as a ring of its own.
void Transport::lend(Port& port, std::uint32_t index) {
  Peer& peer = *peers_[index];
  if (model_.eager == 2) {
    if (!peer.ring) {
      peer.ring = std::make_unique<Blocks>();
      make_blocks(port, *peer.ring, model_.ring_blocks, nic::kRemoteWrite);
      peer.emptied.assign(peer.ring->free.rbegin(), peer.ring->free.rend());
      peer.lent = model_.ring_blocks;
    }
  } else {
    make_blocks(port, pool_, model_.blocks, nic::kRemoteWrite);
    lend_more(peer, std::max(1u, model_.credits));
  }
  give_back(port, index, false);
}

/// From the pool, until the peer has so many or there are none.
void Transport::lend_more(Peer& peer, std::uint32_t most) {
  for (; peer.lent < most && !pool_.free.empty(); ++peer.lent) {
    peer.emptied.push_back(pool_.free.back());
    pool_.free.pop_back();
  }
}

/// Blocks go back to their sender when half of its are empty, or all at once where it has run out.
void Transport::give_back(Port& port, std::uint32_t index, bool starved) {
  Peer& peer = *peers_[index];
  if (starved && model_.eager == 1 && peer.lent < model_.credits_most && !pool_.free.empty()) {
    ++sums_.credits_grown;
    lend_more(peer, std::min(2 * peer.lent, model_.credits_most));
  }
  GrantHead head{model_.eager == 2 ? peer.ring->key : pool_.key};
  const std::size_t most = (limits_.message - sizeof head) / sizeof(std::uint16_t);
  do {
    std::size_t count = std::min(most, peer.emptied.size());
    counts(Protocol::Control, 0);
    small(port, index, Kind::Grant, 0, &head, sizeof head, peer.emptied.data(),
          count * sizeof(std::uint16_t));
    peer.emptied.erase(peer.emptied.begin(), peer.emptied.begin() + static_cast<std::ptrdiff_t>(count));
  } while (!peer.emptied.empty());
}

void Transport::granted(Port& port, std::uint32_t index, const nic::Message& m) {
  Peer& peer = *peers_[index];
  GrantHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  peer.block_key = head.key;
  for (std::size_t at = sizeof head; at + sizeof(std::uint16_t) <= m.length; at += sizeof(std::uint16_t)) {
    std::uint16_t block;
    memcpy(&block, m.data + at, sizeof block);
    peer.blocks.push_back(block);
  }
  if (m.length > sizeof head) return flush(port, index);
  refused_blocks(port, index);
}

/// All blocks of the peer's are lent to others: what waits goes in small messages, and so does all that
/// follows.
void Transport::refused_blocks(Port& port, std::uint32_t index) {
  Peer& peer = *peers_[index];
  peer.refused = true;
  Fifo<Waiting> waiting;
  std::swap(waiting, peer.waiting);
  waiting_ -= static_cast<unsigned>(waiting.size());
  for (; !waiting.empty(); waiting.pop_front()) {
    Waiting& w = waiting.front();
    if (w.kind == Kind::Block) {
      EagerHead eager;
      memcpy(&eager, w.message.data(), sizeof eager);
      const void* data = w.message.data() + sizeof eager;
      send_fragments(port, index, eager, w.flags, Buffer(data, eager.length), w.request);
    } else {
      small(port, index, w.kind, w.flags, w.data, w.length, nullptr, 0, w.request);
    }
    Request* owner = w.owner ? request_of(w.owner) : nullptr;
    if (!owner) continue;
    if (peer.waiting.empty()) {
      done(port, *owner);
    } else {
      peer.waiting.back().owner = w.owner;
    }
  }
}

void Transport::block_arrived(Port& port, std::uint32_t index, const nic::Message& m) {
  Peer& peer = *peers_[index];
  std::uint32_t block, bytes;
  memcpy(&block, m.data, sizeof block);
  Blocks* blocks = model_.eager == 2 ? peer.ring.get() : &pool_;
  if (!blocks || !blocks->memory || block >= (model_.eager == 2 ? model_.ring_blocks : model_.blocks)) return;
  const char* at = blocks->memory.get() + std::size_t{block} * model_.block;
  memcpy(&bytes, at, sizeof bytes);
  if (bytes > model_.block - sizeof bytes) return;
  const char* data = at + sizeof bytes;
  const unsigned flags = flags_of(m.tag);
  if (kind_of(m.tag) == Kind::Block) {
    EagerHead head;
    if (bytes < sizeof head) return;
    memcpy(&head, data, sizeof head);
    begin_in_block(port, index, flags, head, data + sizeof head, bytes - sizeof head);
  } else if (Incoming* in = peer.assembling) {
    more(port, peer, in, data, bytes);
  }
  peer.emptied.push_back(static_cast<std::uint16_t>(block));
  const bool starved = flags & kStarved;
  if (starved || peer.emptied.size() * 2 >= peer.lent) give_back(port, index, starved);
}

}  // namespace weft::mpi
