// Functions of the C library that name files by path: below the mount point they are for the machine's file
// system.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utime.h>

#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace weft::lib {
void working_folder_changed();
bool working_folder(char (&out)[abi::kLongestPath], const char*& below);
}  // namespace weft::lib

namespace lib = weft::lib;
using lib::failure;
using lib::StorageCaller;
using lib::Where;
using weft::abi::FileCall;

namespace {

using HostPath = char[weft::abi::kLongestPath + 256];

/// A call of one path and no answer; `host` does it where nobody's virtual time passes.
template <class Host>
int by_path(const Where& where, FileCall call, const Where::Details& details, Host host) {
  StorageCaller caller;
  if (caller) return failure(where.ask(caller, call, details));
  HostPath path;
  return static_cast<int>(host(where.host(path)));
}

mode_t masked(mode_t mode) {
  const auto mask = static_cast<mode_t>(syscall(SYS_umask, 0));
  syscall(SYS_umask, mask);
  return mode & ~mask & 07777;
}

/// A call of two paths that must both be the file system's, or neither.
template <class Host>
int by_two(FileCall call, const Where& from, const Where& to, unsigned flags, Host host) {
  if (!from.inside() || !to.inside()) return failure(-EXDEV);
  StorageCaller caller;
  if (caller) return failure(from.ask(caller, call, {.flags = flags}, to.below()));
  HostPath first, second;
  return static_cast<int>(host(from.host(first), to.host(second)));
}

timespec of(const timeval& t) { return {t.tv_sec, t.tv_usec * 1000}; }

}  // namespace

extern "C" {

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  const Where where(folder, path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_mkdirat, folder, where.path(), mode));
  return by_path(where, FileCall::MakeFolder, {.mode = masked(mode)},
                 [=](const char* host) { return syscall(SYS_mkdir, host, mode); });
}
int mkdir(const char* path, mode_t mode) noexcept { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int folder, const char* path, int flags) noexcept {
  const Where where(folder, path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_unlinkat, folder, where.path(), flags));
  return by_path(where, FileCall::Remove, {.flags = static_cast<unsigned>(flags)},
                 [=](const char* host) { return syscall(SYS_unlinkat, AT_FDCWD, host, flags); });
}
int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  const int error = errno;
  if (unlink(path) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  errno = error;
  return rmdir(path);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  const Where source(from_folder, from), target(to_folder, to);
  if (!source.inside() && !target.inside())
    return static_cast<int>(
        syscall(SYS_renameat2, from_folder, source.path(), to_folder, target.path(), flags));
  return by_two(FileCall::Rename, source, target, flags, [=](const char* first, const char* second) {
    return syscall(SYS_renameat2, AT_FDCWD, first, AT_FDCWD, second, flags);
  });
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char* from, const char* to) noexcept { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  const Where source(from_folder, from), target(to_folder, to);
  if (!source.inside() && !target.inside())
    return static_cast<int>(syscall(SYS_linkat, from_folder, source.path(), to_folder, target.path(), flags));
  return by_two(FileCall::Link, source, target, 0, [](const char* first, const char* second) {
    return syscall(SYS_link, first, second);
  });
}
int link(const char* from, const char* to) noexcept { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int symlinkat(const char* text, int folder, const char* path) noexcept {
  const Where where(folder, path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_symlinkat, text, folder, where.path()));
  // One that names the mount point leads to where the host has the files, and is read as it was written.
  HostPath host;
  const Where target(*text == '/' ? text : nullptr);
  const char* kept = target.inside() && lib::mount()->root[0] ? target.host(host) : text;
  StorageCaller caller;
  if (caller) return failure(where.ask(caller, FileCall::SymbolicLink, {}, kept));
  HostPath own;
  return static_cast<int>(syscall(SYS_symlink, kept, where.host(own)));
}
int symlink(const char* text, const char* path) noexcept { return symlinkat(text, AT_FDCWD, path); }

ssize_t readlinkat(int folder, const char* path, char* out, size_t length) noexcept {
  const Where where(folder, path);
  if (!where.inside()) return syscall(SYS_readlinkat, folder, where.path(), out, length);
  HostPath text;
  ssize_t bytes;
  {
    StorageCaller caller;
    std::uint64_t answer[2] = {};
    if (caller) {
      const int result = where.ask(caller, FileCall::ReadLink, {.out = text, .out_bytes = sizeof text - 1}, "", answer);
      if (result != 0) return failure(result);
      bytes = static_cast<ssize_t>(answer[0]);
    } else {
      HostPath host;
      bytes = syscall(SYS_readlink, where.host(host), text, sizeof text - 1);
      if (bytes < 0) return -1;
    }
  }
  text[bytes] = 0;
  const weft::abi::Mount& m = *lib::mount();
  const size_t root = strlen(m.root);
  HostPath shown;
  if (root && strncmp(text, m.root, root) == 0 && (text[root] == '/' || !text[root])) {
    bytes = snprintf(shown, sizeof shown, "%s%s", m.path, text + root);
    memcpy(text, shown, static_cast<size_t>(bytes));
  }
  const size_t fits = static_cast<size_t>(bytes) < length ? static_cast<size_t>(bytes) : length;
  memcpy(out, text, fits);
  return static_cast<ssize_t>(fits);
}
ssize_t readlink(const char* path, char* out, size_t length) noexcept {
  return readlinkat(AT_FDCWD, path, out, length);
}
ssize_t __readlink_chk(const char* path, char* out, size_t length, size_t) noexcept {
  return readlink(path, out, length);
}
ssize_t __readlinkat_chk(int folder, const char* path, char* out, size_t length, size_t) noexcept {
  return readlinkat(folder, path, out, length);
}

