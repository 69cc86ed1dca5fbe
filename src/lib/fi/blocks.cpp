// Channels of blocks, after TH Express-2 (section 5.2): a message is copied into blocks, and each block is
// put into one of the receiver's while the next is copied. Blocks are lent: a sender fills one, the receiver
// empties it and gives it back. In the shared channel a receiver's blocks are one pool; who uses up what he
// has gets more. In the exclusive channel every pair has a ring.
#include <string.h>

#include <algorithm>
#include <utility>

#include "lib/fi/engine.hpp"

namespace weft::fi {

using host::Lane;
using host::Protocol;

void Engine::make_blocks(Blocks& blocks, unsigned count, unsigned rights) {
  if (blocks.memory) return;
  std::size_t bytes = std::size_t{model.block} * count;
  blocks.memory.reset(new char[bytes]);
  if (weft_register_anywhere(port, blocks.memory.get(), bytes, rights, &blocks.registered) != 0) return;
  ++sums.registrations;
  lib::found_something();
  for (unsigned i = 0; i < count; ++i) blocks.free.push_back(static_cast<std::uint16_t>(count - 1 - i));
}

void Engine::send_in_blocks(Lane& lane, std::uint32_t index, const EagerHead& head, unsigned flags,
                            const Buffer& buffer, std::uint32_t request) {
  Peer& peer = *peers_[index];
  make_blocks(send_blocks_, std::max(model.ring_blocks, model.credits_most), 0);
  Waiting w{};
  w.kind = Kind::Block;
  w.flags = flags;
  w.request = request;
  w.message.resize(sizeof head + buffer.length);
  memcpy(w.message.data(), &head, sizeof head);
  buffer.read(0, w.message.data() + sizeof head, buffer.length);
  if (peer.waiting.empty() && fill_blocks(lane, peer, w)) return;
  peer.waiting.push_back(std::move(w));
  ++waiting_;
  if (peer.asked) return;
  // At first, and whenever all it has are filled.
  ++sums.stalls;
  peer.asked = true;
  small(lane, index, Kind::Ask, 0, nullptr, 0);
}

/// Copies and puts block by block; false where one is missing, here or there.
bool Engine::fill_blocks(Lane& lane, Peer& peer, Waiting& w) {
  Protocol protocol = block_protocol();
  while (w.left < w.message.size()) {
    if (peer.blocks.empty() || send_blocks_.free.empty()) {
      peer.starved |= peer.blocks.empty();
      return false;
    }
    std::uint16_t from = send_blocks_.free.back(), to = peer.blocks.front();
    send_blocks_.free.pop_back();
    peer.blocks.pop_front();
    std::size_t bytes = std::min<std::size_t>(model.block - sizeof(std::uint32_t), w.message.size() - w.left);
    char* block = send_blocks_.memory.get() + std::size_t{from} * model.block;
    auto count = static_cast<std::uint32_t>(bytes);
    memcpy(block, &count, sizeof count);
    memcpy(block + sizeof count, w.message.data() + w.left, bytes);
    copied(lane, bytes, protocol);
    bool first = w.left == 0;
    w.left += bytes;
    unsigned flags = w.flags | (peer.starved ? kStarved : 0);
    peer.starved = false;
    nic::Descriptor d;
    d.operation = nic::Operation::Put;
    d.flags = nic::kNotifyLocal | nic::kNotifyRemote;
    bool last = w.left == w.message.size();
    if (last && w.request) d.flags |= nic::kNotifyDone;
    d.node = peer.address.node;
    d.port = peer.address.port;
    d.remote_key = peer.block_key;
    d.remote_offset = std::uint64_t{to} * model.block;
    d.local_key = send_blocks_.registered.key;
    d.local_offset = std::uint64_t{from} * model.block;
    d.length = bytes + sizeof count;
    d.operand = block_word(next_tag(peer, first ? Kind::Block : Kind::BlockMore, flags, 0), to);
    d.context = std::uint64_t{from} << 32 | (last ? w.request : 0);
    post(lane, d);
  }
  return true;
}

/// A peer wants blocks: as many as it starts with, from the pool or as a ring of its own.
void Engine::lend(Lane& lane, std::uint32_t index) {
  Peer& peer = *peers_[index];
  if (model.eager == 2) {
    if (!peer.ring) {
      peer.ring = std::make_unique<Blocks>();
      make_blocks(*peer.ring, model.ring_blocks, WEFT_REMOTE_WRITE);
      peer.emptied.assign(peer.ring->free.rbegin(), peer.ring->free.rend());
      peer.lent = model.ring_blocks;
    }
  } else {
    make_blocks(pool_, model.blocks, WEFT_REMOTE_WRITE);
    lend_more(peer, std::max(1u, model.credits));
  }
  give_back(lane, index, false);
}

/// From the pool, until the peer has so many or there are none.
void Engine::lend_more(Peer& peer, std::uint32_t most) {
  for (; peer.lent < most && !pool_.free.empty(); ++peer.lent) {
    peer.emptied.push_back(pool_.free.back());
    pool_.free.pop_back();
  }
}

/// Blocks go back to their sender when half of its are empty, or all at once where it has run out.
void Engine::give_back(Lane& lane, std::uint32_t index, bool starved) {
  Peer& peer = *peers_[index];
  if (starved && model.eager == 1 && peer.lent < model.credits_most && !pool_.free.empty()) {
    ++sums.credits_grown;
    lend_more(peer, std::min(2 * peer.lent, model.credits_most));
  }
  GrantHead head{model.eager == 2 ? peer.ring->registered.key : pool_.registered.key};
  std::size_t most = (small_limit_ - sizeof head) / sizeof(std::uint16_t);
  do {
    std::size_t count = std::min(most, peer.emptied.size());
    ++sums.protocol[static_cast<unsigned>(Protocol::Control)].count;
    small(lane, index, Kind::Grant, 0, &head, sizeof head, peer.emptied.data(),
          count * sizeof(std::uint16_t));
    peer.emptied.erase(peer.emptied.begin(), peer.emptied.begin() + static_cast<std::ptrdiff_t>(count));
  } while (!peer.emptied.empty());
}

void Engine::granted(Lane& lane, std::uint32_t index, const nic::Message& m) {
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
  if (m.length > sizeof head) return flush(lane, index);
  // All its blocks are lent to others: what waits goes in small messages, and so does all that follows.
  peer.refused = true;
  std::deque<Waiting> waiting = std::exchange(peer.waiting, {});
  waiting_ -= static_cast<unsigned>(waiting.size());
  for (Waiting& w : waiting) {
    if (w.kind == Kind::Block) {
      EagerHead eager;
      memcpy(&eager, w.message.data(), sizeof eager);
      const void* data = w.message.data() + sizeof eager;
      send_fragments(lane, index, eager, w.flags, Buffer(data, eager.length), w.request);
    } else {
      small(lane, index, w.kind, w.flags, w.data, w.length, nullptr, 0, w.request);
    }
    Request* owner = w.owner ? request_of(w.owner) : nullptr;
    if (!owner) continue;
    if (peer.waiting.empty()) {
      done(lane, *owner);
    } else {
      peer.waiting.back().owner = w.owner;
    }
  }
}

void Engine::block_arrived(Lane& lane, std::uint32_t index, const nic::Message& m) {
  Peer& peer = *peers_[index];
  std::uint32_t block, bytes;
  memcpy(&block, m.data, sizeof block);
  Blocks* blocks = model.eager == 2 ? peer.ring.get() : &pool_;
  if (!blocks || !blocks->memory || block >= (model.eager == 2 ? model.ring_blocks : model.blocks)) return;
  const char* at = blocks->memory.get() + std::size_t{block} * model.block;
  memcpy(&bytes, at, sizeof bytes);
  if (bytes > model.block - sizeof bytes) return;
  const char* data = at + sizeof bytes;
  unsigned flags = flags_of(m.tag);
  if (kind_of(m.tag) == Kind::Block) {
    EagerHead head;
    if (bytes < sizeof head) return;
    memcpy(&head, data, sizeof head);
    begin(lane, new_incoming(index, flags, head, block_protocol()), data + sizeof head, bytes - sizeof head);
  } else if (Incoming* in = peer.assembling) {
    more(lane, peer, in, data, bytes);
  }
  peer.emptied.push_back(static_cast<std::uint16_t>(block));
  bool starved = flags & kStarved;
  if (starved || peer.emptied.size() * 2 >= peer.lent) give_back(lane, index, starved);
}

}  // namespace weft::fi
