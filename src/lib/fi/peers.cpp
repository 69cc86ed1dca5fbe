// Whom an endpoint talks to: names, addresses, and endpoints that have taken the place of others.
#include <algorithm>
#include <utility>

#include "lib/fi/engine.hpp"

namespace weft::fi {

std::uint32_t Engine::peer_of_address(weft_address address) {
  std::uint64_t key = std::uint64_t{address.node} << 32 | address.port;
  auto [found, fresh] = peer_of_.try_emplace(key, static_cast<std::uint32_t>(peers_.size()));
  if (fresh) {
    auto peer = std::make_unique<Peer>();
    peer->address = address;
    peer->credits = peer->granted = model.credits;
    peers_.push_back(std::move(peer));
  }
  return found->second;
}

std::uint32_t Engine::peer_of_handle(std::uint64_t handle) {
  const std::vector<Name>& names = endpoint.av->names;
  if (handle >= names.size() || names[handle].magic != kNameMagic)
    return kAnyPeer;  // removed, or never there
  if (handle < peer_of_handle_.size() && peer_of_handle_[handle] != kAnyPeer) return peer_of_handle_[handle];
  if (handle >= peer_of_handle_.size()) peer_of_handle_.resize(names.size(), kAnyPeer);
  const Name& name = names[handle];
  std::uint32_t index = peer_of_address(name.address);
  Peer& peer = *peers_[index];
  // What the one before sent lies in the rings: its port was closed when all of that had arrived.
  if (peer.known && peer.generation != name.generation) progress(*fi::lane());
  know(index, name.generation);
  peer.handle = handle;
  peer.rank = name.rank;
  peer.memory_port = name.memory_port;
  peer.hears_of = name.hears_of;
  return peer_of_handle_[handle] = index;
}

Name Engine::name() const {
  Name name{kNameMagic, port->self, port->header->rank, port->self.port, generation_, 0};
  if (const weft_port* memory = endpoint.domain->memory_port) name.memory_port = memory->self.port;
  if (endpoint.caps & FI_RMA_EVENT) {
    if (endpoint.caps & FI_REMOTE_WRITE) name.hears_of |= kHearsOfWrites;
    if (endpoint.caps & FI_REMOTE_READ) name.hears_of |= kHearsOfReads;
  }
  return name;
}

weft_memory Engine::memory_of(const Peer& peer, std::uint64_t key) const {
  weft_memory memory{peer.address, key};
  if (peer.memory_port != kUnknownPort) memory.owner.port = peer.memory_port;
  return memory;
}

/// An endpoint of this generation is at the peer's address.
void Engine::know(std::uint32_t index, std::uint16_t generation) {
  Peer& peer = *peers_[index];
  if (std::exchange(peer.known, true) && peer.generation != generation) {
    // What waited for the one before waits in vain.
    std::vector<Request*> lost;
    for (auto& [id, request] : requests_)
      if (request->peer == index && request->kind == Request::Kind::Send && !request->pieces)
        lost.push_back(request.get());
    std::sort(lost.begin(), lost.end(), [](const Request* a, const Request* b) { return a->id < b->id; });
    begin_anew(peer);
    for (Request* request : lost) {
      request->error = FI_ECONNRESET;
      done(*fi::lane(), *request);
    }
  }
  peer.generation = generation;
}

/// All that was agreed with the endpoint before is void. What came too early is the new one's: the port was
/// closed when all of the old one's had arrived.
void Engine::begin_anew(Peer& peer) {
  peer.sent = peer.expected = 0;
  peer.greeted = peer.starved = peer.asked = peer.refused = false;
  peer.assembling = nullptr;
  peer.credits = peer.granted = model.credits;
  peer.consumed = 0;
  waiting_ -= static_cast<unsigned>(peer.waiting.size());
  peer.waiting.clear();
  peer.block_key = 0;
  peer.blocks.clear();
  // A ring is whole again. Which blocks of the pool the old one had nobody knows: they are lost to it.
  peer.emptied.clear();
  for (unsigned i = 0; peer.ring && i < model.ring_blocks; ++i)
    peer.emptied.push_back(static_cast<std::uint16_t>(i));
  peer.lent = static_cast<std::uint32_t>(peer.emptied.size());
}

std::uint32_t Engine::next_tag(Peer& peer, Kind kind, unsigned flags, unsigned credits) {
  std::uint16_t sequence = peer.sent++;
  if (!std::exchange(peer.greeted, true)) {
    flags |= kFirst;
    sequence = generation_;
  }
  return tag_word(kind, flags, credits, sequence);
}

}  // namespace weft::fi