int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  WEFT_REAL(faccessat);
  const Where where(folder, path);
  if (!where.inside()) return next_faccessat(folder, where.path(), mode, flags);
  return by_path(where, FileCall::Access, {.mode = static_cast<unsigned>(mode)},
                 [=](const char* host) { return syscall(SYS_access, host, mode); });
}
int access(const char* path, int mode) noexcept { return faccessat(AT_FDCWD, path, mode, 0); }
int euidaccess(const char* path, int mode) noexcept { return faccessat(AT_FDCWD, path, mode, AT_EACCESS); }
int eaccess(const char* path, int mode) noexcept { return faccessat(AT_FDCWD, path, mode, AT_EACCESS); }

int fchmodat(int folder, const char* path, mode_t mode, int flags) noexcept {
  WEFT_REAL(fchmodat);
  const Where where(folder, path);
  if (!where.inside()) return next_fchmodat(folder, where.path(), mode, flags);
  return by_path(where, FileCall::SetModeAt, {.mode = mode},
                 [=](const char* host) { return syscall(SYS_chmod, host, mode); });
}
int chmod(const char* path, mode_t mode) noexcept {
  const Where where(path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_chmod, where.path(), mode));
  return fchmodat(AT_FDCWD, path, mode, 0);
}
int fchmod(int file, mode_t mode) noexcept {
  const int result =
      lib::is_storage(file) ? lib::storage_ask(file, FileCall::SetMode, 0, 0, mode) : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_fchmod, file, mode)) : result;
}

int fchownat(int folder, const char* path, uid_t user, gid_t group, int flags) noexcept {
  const Where where(folder, path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_fchownat, folder, where.path(), user, group, flags));
  return by_path(where, FileCall::SetOwnerAt,
                 {.flags = static_cast<unsigned>(flags & AT_SYMLINK_NOFOLLOW), .value = {user, group, 0, 0}},
                 [=](const char* host) { return syscall(SYS_fchownat, AT_FDCWD, host, user, group, flags); });
}
int chown(const char* path, uid_t user, gid_t group) noexcept { return fchownat(AT_FDCWD, path, user, group, 0); }
int lchown(const char* path, uid_t user, gid_t group) noexcept {
  return fchownat(AT_FDCWD, path, user, group, AT_SYMLINK_NOFOLLOW);
}
int fchown(int file, uid_t user, gid_t group) noexcept {
  const int result = lib::is_storage(file) ? lib::storage_ask(file, FileCall::SetOwner, 0, 0,
                                                              std::uint64_t{user} << 32 | group)
                                           : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_fchown, file, user, group)) : result;
}

int futimens(int file, const struct timespec times[2]) noexcept {
  const timespec both_now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  const int result = lib::is_storage(file)
                         ? lib::storage_ask(file, FileCall::SetTimes,
                                            reinterpret_cast<std::uint64_t>(times ? times : both_now), 0, 0)
                         : lib::kOnHost;
  return result == lib::kOnHost ? static_cast<int>(syscall(SYS_utimensat, file, nullptr, times, 0)) : result;
}
int utimensat(int folder, const char* path, const struct timespec times[2], int flags) noexcept {
  const char* volatile named = path;  // may be null, though the C library says it is not
  if (!named && lib::is_storage(folder)) return futimens(folder, times);
  const Where where(folder, path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_utimensat, folder, where.path(), times, flags));
  const timespec both_now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  const timespec* t = times ? times : both_now;
  return by_path(where, FileCall::SetTimesAt,
                 {.flags = static_cast<unsigned>(flags),
                  .value = {t[0].tv_sec, t[0].tv_nsec, t[1].tv_sec, t[1].tv_nsec}},
                 [=](const char* host) { return syscall(SYS_utimensat, AT_FDCWD, host, times, flags); });
}
int utimes(const char* path, const struct timeval times[2]) noexcept {
  const timespec t[2] = {times ? of(times[0]) : timespec{}, times ? of(times[1]) : timespec{}};
  return utimensat(AT_FDCWD, path, times ? t : nullptr, 0);
}
int lutimes(const char* path, const struct timeval times[2]) noexcept {
  const timespec t[2] = {times ? of(times[0]) : timespec{}, times ? of(times[1]) : timespec{}};
  return utimensat(AT_FDCWD, path, times ? t : nullptr, AT_SYMLINK_NOFOLLOW);
}
int futimes(int file, const struct timeval times[2]) noexcept {
  const timespec t[2] = {times ? of(times[0]) : timespec{}, times ? of(times[1]) : timespec{}};
  return futimens(file, times ? t : nullptr);
}
int utime(const char* path, const struct utimbuf* times) noexcept {
  const timespec t[2] = {{times ? times->actime : 0, 0}, {times ? times->modtime : 0, 0}};
  return utimensat(AT_FDCWD, path, times ? t : nullptr, 0);
}

