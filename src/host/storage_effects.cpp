// What calls for files do to them, at the moment a server has done its work.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "host/storage_calls.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

using storage::Piece;
using storage::Work;

namespace {

std::int32_t failed(int result) { return result < 0 ? -errno : 0; }

/// This computer has no room or cannot write: the program sees it, and the user is told that it is not the
/// simulated device.
std::int32_t host_refuses(int error, const std::string& path, bool& told) {
  if (!std::exchange(told, true))
    fmt::print(
        stderr,
        "weft: {}: {}: this computer cannot hold the files of the simulated file system, whose devices "
        "may have room; --keep DIR or TMPDIR name another place\n",
        path, std::strerror(error));
  return -error;
}

/// Entries of a directory from a number on, as many as fit; the number behind them.
std::vector<char> entries_from(const std::vector<storage::Tree::Entry>& entries, std::uint64_t& number,
                               std::uint64_t room) {
  std::vector<char> out;
  for (; number < entries.size(); ++number) {
    const storage::Tree::Entry& entry = entries[number];
    const std::size_t bytes = (offsetof(FolderEntry, name) + entry.name.size() + 1 + 7) / 8 * 8;
    if (out.size() + bytes > room) break;
    const std::size_t at = out.size();
    out.resize(at + bytes);
    FolderEntry head{entry.number, static_cast<std::uint16_t>(bytes), entry.type, {}};
    std::memcpy(out.data() + at, &head, offsetof(FolderEntry, name));
    std::memcpy(out.data() + at + offsetof(FolderEntry, name), entry.name.c_str(), entry.name.size() + 1);
  }
  return out;
}

std::int32_t list(storage::Tree& tree, FileRequest& p, OpenFile& f, Piece& piece) {
  if (p.offset == 0 || !f.listed) {
    f.entries.clear();
    f.listed = true;
    if (std::int32_t result = tree.list(*f.inode, f.entries); result != 0) return result;
  }
  std::uint64_t number = p.offset;
  const std::vector<char> out = entries_from(f.entries, number, p.length);
  p.answer[0] = out.size();
  p.answer[1] = number - p.offset;
  piece.bytes = out.size();
  return put(p, p.address, out.data(), out.size());
}

/// Calls that name files by path and open none.
std::int32_t do_by_path(storage::Tree& tree, FileRequest& p, Piece& piece, Time now) {
  const int flags = static_cast<int>(p.path.flags);
  const mode_t mode = p.path.mode;
  switch (p.call) {
    case FileCall::StatusAt: {
      struct stat facts {};
      const std::int32_t result = tree.status(p.first, !(flags & AT_SYMLINK_NOFOLLOW), facts);
      return result == 0 ? put(p, p.path.out, &facts, std::min<std::uint64_t>(sizeof facts, p.path.out_bytes))
                         : result;
    }
    case FileCall::Access:
      return failed(
          faccessat(tree.root(), p.first.empty() ? "." : p.first.c_str(), static_cast<int>(mode), 0));
    case FileCall::MakeFolder:
      return p.first.empty() ? -EEXIST : tree.make_folder(p.first, mode, now);
    case FileCall::Remove:
      return tree.remove(p.first, flags & AT_REMOVEDIR, now);
    case FileCall::Rename:
      return tree.rename(p.first, p.second, p.path.flags, now);
    case FileCall::Link:
      return tree.link(p.first, p.second, now);
    case FileCall::SymbolicLink:
      return tree.symbolic_link(p.second, p.first, now);
    case FileCall::ReadLink: {
      char text[kLongestPath];
      const ssize_t bytes =
          readlinkat(tree.root(), p.first.empty() ? "." : p.first.c_str(), text, sizeof text);
      if (bytes < 0) return -errno;
      p.answer[0] = std::min<std::uint64_t>(static_cast<std::uint64_t>(bytes), p.path.out_bytes);
      piece.bytes = p.answer[0];
      return put(p, p.path.out, text, p.answer[0]);
    }
    case FileCall::SetModeAt:
      return tree.set_mode(p.first, mode, now);
    case FileCall::SetOwnerAt:
      tree.sets_attributes(p.first, !(flags & AT_SYMLINK_NOFOLLOW));
      return failed(fchownat(tree.root(), p.first.empty() ? "." : p.first.c_str(),
                             static_cast<uid_t>(p.path.value[0]), static_cast<gid_t>(p.path.value[1]),
                             flags));
    case FileCall::SetTimesAt: {
      const timespec times[2] = {{p.path.value[0], p.path.value[1]}, {p.path.value[2], p.path.value[3]}};
      return tree.set_times(p.first, !(flags & AT_SYMLINK_NOFOLLOW), times, now);
    }
    case FileCall::TruncateAt:
      return tree.truncate(p.first, static_cast<std::uint64_t>(p.path.value[0]), now);
    case FileCall::Space: {
      struct statfs facts {};
      tree.space(facts);
      return put(p, p.path.out, &facts, std::min<std::uint64_t>(sizeof facts, p.path.out_bytes));
    }
    default:
      return -ENOSYS;
  }
}

}  // namespace

