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

/// An open file description of its own.
int opened_again(int file, int flags) {
  return ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), flags | O_CLOEXEC);
}

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

/// The parts of a process's memory that have some of the bytes of them all.
std::vector<iovec> parts_between(const std::vector<iovec>& parts, std::uint64_t skip, std::uint64_t left) {
  std::vector<iovec> out;
  for (const iovec& part : parts) {
    if (skip >= part.iov_len) {
      skip -= part.iov_len;
      continue;
    }
    const std::uint64_t bytes = std::min<std::uint64_t>(part.iov_len - skip, left);
    out.push_back({static_cast<char*>(part.iov_base) + skip, bytes});
    skip = 0;
    if ((left -= bytes) == 0) break;
  }
  return out;
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

}  // namespace

std::int32_t StorageCalls::carry_out(std::uint64_t token, Piece& piece) {
  const ThreadRef t = thread_of(token);
  Pending& p = pending(t);
  if (piece.work == Work::Change) ++changes_;
  if (storage::PowerCut* cut = tree_->cut())
    cut->durable_from(piece.work == Work::Change || piece.work == Work::Write ? piece.durable : Time{0});
  if (p.stage == Pending::Stage::Flushes) return flush_piece(p, t.rank, piece);
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
  return f ? by_file(p, *f, t.rank, piece) : -EBADF;
}

std::uint64_t StorageCalls::mark() const {
  const storage::PowerCut* cut = tree_ ? tree_->cut() : nullptr;
  return cut ? cut->mark() : 0;
}

void StorageCalls::copied(const Piece& piece, std::uint64_t mark) {
  if (storage::PowerCut* cut = tree_->cut())
    cut->copied(piece.file, piece.offset, piece.bytes, mark, piece.durable);
}

std::int32_t StorageCalls::put(const Pending& p, std::uint64_t address, const void* from,
                               std::uint64_t bytes) const {
  return bytes == 0 || write_memory(p.process, address, from, bytes) ? 0 : -EFAULT;
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
      return list(p, f, piece);
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
      if (!read_memory(p.process, p.address, times, sizeof times)) return -EFAULT;
      return tree_->set_times(inode, times, now);
    }
    case FileCall::Lock:
      return lock(p, f);
    case FileCall::LockWhole:
      return lock_whole(p, f);
    default:
      return 0;
  }
}

bool StorageCalls::copy_from(const Pending& p, std::uint64_t skip, std::span<char> to) const {
  const std::vector<iovec> remote = parts_between(p.parts, skip, to.size());
  const iovec local{to.data(), to.size()};
  return process_vm_readv(p.process, &local, 1, remote.data(), remote.size(), 0) ==
         static_cast<ssize_t>(to.size());
}

bool StorageCalls::copy_to(const Pending& p, std::uint64_t skip, std::span<const char> from) const {
  const std::vector<iovec> remote = parts_between(p.parts, skip, from.size());
  const iovec local{const_cast<char*>(from.data()), from.size()};
  return process_vm_writev(p.process, &local, 1, remote.data(), remote.size(), 0) ==
         static_cast<ssize_t>(from.size());
}

/// Data of one piece between the process's memory and the file.
std::int32_t StorageCalls::move_data(Pending& p, OpenFile& f, std::uint32_t rank, const Piece& piece) {
  if (piece.bytes == 0 || (piece.work != Work::Read && piece.work != Work::Write)) return 0;
  if (p.kept) return 0;  // when all of it is there
  const std::span<char> data{buffer_.data(), piece.bytes};
  if (piece.work == Work::Write) {
    if (!copy_from(p, piece.offset - p.offset, data)) return -EFAULT;
    const std::int32_t refused = write_data(*f.inode, rank, piece, data);
    if (refused != 0) return host_refuses(-refused, tree_->path(), told_of_host_);
    if (storage::NodeCache* cache = cache_of(rank); cache && is_kept(*f.inode))
      cache->write(f.inode->number, piece.offset, data, false);
    return 0;
  }
  // It may have been cut meanwhile: what is behind its end reads as zeros, as a hole does.
  if (std::int32_t failed = tree_->read(*f.inode, piece.offset, data); failed != 0) return failed;
  return copy_to(p, piece.offset - p.offset, data) ? 0 : -EFAULT;
}

std::int32_t StorageCalls::list(Pending& p, OpenFile& f, Piece& piece) {
  if (p.offset == 0 || !f.listed) {
    f.entries.clear();
    f.listed = true;
    if (std::int32_t result = tree_->list(*f.inode, f.entries); result != 0) return result;
  }
  std::uint64_t number = p.offset;
  const std::vector<char> out = entries_from(f.entries, number, p.length);
  p.answer[0] = out.size();
  p.answer[1] = number - p.offset;
  piece.bytes = out.size();
  return put(p, p.address, out.data(), out.size());
}

