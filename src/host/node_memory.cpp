#include "host/node_memory.hpp"

#include <fcntl.h>

#include <algorithm>

#include "base/virtual_time.hpp"

namespace weft::host {

using storage::Inode;
using storage::NodeCache;
using storage::Piece;

bool NodeMemory::make(storage::Service& service, storage::Tree& tree,
                      const machine::StorageDeviceParameters& device) {
  tree_ = &tree;
  first_ = servers_ = service.servers();
  if (!options_.bytes) return true;
  for (network::EndpointId node : node_of_rank_) {
    if (!index_.emplace(node, static_cast<std::uint32_t>(caches_.size())).second) continue;
    caches_.emplace_back(options_.bytes);
    if (!service.add_server(node, device, Time{0}, nullptr)) return false;
  }
  tree.on_cut = [this](std::uint64_t file, std::uint64_t size) {
    for (NodeCache& cache : caches_) cache.truncated(file, size);
  };
  return true;
}

NodeCache* NodeMemory::of(std::uint32_t rank) {
  return caches_.empty() ? nullptr : &caches_[index_.at(node_of_rank_[rank])];
}

Time NodeMemory::copying(std::uint64_t bytes) const { return transfer_time(bytes, copy_rate_.value); }

bool NodeMemory::keeps(const Inode& inode) const {
  if (caches_.empty()) return false;
  if (options_.at_close || inode.openers.size() < 2) return true;
  return std::none_of(inode.openers.begin(), inode.openers.end(),
                      [](const Inode::Opener& opener) { return opener.writers > 0; });
}

void NodeMemory::count_opener(Inode& inode, std::uint32_t rank, int flags, int by) {
  if (caches_.empty()) return;
  const network::EndpointId node = node_of_rank_[rank];
  auto found = std::find_if(inode.openers.begin(), inode.openers.end(),
                            [&](const Inode::Opener& opener) { return opener.node == node; });
  if (found == inode.openers.end()) found = inode.openers.insert(found, {node, 0, 0});
  found->opens += by;
  if ((flags & O_ACCMODE) != O_RDONLY) found->writers += by;
  if (found->opens == 0) inode.openers.erase(found);
}

void NodeMemory::look(std::uint32_t rank, const Inode& inode) {
  if (NodeCache* cache = of(rank)) cache->check_version(inode.number, inode.version);
}

std::vector<Piece> NodeMemory::opened(std::uint32_t rank, const Inode& inode) {
  std::vector<Piece> out;
  look(rank, inode);
  if (caches_.empty() || keeps(inode)) return out;
  for (const Inode::Opener& opener : inode.openers) {
    const std::uint32_t index = index_.at(opener.node);
    caches_[index].drop(inode.number);
    if (opener.node != node_of_rank_[rank])
      out.push_back({.work = storage::Work::Look, .server = first_ + index});
  }
  return out;
}

std::int32_t NodeMemory::write(Inode& inode, std::uint32_t rank, const Piece& piece,
                               std::span<const char> data, Time now) {
  NodeCache* own = of(rank);
  if (own && options_.at_close) {
    const NodeCache::Reader read = [&](std::uint64_t offset, std::span<char> out) {
      tree_->read(inode, offset, out);
    };
    for (NodeCache& cache : caches_)
      if (&cache != own) cache.keep_old(inode.number, piece.offset, piece.offset + piece.bytes, read);
  }
  const std::uint64_t before = inode.version;
  const std::int32_t refused = tree_->write(inode, piece.offset, data, now);
  if (refused != 0) return refused;
  if (own) own->changed(inode.number, before, inode.version);
  if (inode.taken.size() <= piece.server) {
    inode.taken.resize(piece.server + 1);
    inode.flushed.resize(piece.server + 1);
  }
  ++inode.taken[piece.server];
  return 0;
}

}  // namespace weft::host
