// Functions of the C library that open files and work on descriptors, for files of the machine's file system.
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace lib = weft::lib;
using lib::is_storage;
using weft::abi::FileCall;

namespace {

mode_t mode_of(int flags, va_list more) {
  return flags & (O_CREAT | O_TMPFILE) ? static_cast<mode_t>(va_arg(more, unsigned)) : 0;
}

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

/// A descriptor's copy; where it takes another's place, that one is closed first.
int copied(int from, int to) {
  if (to >= 0) lib::storage_copied(from, to);
  return to;
}

int lock(int file, int command, struct flock* what) {
  struct flock asked = *what;
  if (asked.l_whence == SEEK_CUR) {
    asked.l_start += syscall(SYS_lseek, file, 0, SEEK_CUR);
    asked.l_whence = SEEK_SET;
  }
  const int result =
      lib::storage_ask(file, FileCall::Lock, number(&asked), static_cast<std::uint64_t>(command), 0);
  if (result == lib::kOnHost) return static_cast<int>(syscall(SYS_fcntl, file, command, what));
  if (result == 0 && command == F_GETLK) *what = asked;
  return result;
}

/// Between two files of which one is the file system's, by way of memory.
ssize_t copy(int from, off_t* from_at, int to, off_t* to_at, size_t length) {
  static thread_local char buffer[65'536];
  size_t done = 0;
  while (done < length) {
    const size_t most = length - done < sizeof buffer ? length - done : sizeof buffer;
    const ssize_t got = from_at ? pread(from, buffer, most, *from_at) : read(from, buffer, most);
    if (got <= 0) return done ? static_cast<ssize_t>(done) : got;
    const auto bytes = static_cast<size_t>(got);
    const ssize_t put = to_at ? pwrite(to, buffer, bytes, *to_at) : write(to, buffer, bytes);
    if (put < 0) return done ? static_cast<ssize_t>(done) : put;
    if (from_at) *from_at += put;
    if (to_at) *to_at += put;
    done += static_cast<size_t>(put);
    if (put < got || bytes < most) break;
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

extern "C" {

int openat(int folder, const char* path, int flags, ...) {
  WEFT_REAL(openat);
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  const lib::Where where(folder, path);
  return where.inside() ? lib::storage_open(where, flags, mode)
                        : next_openat(folder, where.path(), flags, mode);
}

int open(const char* path, int flags, ...) {
  WEFT_REAL(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  const lib::Where where(path);
  return where.inside() ? lib::storage_open(where, flags, mode) : next_open(where.path(), flags, mode);
}

int creat(const char* path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int __open_2(const char* path, int flags) { return open(path, flags); }
int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
// Where offsets are of 64 bits these are the same.
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));
int creat64(const char* path, mode_t mode) { return creat(path, mode); }
int __open64_2(const char* path, int flags) { return open(path, flags); }
int __openat64_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }

void closefrom(int first) noexcept {
  WEFT_REAL(closefrom);
  for (int i = first < 0 ? 0 : first; i < lib::kMostDescriptors; ++i)
    if (is_storage(i)) lib::storage_closed(i);
  next_closefrom(first);
}

int dup(int file) noexcept { return copied(file, static_cast<int>(syscall(SYS_dup, file))); }

int dup2(int file, int other) noexcept {
  if (file != other && is_storage(other)) lib::storage_closed(other);
  return copied(file, static_cast<int>(syscall(SYS_dup2, file, other)));
}

int dup3(int file, int other, int flags) noexcept {
  if (file != other && is_storage(other)) lib::storage_closed(other);
  return copied(file, static_cast<int>(syscall(SYS_dup3, file, other, flags)));
}

int fcntl(int file, int command, ...) {
  WEFT_REAL(fcntl);
  va_list more;
  va_start(more, command);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (!is_storage(file)) return next_fcntl(file, command, argument);
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return copied(file, next_fcntl(file, command, argument));
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
      return lock(file, command, static_cast<struct flock*>(argument));
    default:
      return next_fcntl(file, command, argument);
  }
}
int fcntl64(int file, int command, ...) __attribute__((alias("fcntl")));

int flock(int file, int operation) noexcept {
  const int result = is_storage(file)
                         ? lib::storage_ask(file, FileCall::LockWhole, 0, 0, static_cast<std::uint64_t>(operation))
                         : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_flock, file, operation)) : result;
}

int lockf(int file, int command, off_t length) {
  WEFT_REAL(lockf);
  if (!is_storage(file)) return next_lockf(file, command, length);
  struct flock what {};
  what.l_type = command == F_ULOCK ? F_UNLCK : F_WRLCK;
  what.l_whence = SEEK_CUR;
  what.l_len = length;
  if (command != F_TEST) return lock(file, command == F_LOCK ? F_SETLKW : F_SETLK, &what);
  if (lock(file, F_GETLK, &what) != 0) return -1;
  return what.l_type == F_UNLCK ? 0 : lib::failure(-EACCES);
}
int lockf64(int file, int command, off64_t length) { return lockf(file, command, length); }

ssize_t pread(int file, void* to, size_t length, off_t offset) {
  if (is_storage(file)) return lib::storage_move(FileCall::Read, file, to, length, offset < 0 ? -2 : offset);
  return syscall(SYS_pread64, file, to, length, offset);
}
ssize_t pwrite(int file, const void* from, size_t length, off_t offset) {
  if (is_storage(file)) return lib::storage_move(FileCall::Write, file, from, length, offset < 0 ? -2 : offset);
  return syscall(SYS_pwrite64, file, from, length, offset);
}
ssize_t pread64(int file, void* to, size_t length, off64_t offset) { return pread(file, to, length, offset); }
ssize_t pwrite64(int file, const void* from, size_t length, off64_t offset) {
  return pwrite(file, from, length, offset);
}
ssize_t __pread_chk(int file, void* to, size_t length, off_t offset, size_t) {
  return pread(file, to, length, offset);
}
ssize_t __pread64_chk(int file, void* to, size_t length, off64_t offset, size_t) {
  return pread(file, to, length, offset);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  WEFT_REAL(writev);
  if (!is_storage(file)) return next_writev(file, parts, count);
  return lib::storage_move(FileCall::WriteParts, file, parts, static_cast<size_t>(count), -1);
}
ssize_t preadv(int file, const struct iovec* parts, int count, off_t offset) {
  WEFT_REAL(preadv);
  if (!is_storage(file)) return next_preadv(file, parts, count, offset);
  return lib::storage_move(FileCall::ReadParts, file, parts, static_cast<size_t>(count), offset);
}
ssize_t pwritev(int file, const struct iovec* parts, int count, off_t offset) {
  WEFT_REAL(pwritev);
  if (!is_storage(file)) return next_pwritev(file, parts, count, offset);
  return lib::storage_move(FileCall::WriteParts, file, parts, static_cast<size_t>(count), offset);
}
ssize_t preadv64(int file, const struct iovec* parts, int count, off64_t offset) {
  return preadv(file, parts, count, offset);
}
ssize_t pwritev64(int file, const struct iovec* parts, int count, off64_t offset) {
  return pwritev(file, parts, count, offset);
}

int fsync(int file) {
  const int result = is_storage(file) ? lib::storage_ask(file, FileCall::Sync, 0, 0, 0) : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_fsync, file)) : result;
}
int fdatasync(int file) {
  const int result = is_storage(file) ? lib::storage_ask(file, FileCall::Sync, 0, 0, 0) : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_fdatasync, file)) : result;
}
int syncfs(int file) noexcept {
  return is_storage(file) ? fsync(file) : static_cast<int>(syscall(SYS_syncfs, file));
}