std::int32_t StorageCalls::by_path(Pending& p, std::uint32_t rank, Piece& piece) {
  const Time now = queue_.now();
  const int flags = static_cast<int>(p.path.flags);
  const mode_t mode = p.path.mode;
  switch (p.call) {
    case FileCall::Open: {
      storage::Inode* inode = nullptr;
      if (std::int32_t result = tree_->open(p.first, flags, mode, now, inode); result != 0) return result;
      struct stat facts {};
      fstat(inode->data, &facts);
      p.answer[0] = add_file(*inode, S_ISDIR(facts.st_mode) ? flags | O_DIRECTORY : flags, rank, p.process);
      return 0;
    }
    case FileCall::StatusAt: {
      struct stat facts {};
      const std::int32_t result = tree_->status(p.first, !(flags & AT_SYMLINK_NOFOLLOW), facts);
      return result == 0 ? put(p, p.path.out, &facts, std::min<std::uint64_t>(sizeof facts, p.path.out_bytes))
                         : result;
    }
    case FileCall::Access:
      return failed(
          faccessat(tree_->root(), p.first.empty() ? "." : p.first.c_str(), static_cast<int>(mode), 0));
    case FileCall::MakeFolder:
      return p.first.empty() ? -EEXIST : tree_->make_folder(p.first, mode, now);
    case FileCall::Remove:
      return tree_->remove(p.first, flags & AT_REMOVEDIR, now);
    case FileCall::Rename:
      return tree_->rename(p.first, p.second, p.path.flags, now);
    case FileCall::Link:
      return tree_->link(p.first, p.second, now);
    case FileCall::SymbolicLink:
      return tree_->symbolic_link(p.second, p.first, now);
    case FileCall::ReadLink: {
      char text[kLongestPath];
      const ssize_t bytes =
          readlinkat(tree_->root(), p.first.empty() ? "." : p.first.c_str(), text, sizeof text);
      if (bytes < 0) return -errno;
      p.answer[0] = std::min<std::uint64_t>(static_cast<std::uint64_t>(bytes), p.path.out_bytes);
      piece.bytes = p.answer[0];
      return put(p, p.path.out, text, p.answer[0]);
    }
    case FileCall::SetModeAt:
      return tree_->set_mode(p.first, mode, now);
    case FileCall::SetOwnerAt:
      tree_->sets_attributes(p.first, !(flags & AT_SYMLINK_NOFOLLOW));
      return failed(fchownat(tree_->root(), p.first.empty() ? "." : p.first.c_str(),
                             static_cast<uid_t>(p.path.value[0]), static_cast<gid_t>(p.path.value[1]),
                             flags));
    case FileCall::SetTimesAt: {
      const timespec times[2] = {{p.path.value[0], p.path.value[1]}, {p.path.value[2], p.path.value[3]}};
      return tree_->set_times(p.first, !(flags & AT_SYMLINK_NOFOLLOW), times, now);
    }
    case FileCall::TruncateAt:
      return tree_->truncate(p.first, static_cast<std::uint64_t>(p.path.value[0]), now);
    case FileCall::Space: {
      struct statfs facts {};
      tree_->space(facts);
      return put(p, p.path.out, &facts, std::min<std::uint64_t>(sizeof facts, p.path.out_bytes));
    }
    default:
      return -ENOSYS;
  }
}

// --- Locks are the host's, each process's on an open file description of its own.

std::int32_t StorageCalls::lock(Pending& p, OpenFile& f) {
  struct flock asked {};
  if (!read_memory(p.process, p.address, &asked, sizeof asked)) return -EFAULT;
  const auto command = static_cast<int>(p.length);
  const auto own = std::pair(p.process, f.inode->number);
  auto found = locks_.find(own);
  if (found == locks_.end()) {
    const int description = opened_again(f.inode->data, O_RDWR);
    if (description < 0) return -ENOLCK;
    found = locks_.emplace(own, description).first;
  }
  if (asked.l_whence == SEEK_END) asked.l_start += static_cast<off_t>(tree_->size(*f.inode));
  asked.l_whence = SEEK_SET;
  asked.l_pid = 0;
  if (asked.l_type == F_RDLCK && command != F_GETLK && (f.flags & O_ACCMODE) == O_WRONLY) return -EBADF;
  if (asked.l_type == F_WRLCK && command != F_GETLK && (f.flags & O_ACCMODE) == O_RDONLY) return -EBADF;
  if (command == F_GETLK) {
    if (fcntl(found->second, F_OFD_GETLK, &asked) != 0) return -errno;
    return put(p, p.address, &asked, sizeof asked);
  }
  if (fcntl(found->second, F_OFD_SETLK, &asked) != 0) {
    const bool taken = errno == EAGAIN || errno == EACCES;
    return taken && command == F_SETLKW ? -EINPROGRESS : -errno;
  }
  if (asked.l_type != F_WRLCK) wake_waiters(*f.inode);
  return 0;
}

std::int32_t StorageCalls::lock_whole(Pending& p, OpenFile& f) {
  if (f.whole_lock < 0) {
    f.whole_lock = opened_again(f.inode->data, O_RDONLY);
    if (f.whole_lock < 0) return -ENOLCK;
  }
  const auto operation = static_cast<int>(p.offset);
  if (flock(f.whole_lock, operation | LOCK_NB) != 0)
    return errno == EWOULDBLOCK && !(operation & LOCK_NB) ? -EINPROGRESS : -errno;
  if ((operation & ~LOCK_NB) != LOCK_EX) wake_waiters(*f.inode);
  return 0;
}

/// Closing any of a process's descriptors of a file ends all of its locks there.
void StorageCalls::close_file(std::uint32_t number, pid_t process) {
  OpenFile& f = *files_[number];
  storage::Inode& inode = *f.inode;
  auto found = locks_.find({process, inode.number});
  bool woke = f.whole_lock >= 0;
  if (found != locks_.end()) {
    ::close(found->second);
    locks_.erase(found);
    woke = true;
  }
  if (f.whole_lock >= 0) ::close(f.whole_lock);
  if (woke) wake_waiters(inode);
  count_opener(inode, f.rank, f.flags, -1);
  files_[number] = nullptr;
  free_files_.push_back(number);
  tree_->close(inode);
}

}  // namespace weft::host
