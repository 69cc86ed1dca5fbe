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

namespace {

/// Files of which a node sends what it has before a call; by its number, the one the call is about.
std::vector<NodeCache::File> to_be_flushed(FileCall call, std::uint64_t about, const NodeCache& cache) {
  if (call == FileCall::Write)
    return cache.too_dirty() ? cache.dirty_files() : std::vector<NodeCache::File>();
  if (call == FileCall::Read || call == FileCall::List || call == FileCall::Adopt) return {};
  return cache.is_dirty(about) ? std::vector{about} : std::vector<NodeCache::File>();
}

}  // namespace

// --- Before a call: what the node alone has, and the call is about, goes to the servers.

Inode* StorageCalls::inode_of(std::uint64_t number) {
  for (const auto& file : files_)
    if (file && file->inode->number == number) return file->inode;
  return nullptr;
}

bool StorageCalls::flush_first(ThreadRef t, Time at) {
  Pending& p = pending(t);
  NodeCache* cache = memory_.of(t.rank);
  if (!cache || !cache->has_dirty()) return false;
  pieces_.clear();
  struct stat facts {};
  if (p.call > FileCall::LastByFile) tree_->status(p.first, !p.confined, facts);
  const bool by_file = p.call < FileCall::Adopt;
  const std::uint64_t about = by_file ? file(p.file)->inode->number : facts.st_ino;
  for (std::uint64_t number : to_be_flushed(p.call, about, *cache)) {
    Inode* inode = inode_of(number);
    if (!inode) continue;
    p.flushes.push_back({number, cache->take_dirty(number)});
    for (const Extents::Range& range : p.flushes.back().ranges)
      add_pieces(Work::Write, *inode, range.begin, range.end - range.begin, pieces_);
  }
  if (pieces_.empty()) return false;
  p.stage = Pending::Stage::Flushes;
  return service_->begin(node_of_user_[t.rank], at, token_of(t), pieces_);
}

/// A server has taken a part of what the node has.
std::int32_t StorageCalls::write_back(Inode& inode, std::uint32_t rank, const Piece& piece) {
  const std::span<char> data{buffer_.data(), piece.bytes};
  memory_.of(rank)->overlay(inode.number, piece.offset, data);
  return memory_.write(inode, rank, piece, data, queue_.now());
}

void StorageCalls::flushed(ThreadRef t, std::int32_t result, Time at) {
  Pending& p = pending(t);
  for (const Pending::Flush& flush : p.flushes) memory_.of(t.rank)->cleaned(flush.file, flush.ranges);
  p.flushes.clear();
  p.stage = Pending::Stage::Works;
  if (result != 0 && p.call != FileCall::Close) return answer(t, result, 0, 0, at);
  proceed(t, at);
}

/// What a node has of a file comes to it without taking time: nobody waits for it any more.
void StorageCalls::flush_now(Inode& inode, std::uint32_t rank) {
  NodeCache* cache = memory_.of(rank);
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
  NodeCache& cache = *memory_.of(rank);
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
    memory_.of(t.rank)->fill(f->inode->number, range.begin, range.end);
  return move_kept(p, t.rank);
}

// --- Opening.

/// Where nobody may keep it any more, the open goes on when other nodes have been told.
bool StorageCalls::tell_others(ThreadRef t, const Inode& inode, Time at) {
  const std::vector<Piece> pieces = memory_.opened(t.rank, inode);
  if (pieces.empty()) return false;
  pending(t).stage = Pending::Stage::Tells;
  return service_->begin(node_of_user_[t.rank], at, token_of(t), pieces);
}

}  // namespace weft::host
