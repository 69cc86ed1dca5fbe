// Memory of nodes in front of the file system (storage/node_cache.hpp): what calls find there, and when what
// was written there goes to the servers.
//
//   visible at once:   writes go through. A file that several nodes have open, one of them for writing, is in
//                      nobody's memory: who opens it so tells the others.
//   visible at close:  what a node has written comes to the servers when it is closed, synchronised or
//   locked,
//                      or when there is too much of it; what others have written is looked for by opening.
#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/virtual_time.hpp"
#include "host/storage_calls.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

using storage::Extents;
using storage::Inode;
using storage::NodeCache;
using storage::Piece;
using storage::Work;

/// The memories, and a server on each node that is told to forget.
bool StorageCalls::make_caches() {
  if (!options_.cache.bytes) return true;
  first_cache_ = service_->servers();
  cache_of_node_.clear();
  for (network::EndpointId node : node_of_rank_) {
    if (!cache_of_node_.emplace(node, static_cast<std::uint32_t>(caches_.size())).second) continue;
    caches_.emplace_back(options_.cache.bytes);
    if (!service_->add_server(node, machine_.description.storage.nvm, Time{0}, nullptr)) return false;
  }
  tree_->on_cut = [this](std::uint64_t file, std::uint64_t size) {
    for (NodeCache& cache : caches_) cache.truncated(file, size);
  };
  return true;
}

NodeCache* StorageCalls::cache_of(std::uint32_t rank) {
  return caches_.empty() ? nullptr : &caches_[cache_of_node_.at(node_of_rank_[rank])];
}

Time StorageCalls::copying(std::uint64_t bytes) const {
  return transfer_time(bytes, machine_.description.mpi.copy_rate.value);
}

/// May memory of nodes keep it?
bool StorageCalls::is_kept(const Inode& inode) const {
  if (options_.cache.at_close || inode.openers.size() < 2) return true;
  return std::none_of(inode.openers.begin(), inode.openers.end(),
                      [](const Inode::Opener& opener) { return opener.writers > 0; });
}

void StorageCalls::count_opener(Inode& inode, std::uint32_t rank, int flags, int by) {
  if (caches_.empty()) return;
  const network::EndpointId node = node_of_rank_[rank];
  auto found = std::find_if(inode.openers.begin(), inode.openers.end(),
                            [&](const Inode::Opener& opener) { return opener.node == node; });
  if (found == inode.openers.end()) found = inode.openers.insert(found, {node, 0, 0});
  found->opens += by;
  if ((flags & O_ACCMODE) != O_RDONLY) found->writers += by;
  if (found->opens == 0) inode.openers.erase(found);
}

// --- Before a call: what the node alone has, and the call is about, goes to the servers.

Inode* StorageCalls::inode_of(std::uint64_t number) {
  for (const auto& file : files_)
    if (file && file->inode->number == number) return file->inode;
  return nullptr;
}

std::vector<std::uint64_t> StorageCalls::to_be_flushed(const Pending& p, const NodeCache& cache) {
  if (p.call == FileCall::Write)
    return cache.too_dirty() ? cache.dirty_files() : std::vector<NodeCache::File>();
  if (p.call == FileCall::Read || p.call == FileCall::List || p.call == FileCall::Adopt) return {};
  std::uint64_t number = 0;
  struct stat facts {};
  if (p.call <= FileCall::LastByFile)
    number = file(p.file)->inode->number;
  else if (tree_->status(p.first, true, facts) == 0)
    number = facts.st_ino;
  return cache.is_dirty(number) ? std::vector{number} : std::vector<NodeCache::File>();
}

bool StorageCalls::flush_first(ThreadRef t, Time at) {
  Pending& p = pending(t);
  NodeCache* cache = cache_of(t.rank);
  if (!cache || !cache->has_dirty()) return false;
  pieces_.clear();
  for (std::uint64_t number : to_be_flushed(p, *cache)) {
    Inode* inode = inode_of(number);
    if (!inode) continue;
    p.flushes.push_back({inode, cache->take_dirty(number)});
    for (const Extents::Range& range : p.flushes.back().ranges)
      add_pieces(Work::Write, *inode, range.begin, range.end - range.begin, pieces_);
  }
  if (pieces_.empty()) return false;
  p.stage = Pending::Stage::Flushes;
  return service_->begin(node_of_rank_[t.rank], at, token_of(t), pieces_);
}

/// A server has taken a part of it.
std::int32_t StorageCalls::flush_piece(Pending& p, std::uint32_t rank, const Piece& piece) {
  for (const Pending::Flush& flush : p.flushes)
    if (flush.inode->number == piece.file) return write_back(*flush.inode, rank, piece);
  return 0;
}

std::int32_t StorageCalls::write_back(Inode& inode, std::uint32_t rank, const Piece& piece) {
  const std::span<char> data{buffer_.data(), piece.bytes};
  cache_of(rank)->overlay(inode.number, piece.offset, data);
  return write_data(inode, rank, piece, data);
}

