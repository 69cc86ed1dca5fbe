// stat and its like, for files of the machine's file system.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace lib = weft::lib;
using lib::Where;
using weft::abi::FileCall;

namespace {

int by_path(const Where& where, int flags, struct stat* out) {
  lib::StorageCaller caller;
  if (caller)
    return lib::failure(where.ask(caller, FileCall::StatusAt,
                                  {.flags = static_cast<unsigned>(flags), .out = out, .out_bytes = sizeof *out}));
  char host[weft::abi::kLongestPath + 256];
  return static_cast<int>(
      syscall(SYS_newfstatat, AT_FDCWD, where.host(host), out, flags & AT_SYMLINK_NOFOLLOW));
}

int by_file(int file, struct stat* out) {
  const int result =
      lib::storage_ask(file, FileCall::Status, reinterpret_cast<std::uint64_t>(out), sizeof *out, 0);
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_fstat, file, out)) : result;
}

bool names_folder(int folder, const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) && path && !*path && lib::is_storage(folder);
}

struct statx_timestamp of(const timespec& t) {
  struct statx_timestamp out {};
  out.tv_sec = t.tv_sec;
  out.tv_nsec = static_cast<unsigned>(t.tv_nsec);
  return out;
}

void fill(const struct stat& s, struct statx& out) {
  out = {};
  out.stx_mask = STATX_BASIC_STATS;
  out.stx_blksize = static_cast<unsigned>(s.st_blksize);
  out.stx_nlink = static_cast<unsigned>(s.st_nlink);
  out.stx_uid = s.st_uid;
  out.stx_gid = s.st_gid;
  out.stx_mode = static_cast<unsigned short>(s.st_mode);
  out.stx_ino = s.st_ino;
  out.stx_size = static_cast<unsigned long long>(s.st_size);
  out.stx_blocks = static_cast<unsigned long long>(s.st_blocks);
  out.stx_atime = of(s.st_atim);
  out.stx_mtime = of(s.st_mtim);
  out.stx_ctime = of(s.st_ctim);
  out.stx_dev_major = major(s.st_dev);
  out.stx_dev_minor = minor(s.st_dev);
}

static_assert(sizeof(struct stat) == sizeof(struct stat64));
struct stat* same(struct stat64* s) { return reinterpret_cast<struct stat*>(s); }

}  // namespace

extern "C" {

int fstatat(int folder, const char* __restrict path, struct stat* __restrict out, int flags) noexcept {
  if (names_folder(folder, path, flags)) return by_file(folder, out);
  const Where where(folder, path);
  return where.inside() ? by_path(where, flags, out)
                        : static_cast<int>(syscall(SYS_newfstatat, folder, where.path(), out, flags));
}
int stat(const char* __restrict path, struct stat* __restrict out) noexcept {
  return fstatat(AT_FDCWD, path, out, 0);
}
int lstat(const char* __restrict path, struct stat* __restrict out) noexcept {
  return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* out) noexcept {
  return lib::is_storage(file) ? by_file(file, out) : static_cast<int>(syscall(SYS_fstat, file, out));
}
int fstatat64(int folder, const char* __restrict path, struct stat64* __restrict out, int flags) noexcept {
  return fstatat(folder, path, same(out), flags);
}
int stat64(const char* __restrict path, struct stat64* __restrict out) noexcept {
  return fstatat(AT_FDCWD, path, same(out), 0);
}
int lstat64(const char* __restrict path, struct stat64* __restrict out) noexcept {
  return fstatat(AT_FDCWD, path, same(out), AT_SYMLINK_NOFOLLOW);
}
int fstat64(int file, struct stat64* out) noexcept { return fstat(file, same(out)); }

// As programs built with an older C library call them.
int __xstat(int, const char* path, struct stat* out) noexcept { return stat(path, out); }
int __lxstat(int, const char* path, struct stat* out) noexcept { return lstat(path, out); }
int __fxstat(int, int file, struct stat* out) noexcept { return fstat(file, out); }
int __fxstatat(int, int folder, const char* path, struct stat* out, int flags) noexcept {
  return fstatat(folder, path, out, flags);
}
int __xstat64(int, const char* path, struct stat64* out) noexcept { return stat64(path, out); }
int __lxstat64(int, const char* path, struct stat64* out) noexcept { return lstat64(path, out); }
int __fxstat64(int, int file, struct stat64* out) noexcept { return fstat64(file, out); }
int __fxstatat64(int, int folder, const char* path, struct stat64* out, int flags) noexcept {
  return fstatat64(folder, path, out, flags);
}

int statx(int folder, const char* __restrict path, int flags, unsigned mask,
          struct statx* __restrict out) noexcept {
  struct stat facts {};
  if (names_folder(folder, path, flags)) {
    if (by_file(folder, &facts) != 0) return -1;
  } else {
    const Where where(folder, path);
    if (!where.inside()) return static_cast<int>(syscall(SYS_statx, folder, where.path(), flags, mask, out));
    if (by_path(where, flags, &facts) != 0) return -1;
  }
  fill(facts, *out);
  return 0;
}
}
