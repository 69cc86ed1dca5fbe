// Functions of the C library that take memory back: what lies there next has another simulated address.
// Those that give memory need not be seen.
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/launcher_libraries.hpp"
#include "lib/places.hpp"
#include "lib/real.hpp"
#include "lib/storage_maps.hpp"

namespace lib = weft::lib;

namespace {

void block_gone(void* block) {
  if (block && lib::may_have_places(block)) lib::memory_gone(block, malloc_usable_size(block));
}

}  // namespace

extern "C" {

void free(void* block) noexcept {
  // Looking for the function may free the text of an earlier error; that one is left where it is.
  static bool looking = false;
  static decltype(&free) next = nullptr;
  if (!next && looking) return;
  if (!next) {
    looking = true;
    next = reinterpret_cast<decltype(&free)>(dlsym(RTLD_NEXT, "free"));
  }
  block_gone(block);
  next(block);
}

// Whether a block moves is a matter of the heap: it counts as another in any case.
void* realloc(void* block, size_t bytes) noexcept {
  WEFT_REAL(realloc);
  block_gone(block);
  return next_realloc(block, bytes);
}

void* reallocarray(void* block, size_t count, size_t bytes) noexcept {
  WEFT_REAL(reallocarray);
  block_gone(block);
  return next_reallocarray(block, count, bytes);
}

int munmap(void* base, size_t length) noexcept {
  WEFT_REAL(munmap);
  lib::write_maps_back(base, length, true);
  lib::memory_gone(base, length);
  return next_munmap(base, length);
}

void* mremap(void* base, size_t old_length, size_t length, int flags, ...) noexcept {
  WEFT_REAL(mremap);
  lib::memory_gone(base, old_length);
  va_list more;
  va_start(more, flags);
  void* wanted = flags & MREMAP_FIXED ? va_arg(more, void*) : nullptr;
  va_end(more);
  return next_mremap(base, old_length, length, flags, wanted);
}

int brk(void* end) noexcept {
  WEFT_REAL(brk);
  auto* was = static_cast<char*>(sbrk(0));
  if (end < was) lib::memory_gone(end, static_cast<size_t>(was - static_cast<char*>(end)));
  return next_brk(end);
}

void* sbrk(intptr_t bytes) noexcept {
  WEFT_REAL(sbrk);
  if (bytes < 0) {
    auto* was = static_cast<char*>(next_sbrk(0));
    lib::memory_gone(was + bytes, static_cast<size_t>(-bytes));
  }
  return next_sbrk(bytes);
}

/// Open MPI registers whole pages around memory, and where in a page memory lies differs from run to run. It
/// is told of pages as small as what memory is aligned to in every run.
int getpagesize(void) noexcept {
  WEFT_REAL(getpagesize);
  constexpr int kAlignedInEveryRun = 16;
  return lib::of_library("libopen-pal.so", __builtin_return_address(0)) ? kAlignedInEveryRun
                                                                        : next_getpagesize();
}
}
