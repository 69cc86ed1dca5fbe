// Functions of the C library that tell where a program runs: the simulated node, not the machine Weft runs
// on.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/rank_thread.hpp"
#include "lib/storage.hpp"

namespace lib = weft::lib;

namespace {

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// libfabric looks through the kernel's symbols in every process that starts, for devices nobody has here: a
/// seventh of a second each.
bool refused(const char* path) { return lib::run() && path && strcmp(path, "/proc/kallsyms") == 0; }

}  // namespace

extern "C" {

int gethostname(char* name, size_t length) {
  if (!lib::run()) {
    static auto next = real<decltype(&gethostname)>("gethostname");
    return next(name, length);
  }
  char text[32];
  auto needed = static_cast<size_t>(snprintf(text, sizeof text, "node%u", lib::run()->node));
  if (needed >= length) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(name, text, needed + 1);
  return 0;
}

int uname(struct utsname* out) {
  static auto next = real<decltype(&uname)>("uname");
  int result = next(out);
  if (result == 0 && lib::run()) snprintf(out->nodename, sizeof out->nodename, "node%u", lib::run()->node);
  return result;
}

FILE* fopen(const char* __restrict path, const char* __restrict mode) {
  if (refused(path)) {
    errno = EACCES;
    return nullptr;
  }
  static auto next = real<FILE* (*)(const char*, const char*)>("fopen");
  const lib::Where where(path);
  return where.inside() ? lib::storage_stream(where, mode) : next(where.path(), mode);
}

// Ranks of a node that have memory in common take turns: what they see of each other is the same every time.
int shm_open(const char* name, int flags, mode_t mode) {
  static auto next = real<decltype(&shm_open)>("shm_open");
  lib::run_apart(lib::kSharesMemory);
  return next(name, flags, mode);
}

FILE* fopen64(const char* __restrict path, const char* __restrict mode) { return fopen(path, mode); }
}
