// Maps of files of the machine's file system. They are the host's own, so what one process writes into a
// shared map the others see at once. Their time is that of reading what is mapped when it is, and of writing
// it back when a shared one is synchronised or taken away.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/real.hpp"
#include "lib/storage.hpp"
#include "lib/storage_maps.hpp"

namespace lib = weft::lib;
using weft::abi::FileCall;

namespace {

struct Map {
  char* base;
  size_t length;
  off_t offset;
  int file;  // a copy of the descriptor, which the program may close
};

constexpr int kMost = 1024;
Map maps[kMost];
int used = 0;
pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;

/// So much of the file is there to be read or written.
size_t in_file(int file, off_t offset, size_t length) {
  const off_t end = static_cast<off_t>(syscall(SYS_lseek, file, 0, SEEK_CUR));
  const off_t size = static_cast<off_t>(syscall(SYS_lseek, file, 0, SEEK_END));
  syscall(SYS_lseek, file, end, SEEK_SET);
  if (offset >= size) return 0;
  const auto left = static_cast<size_t>(size - offset);
  return length < left ? length : left;
}

void touch(int file, off_t offset, size_t length, bool write) {
  length = in_file(file, offset, length);
  for (size_t done = 0; done < length;) {
    const size_t part = length - done < weft::abi::kMostAtOnce ? length - done : weft::abi::kMostAtOnce;
    lib::storage_ask(file, FileCall::Touch, write, part, static_cast<std::uint64_t>(offset) + done);
    done += part;
  }
}

}  // namespace

namespace weft::lib {

void write_maps_back(void* base, std::size_t length, bool gone) {
  if (used == 0) return;
  char *first = static_cast<char*>(base), *end = first + length;
  for (int i = used - 1; i >= 0; --i) {
    const Map m = maps[i];
    char* from = m.base > first ? m.base : first;
    char* to = m.base + m.length < end ? m.base + m.length : end;
    if (from >= to) continue;
    touch(m.file, m.offset + (from - m.base), static_cast<size_t>(to - from), true);
    if (!gone || from != m.base || to != m.base + m.length) continue;
    pthread_mutex_lock(&maps_lock);
    maps[i] = maps[--used];
    pthread_mutex_unlock(&maps_lock);
    close(m.file);
  }
}

}  // namespace weft::lib

extern "C" {

void* mmap(void* wanted, size_t length, int rights, int flags, int file, off_t offset) noexcept {
  auto real = [&] {
    return reinterpret_cast<void*>(syscall(SYS_mmap, wanted, length, rights, flags, file, offset));
  };
  if ((flags & MAP_ANONYMOUS) || !lib::is_storage(file)) return real();
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  if (shared) lib::run_apart(lib::kTalks);  // others may change what is seen here
  touch(file, offset, length, false);
  void* base = real();
  if (base == MAP_FAILED || !shared || !(rights & PROT_WRITE)) return base;
  const int copy = dup(file);
  pthread_mutex_lock(&maps_lock);
  const bool room = copy >= 0 && used < kMost;
  if (room) maps[used++] = {static_cast<char*>(base), length, offset, copy};
  pthread_mutex_unlock(&maps_lock);
  if (copy >= 0 && !room) close(copy);
  return base;
}
void* mmap64(void* wanted, size_t length, int rights, int flags, int file, off64_t offset) noexcept {
  return mmap(wanted, length, rights, flags, file, offset);
}

int msync(void* base, size_t length, int flags) {
  lib::write_maps_back(base, length, false);
  return static_cast<int>(syscall(SYS_msync, base, length, flags));
}
}
