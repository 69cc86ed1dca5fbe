#include "host/file_locks.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace weft::host {

namespace {

/// An open file description of its own.
int opened_again(int file, int flags) {
  return ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), flags | O_CLOEXEC);
}

}  // namespace

FileLocks::~FileLocks() {
  for (const auto& [who, description] : locks_) ::close(description);
}

std::int32_t FileLocks::lock(const FileRequest& p, OpenFile& f, std::uint64_t size) {
  struct flock asked {};
  if (fetch(p, p.address, &asked, sizeof asked) != 0) return -EFAULT;
  const auto command = static_cast<int>(p.length);
  const auto own = std::pair(p.owner, f.inode->number);
  auto found = locks_.find(own);
  if (found == locks_.end()) {
    const int description = opened_again(f.inode->data, O_RDWR);
    if (description < 0) return -ENOLCK;
    found = locks_.emplace(own, description).first;
  }
  if (asked.l_whence == SEEK_END) asked.l_start += static_cast<off_t>(size);
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
  if (asked.l_type != F_WRLCK) on_free(*f.inode);
  return 0;
}

std::int32_t FileLocks::lock_whole(const FileRequest& p, OpenFile& f) {
  if (f.whole_lock < 0) {
    f.whole_lock = opened_again(f.inode->data, O_RDONLY);
    if (f.whole_lock < 0) return -ENOLCK;
  }
  const auto operation = static_cast<int>(p.offset);
  if (flock(f.whole_lock, operation | LOCK_NB) != 0)
    return errno == EWOULDBLOCK && !(operation & LOCK_NB) ? -EINPROGRESS : -errno;
  if ((operation & ~LOCK_NB) != LOCK_EX) on_free(*f.inode);
  return 0;
}

bool FileLocks::closed(const OpenFile& f, std::uint64_t owner) {
  auto found = locks_.find({owner, f.inode->number});
  const bool had = f.whole_lock >= 0 || found != locks_.end();
  if (f.whole_lock >= 0) ::close(f.whole_lock);
  if (found == locks_.end()) return had;
  ::close(found->second);
  locks_.erase(found);
  return had;
}

bool FileLocks::gone(std::uint64_t first, std::uint64_t end) {
  const auto from = locks_.lower_bound({first, 0}), to = locks_.lower_bound({end, 0});
  const bool had = from != to;
  for (auto each = from; each != to; ++each) ::close(each->second);
  locks_.erase(from, to);
  return had;
}

}  // namespace weft::host