std::int32_t StorageCalls::carry_out(std::uint64_t token, Piece& piece) {
  const ThreadRef t = thread_of(token);
  Pending& p = pending(t);
  if (piece.work == Work::Change) ++changes_;
  if (storage::PowerCut* cut = tree_->cut())
    cut->durable_from(piece.work == Work::Change || piece.work == Work::Write ? piece.durable : Time{0});
  if (p.stage == Pending::Stage::Flushes) {
    storage::Inode* inode = inode_of(piece.file);
    const std::int32_t refused = inode ? write_back(*inode, t.rank, piece) : 0;
    return refused ? host_refuses(-refused, tree_->path(), told_of_host_) : 0;
  }
  if (p.stage == Pending::Stage::Tells) return 0;
  if (p.call > FileCall::LastByFile) return by_path(p, t.rank, piece);
  if (p.call == FileCall::Adopt) {
    const int borrowed = borrow_file(p.process, static_cast<int>(p.offset));
    if (borrowed < 0) return -EBADF;
    const int flags = fcntl(borrowed, F_GETFL);
    storage::Inode* inode = tree_->adopt(borrowed);
    if (!inode) return -EBADF;
    p.answer[0] = add_file(*inode, flags, t.rank, p.process);
    return 0;
  }
  OpenFile* f = file(p.file);
  if (!f || (!is_rank(t) && f->rank != t.rank)) return -EBADF;
  return by_file(p, *f, t.rank, piece);
}

std::uint64_t StorageCalls::mark() const {
  const storage::PowerCut* cut = tree_ ? tree_->cut() : nullptr;
  return cut ? cut->mark() : 0;
}

void StorageCalls::copied(const Piece& piece, std::uint64_t mark) {
  if (storage::PowerCut* cut = tree_->cut())
    cut->copied(piece.file, piece.offset, piece.bytes, mark, piece.durable);
}

std::int32_t StorageCalls::by_file(Pending& p, OpenFile& f, std::uint32_t rank, Piece& piece) {
  storage::Inode& inode = *f.inode;
  const Time now = queue_.now();
  switch (p.call) {
    case FileCall::Read:
    case FileCall::Write:
      return move_data(p, f, rank, piece);
    case FileCall::Touch:
      if (p.address) tree_->wrote(inode, now);
      return 0;
    case FileCall::Status: {
      struct stat facts {};
      const std::int32_t result = tree_->status(inode, facts);
      return result == 0 ? put(p, p.address, &facts, sizeof facts) : result;
    }
    case FileCall::Close:
      close_file(p.file, p.process);
      return 0;
    case FileCall::Truncate:
      if ((f.flags & O_ACCMODE) == O_RDONLY) return -EINVAL;
      return tree_->truncate(inode, p.offset, now);
    case FileCall::Allocate:
      return tree_->allocate(inode, p.offset, p.length, now);
    case FileCall::List:
      return list(*tree_, p, f, piece);
    case FileCall::SetMode:
      inode.mode = -1;
      tree_->sets_attributes(inode);
      return failed(fchmod(inode.data, static_cast<mode_t>(p.offset)));
    case FileCall::SetOwner:
      tree_->sets_attributes(inode);
      return failed(
          fchown(inode.data, static_cast<uid_t>(p.offset >> 32), static_cast<gid_t>(p.offset & ~0u)));
    case FileCall::SetTimes: {
      timespec times[2];
      if (fetch(p, p.address, times, sizeof times) != 0) return -EFAULT;
      return tree_->set_times(inode, times, now);
    }
    case FileCall::Lock:
      return locks_.lock(p, f, tree_->size(inode));
    case FileCall::LockWhole:
      return locks_.lock_whole(p, f);
    default:
      return 0;
  }
}

/// Data of one piece between the process's memory and the file.
std::int32_t StorageCalls::move_data(Pending& p, OpenFile& f, std::uint32_t rank, const Piece& piece) {
  if (piece.bytes == 0 || (piece.work != Work::Read && piece.work != Work::Write)) return 0;
  if (p.kept) return 0;  // when all of it is there
  const std::span<char> data{buffer_.data(), piece.bytes};
  if (piece.work == Work::Write) {
    if (!copy_from(p, piece.offset - p.offset, data)) return -EFAULT;
    const std::int32_t refused = memory_.write(*f.inode, rank, piece, data, queue_.now());
    if (refused != 0) return host_refuses(-refused, tree_->path(), told_of_host_);
    if (storage::NodeCache* cache = memory_.of(rank); cache && memory_.keeps(*f.inode))
      cache->write(f.inode->number, piece.offset, data, false);
    return 0;
  }
  // It may have been cut meanwhile: what is behind its end reads as zeros, as a hole does.
  if (std::int32_t failed = tree_->read(*f.inode, piece.offset, data); failed != 0) return failed;
  return copy_to(p, piece.offset - p.offset, data) ? 0 : -EFAULT;
}

std::int32_t StorageCalls::by_path(Pending& p, std::uint32_t rank, Piece& piece) {
  if (const std::int32_t refused = refuse_path(p, *tree_); refused != 0) return refused;
  if (p.call != FileCall::Open) {
    const std::int32_t result = do_by_path(*tree_, p, piece, queue_.now());
    return result == 0 && p.facts ? tree_->status(p.first, false, *p.facts) : result;
  }
  const int flags = static_cast<int>(p.path.flags);
  storage::Inode* inode = nullptr;
  const std::int32_t result = tree_->open(p.first, flags, p.path.mode, queue_.now(), inode);
  if (result != 0) return result;
  struct stat facts {};
  fstat(inode->data, &facts);
  p.answer[0] = add_file(*inode, S_ISDIR(facts.st_mode) ? flags | O_DIRECTORY : flags, rank, p.process);
  return p.facts ? tree_->status(*inode, *p.facts) : 0;
}

void StorageCalls::close_file(std::uint32_t number, pid_t process) {
  OpenFile& f = *file(number);
  storage::Inode& inode = *f.inode;
  if (locks_.closed(f, static_cast<std::uint64_t>(process))) wake_waiters(&inode);
  memory_.count_opener(inode, f.rank, f.flags, -1);
  files_.remove(number);
  tree_->close(inode);
}

}  // namespace weft::host