/// Data goes into a file. Other nodes may go on with what they have.
std::int32_t StorageCalls::write_data(Inode& inode, std::uint32_t rank, const Piece& piece,
                                      std::span<const char> data) {
  NodeCache* own = cache_of(rank);
  if (own && options_.cache.at_close) {
    const NodeCache::Reader read = [&](std::uint64_t offset, std::span<char> out) {
      tree_->read(inode, offset, out);
    };
    for (NodeCache& cache : caches_)
      if (&cache != own) cache.keep_old(inode.number, piece.offset, piece.offset + piece.bytes, read);
  }
  const std::uint64_t before = inode.version;
  const std::int32_t refused = tree_->write(inode, piece.offset, data, queue_.now());
  if (refused != 0) return refused;
  if (own) own->changed(inode.number, before, inode.version);
  inode.taken.resize(service_->servers());
  inode.flushed.resize(service_->servers());
  ++inode.taken[piece.server];
  return 0;
}

void StorageCalls::flushed(ThreadRef t, std::int32_t result, Time at) {
  Pending& p = pending(t);
  for (const Pending::Flush& flush : p.flushes) cache_of(t.rank)->cleaned(flush.inode->number, flush.ranges);
  p.flushes.clear();
  p.stage = Pending::Stage::Works;
  if (result != 0 && p.call != FileCall::Close) return on_answer(t, result, 0, 0, at);
  proceed(t, at);
}

/// What a node has of a file comes to it without taking time: nobody waits for it any more.
void StorageCalls::flush_now(Inode& inode, std::uint32_t rank) {
  NodeCache* cache = cache_of(rank);
  if (!cache || !cache->is_dirty(inode.number)) return;
  if (storage::PowerCut* cut = tree_->cut()) cut->durable_from(kNever);  // no device has it
  pieces_.clear();
  const std::vector<Extents::Range> ranges = cache->take_dirty(inode.number);
  for (const Extents::Range& range : ranges)
    add_pieces(Work::Write, inode, range.begin, range.end - range.begin, pieces_);
  for (const Piece& piece : std::vector(pieces_)) write_back(inode, rank, piece);
  cache->cleaned(inode.number, ranges);
}

void StorageCalls::write_all_back() {
  for (const auto& file : files_)
    if (file) flush_now(*file->inode, file->rank);
}

// --- Data that is in a node's memory.

/// Between the program and the node's memory.
std::int32_t StorageCalls::move_kept(Pending& p, std::uint32_t rank) {
  OpenFile* f = file(p.file);
  if (!f) return -EBADF;
  NodeCache& cache = *cache_of(rank);
  Inode& inode = *f->inode;
  for (std::uint64_t done = 0; done < p.length;) {
    const std::uint64_t bytes = std::min<std::uint64_t>(buffer_.size(), p.length - done);
    const std::span<char> data{buffer_.data(), bytes};
    if (p.call == FileCall::Write) {
      if (!copy_from(p, done, data)) return -EFAULT;
      cache.write(inode.number, p.offset + done, data, true);
    } else {
      tree_->read(inode, p.offset + done, data);
      cache.overlay(inode.number, p.offset + done, data);
      if (!copy_to(p, done, data)) return -EFAULT;
    }
    done += bytes;
  }
  return 0;
}

/// The servers have sent what was not there.
std::int32_t StorageCalls::kept_data_is_here(ThreadRef t) {
  Pending& p = pending(t);
  OpenFile* f = file(p.file);
  if (!f) return -EBADF;
  for (const Extents::Range& range : p.fetches)
    cache_of(t.rank)->fill(f->inode->number, range.begin, range.end);
  return move_kept(p, t.rank);
}

// --- Opening and locking.

/// Who has got a lock sees what others have written under it.
void StorageCalls::look_for_changes(std::uint32_t rank, std::uint32_t number) {
  NodeCache* cache = cache_of(rank);
  if (const OpenFile* f = file(number); cache && f) cache->check_version(f->inode->number, f->inode->version);
}

/// Nodes that must be told that a file which this one has opened is in nobody's memory any more.
bool StorageCalls::tell_others(ThreadRef t, const Inode& inode, Time at) {
  NodeCache* own = cache_of(t.rank);
  if (!own) return false;
  if (options_.cache.at_close || is_kept(inode)) {
    own->check_version(inode.number, inode.version);
    return false;
  }
  pieces_.clear();
  for (const Inode::Opener& opener : inode.openers) {
    const std::uint32_t index = cache_of_node_.at(opener.node);
    caches_[index].drop(inode.number);
    if (opener.node != node_of_rank_[t.rank])
      pieces_.push_back({.work = Work::Look, .server = first_cache_ + index});
  }
  if (pieces_.empty()) return false;
  pending(t).stage = Pending::Stage::Tells;
  return service_->begin(node_of_rank_[t.rank], at, token_of(t), pieces_);
}

}  // namespace weft::host
