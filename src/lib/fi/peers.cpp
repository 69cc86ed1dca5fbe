// Whom an endpoint talks to: names, addresses, and endpoints that have taken the place of others.
#include "lib/fi/engine.hpp"

namespace weft::fi {

std::uint32_t Engine::peer_of_handle(std::uint64_t handle) {
  const std::vector<Name>& names = endpoint.av->names;
  if (handle >= names.size() || names[handle].magic != kNameMagic)
    return kAnyPeer;  // removed, or never there
  if (handle < peer_of_handle_.size() && peer_of_handle_[handle] != kAnyPeer) return peer_of_handle_[handle];
  if (handle >= peer_of_handle_.size()) peer_of_handle_.resize(names.size(), kAnyPeer);
  const Name& name = names[handle];
  std::uint32_t index = peer_of_address({name.address.node, name.address.port});
  const mpi::Peer& peer = peer_at(index);
  // What the one before sent lies in the rings: its port was closed when all of that had arrived.
  if (peer.known && peer.generation != name.generation) progress(*fi::this_thread());
  ThreadPort at(*this, *fi::this_thread());
  know(at, index, name.generation);
  contact(index) = {name.rank, handle, name.memory_port, name.hears_of};
  return peer_of_handle_[handle] = index;
}

Name Engine::name() const {
  Name name{kNameMagic, port->self, port->header->rank, port->self.port, pairs_.generation(), 0};
  if (const weft_port* memory = endpoint.domain->memory_port) name.memory_port = memory->self.port;
  if (endpoint.caps & FI_RMA_EVENT) {
    if (endpoint.caps & FI_REMOTE_WRITE) name.hears_of |= kHearsOfWrites;
    if (endpoint.caps & FI_REMOTE_READ) name.hears_of |= kHearsOfReads;
  }
  return name;
}

/// Where a peer's memory is registered.
mpi::Address Engine::memory_of(std::uint32_t peer) {
  mpi::Address owner = peer_at(peer).address;
  if (contact(peer).memory_port != kUnknownPort) owner.port = contact(peer).memory_port;
  return owner;
}

}  // namespace weft::fi
