// Reading directories of the machine's file system. Entries come from the simulator, in the order of their
// names: the host's order is its own.
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace lib = weft::lib;
using lib::Where;
using weft::abi::FileCall;
using weft::abi::FolderEntry;

namespace {

/// What a program has instead of the C library's own stream.
struct Folder {
  Folder* next;
  int file;
  long number;         // of the next entry
  size_t at, bytes;    // in the buffer
  dirent entry;        // the last that was handed out
  alignas(8) char buffer[32'768];
};

Folder* folders = nullptr;
pthread_mutex_t folders_lock = PTHREAD_MUTEX_INITIALIZER;

Folder* own(DIR* stream) {
  if (!folders) return nullptr;
  pthread_mutex_lock(&folders_lock);
  Folder* found = folders;
  while (found && found != reinterpret_cast<Folder*>(stream)) found = found->next;
  pthread_mutex_unlock(&folders_lock);
  return found;
}

DIR* make(int file) {
  auto* folder = static_cast<Folder*>(malloc(sizeof(Folder)));
  if (!folder) return nullptr;
  folder->file = file;
  folder->number = 0;
  folder->at = folder->bytes = 0;
  pthread_mutex_lock(&folders_lock);
  folder->next = folders;
  folders = folder;
  pthread_mutex_unlock(&folders_lock);
  return reinterpret_cast<DIR*>(folder);
}

/// Null at the end, and where it failed; then errno says so.
dirent* next_entry(Folder& f) {
  if (f.at == f.bytes) {
    lib::StorageCaller caller;
    std::uint32_t file = 0;
    std::uint64_t answer[2] = {};
    if (!lib::storage_file(caller, f.file, file)) {
      errno = EIO;
      return nullptr;
    }
    const int result = caller.ask(FileCall::List, file, reinterpret_cast<std::uint64_t>(f.buffer),
                                  sizeof f.buffer, static_cast<std::uint64_t>(f.number), answer);
    if (result != 0) {
      errno = -result;
      return nullptr;
    }
    f.at = 0;
    f.bytes = answer[0];
    if (f.bytes == 0) return nullptr;
  }
  const auto* from = reinterpret_cast<const FolderEntry*>(f.buffer + f.at);
  f.at += from->bytes;
  ++f.number;
  f.entry.d_ino = from->number;
  f.entry.d_off = f.number;
  f.entry.d_reclen = sizeof(dirent);
  f.entry.d_type = from->type;
  strncpy(f.entry.d_name, from->name, sizeof f.entry.d_name - 1);
  f.entry.d_name[sizeof f.entry.d_name - 1] = 0;
  return &f.entry;
}

void go_to(Folder& f, long number) {
  f.number = number;
  f.at = f.bytes = 0;
}

int next_entry_into(DIR* stream, dirent* entry, dirent** out) {
  errno = 0;
  *out = nullptr;
  if (const dirent* found = readdir(stream)) {
    memcpy(entry, found, found->d_reclen);
    *out = entry;
  }
  return errno;
}

static_assert(sizeof(dirent) == sizeof(dirent64));

}  // namespace

extern "C" {

DIR* opendir(const char* path) {
  WEFT_REAL(opendir);
  const Where where(path);
  if (!where.inside()) return next_opendir(where.path());
  const int file = lib::storage_open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) return nullptr;
  if (!lib::is_storage(file)) {
    WEFT_REAL(fdopendir);
    return next_fdopendir(file);
  }
  return make(file);
}

DIR* fdopendir(int file) {
  WEFT_REAL(fdopendir);
  return lib::is_storage(file) ? make(file) : next_fdopendir(file);
}

int closedir(DIR* stream) {
  WEFT_REAL(closedir);
  Folder* folder = own(stream);
  if (!folder) return next_closedir(stream);
  pthread_mutex_lock(&folders_lock);
  Folder** at = &folders;
  while (*at != folder) at = &(*at)->next;
  *at = folder->next;
  pthread_mutex_unlock(&folders_lock);
  const int result = close(folder->file);
  free(folder);
  return result;
}

struct dirent* readdir(DIR* stream) {
  WEFT_REAL(readdir);
  Folder* folder = own(stream);
  return folder ? next_entry(*folder) : next_readdir(stream);
}
struct dirent64* readdir64(DIR* stream) { return reinterpret_cast<dirent64*>(readdir(stream)); }

int readdir_r(DIR* __restrict stream, struct dirent* __restrict entry, struct dirent** __restrict out) {
  return next_entry_into(stream, entry, out);
}
int readdir64_r(DIR* __restrict stream, struct dirent64* __restrict entry,
                struct dirent64** __restrict out) {
  return next_entry_into(stream, reinterpret_cast<dirent*>(entry), reinterpret_cast<dirent**>(out));
}

void rewinddir(DIR* stream) noexcept {
  WEFT_REAL(rewinddir);
  Folder* folder = own(stream);
  folder ? go_to(*folder, 0) : next_rewinddir(stream);
}
long telldir(DIR* stream) noexcept {
  WEFT_REAL(telldir);
  Folder* folder = own(stream);
  return folder ? folder->number : next_telldir(stream);
}
void seekdir(DIR* stream, long number) noexcept {
  WEFT_REAL(seekdir);
  Folder* folder = own(stream);
  folder ? go_to(*folder, number) : next_seekdir(stream, number);
}
int dirfd(DIR* stream) noexcept {
  WEFT_REAL(dirfd);
  Folder* folder = own(stream);
  return folder ? folder->file : next_dirfd(stream);
}

int scandir(const char* __restrict path, struct dirent*** __restrict out, int (*wanted)(const struct dirent*),
            int (*order)(const struct dirent**, const struct dirent**)) {
  WEFT_REAL(scandir);
  const Where where(path);
  if (!where.inside()) return next_scandir(where.path(), out, wanted, order);
  DIR* stream = opendir(path);
  if (!stream) return -1;
  int count = 0;
  struct dirent** list = nullptr;
  while (const dirent* entry = readdir(stream)) {
    if (wanted && !wanted(entry)) continue;
    auto** longer =
        static_cast<struct dirent**>(realloc(list, sizeof(dirent*) * static_cast<size_t>(count + 1)));
    auto* copy = static_cast<dirent*>(malloc(sizeof(dirent)));
    if (longer) list = longer;
    if (!longer || !copy) break;
    memcpy(copy, entry, sizeof *copy);
    list[count++] = copy;
  }
  closedir(stream);
  if (order && count)
    qsort(list, static_cast<size_t>(count), sizeof(dirent*),
          reinterpret_cast<int (*)(const void*, const void*)>(order));
  *out = list;
  return count;
}
int scandir64(const char* __restrict path, struct dirent64*** __restrict out,
              int (*wanted)(const struct dirent64*),
              int (*order)(const struct dirent64**, const struct dirent64**)) {
  return scandir(path, reinterpret_cast<struct dirent***>(out),
                 reinterpret_cast<int (*)(const struct dirent*)>(wanted),
                 reinterpret_cast<int (*)(const struct dirent**, const struct dirent**)>(order));
}
}