int ftruncate(int file, off_t size) noexcept {
  if (is_storage(file) && size < 0) return lib::failure(-EINVAL);
  const int result = is_storage(file)
                         ? lib::storage_ask(file, FileCall::Truncate, 0, 0, static_cast<std::uint64_t>(size))
                         : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_ftruncate, file, size)) : result;
}
int ftruncate64(int file, off64_t size) noexcept { return ftruncate(file, size); }

int fallocate(int file, int mode, off_t offset, off_t length) {
  if (!is_storage(file)) return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, length));
  if (mode) return lib::failure(-EOPNOTSUPP);
  if (offset < 0 || length <= 0) return lib::failure(-EINVAL);
  const int result = lib::storage_ask(file, FileCall::Allocate, 0, static_cast<std::uint64_t>(length),
                                      static_cast<std::uint64_t>(offset));
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_fallocate, file, mode, offset, length)) : result;
}
int fallocate64(int file, int mode, off64_t offset, off64_t length) {
  return fallocate(file, mode, offset, length);
}
int posix_fallocate(int file, off_t offset, off_t length) {
  WEFT_REAL(posix_fallocate);
  if (!is_storage(file)) return next_posix_fallocate(file, offset, length);
  return fallocate(file, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate64(int file, off64_t offset, off64_t length) {
  return posix_fallocate(file, offset, length);
}

ssize_t sendfile(int to, int from, off_t* offset, size_t length) noexcept {
  if (!is_storage(from) && !is_storage(to)) return syscall(SYS_sendfile, to, from, offset, length);
  return copy(from, offset, to, nullptr, length);
}
ssize_t sendfile64(int to, int from, off64_t* offset, size_t length) noexcept {
  return sendfile(to, from, offset, length);
}
ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t length, unsigned flags) {
  if (!is_storage(from) && !is_storage(to))
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, length, flags);
  return copy(from, from_at, to, to_at, length);
}
}