int truncate(const char* path, off_t size) noexcept {
  const Where where(path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_truncate, where.path(), size));
  if (size < 0) return failure(-EINVAL);
  return by_path(where, FileCall::TruncateAt, {.value = {size, 0, 0, 0}},
                 [=](const char* host) { return syscall(SYS_truncate, host, size); });
}
int truncate64(const char* path, off64_t size) noexcept { return truncate(path, size); }

int statfs(const char* path, struct statfs* out) noexcept {
  const Where where(path);
  if (!where.inside()) return static_cast<int>(syscall(SYS_statfs, where.path(), out));
  return by_path(where, FileCall::Space, {.out = out, .out_bytes = sizeof *out},
                 [=](const char* host) { return syscall(SYS_statfs, host, out); });
}
int fstatfs(int file, struct statfs* out) noexcept {
  return lib::is_storage(file) ? statfs(lib::mount()->path, out)
                               : static_cast<int>(syscall(SYS_fstatfs, file, out));
}
int statfs64(const char* path, struct statfs64* out) noexcept {
  return statfs(path, reinterpret_cast<struct statfs*>(out));
}
int fstatfs64(int file, struct statfs64* out) noexcept {
  return fstatfs(file, reinterpret_cast<struct statfs*>(out));
}

int statvfs(const char* path, struct statvfs* out) noexcept {
  WEFT_REAL(statvfs);
  const Where where(path);
  if (!where.inside()) return next_statvfs(where.path(), out);
  struct statfs facts {};
  if (statfs(path, &facts) != 0) return -1;
  *out = {};
  out->f_bsize = out->f_frsize = static_cast<unsigned long>(facts.f_bsize);
  out->f_blocks = facts.f_blocks;
  out->f_bfree = out->f_bavail = facts.f_bavail;
  out->f_files = facts.f_files;
  out->f_ffree = out->f_favail = facts.f_ffree;
  out->f_namemax = 255;
  return 0;
}
int fstatvfs(int file, struct statvfs* out) noexcept {
  WEFT_REAL(fstatvfs);
  return lib::is_storage(file) ? statvfs(lib::mount()->path, out) : next_fstatvfs(file, out);
}
int statvfs64(const char* path, struct statvfs64* out) noexcept {
  return statvfs(path, reinterpret_cast<struct statvfs*>(out));
}
int fstatvfs64(int file, struct statvfs64* out) noexcept {
  return fstatvfs(file, reinterpret_cast<struct statvfs*>(out));
}

// --- The working folder.

int chdir(const char* path) noexcept {
  const Where where(path);
  if (!where.inside()) {
    const int result = static_cast<int>(syscall(SYS_chdir, where.path()));
    if (result == 0 && lib::mount()) lib::working_folder_changed();
    return result;
  }
  struct stat facts {};
  if (stat(path, &facts) != 0) return -1;
  HostPath host;
  const int result = static_cast<int>(syscall(SYS_chdir, where.host(host)));
  lib::working_folder_changed();
  return result;
}
int fchdir(int file) noexcept {
  const int result = static_cast<int>(syscall(SYS_fchdir, file));
  if (lib::mount()) lib::working_folder_changed();
  return result;
}

char* getcwd(char* out, size_t length) noexcept {
  WEFT_REAL(getcwd);
  char text[weft::abi::kLongestPath];
  const char* below = nullptr;
  if (!lib::working_folder(text, below)) return next_getcwd(out, length);
  HostPath shown;
  const auto bytes = static_cast<size_t>(
      snprintf(shown, sizeof shown, "%s%s%s", lib::mount()->path, *below ? "/" : "", below));
  if (!out) out = static_cast<char*>(malloc(length > bytes ? length : bytes + 1));
  else if (length <= bytes) {
    errno = ERANGE;
    return nullptr;
  }
  if (out) memcpy(out, shown, bytes + 1);
  return out;
}
char* __getcwd_chk(char* out, size_t length, size_t) noexcept { return getcwd(out, length); }
char* get_current_dir_name(void) noexcept { return getcwd(nullptr, 0); }

char* realpath(const char* path, char* out) noexcept {
  WEFT_REAL(realpath);
  const Where where(path);
  if (!where.inside()) return next_realpath(where.path(), out);
  struct stat facts {};
  if (stat(path, &facts) != 0) return nullptr;
  if (!out) out = static_cast<char*>(malloc(PATH_MAX));
  if (out) snprintf(out, PATH_MAX, "%s%s%s", lib::mount()->path, *where.below() ? "/" : "", where.below());
  return out;
}
char* __realpath_chk(const char* path, char* out, size_t) noexcept { return realpath(path, out); }
char* canonicalize_file_name(const char* path) noexcept { return realpath(path, nullptr); }
}
