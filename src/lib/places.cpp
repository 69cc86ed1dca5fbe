#include "lib/places.hpp"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace weft::lib {

namespace {

struct Known {
  std::uint64_t address, length;
  Place place;
  std::uint64_t pages;
};
struct Unused {
  std::uint64_t length, pages, simulated;
};

// Memory of the process's own that is zero until it is used, since nothing may be allocated while something
// is freed.
constexpr unsigned kMost = 1u << 16, kMostUnused = 1u << 12;
Known known[kMost];  // by address, then length
unsigned count = 0;
Unused unused[kMostUnused];  // a stack
unsigned unused_count = 0;
std::uint64_t next_simulated = std::uint64_t{1} << 50;  // no process's own addresses are there
std::uint64_t last_number = 0;

// What nearly all frees need: whether a page may hold the beginning of known memory. Never cleared.
std::atomic<std::uint8_t> pages_seen[1u << 16];
std::atomic<std::uint64_t> lowest{~0ull}, highest{0};
constexpr unsigned kPageBits = 12, kPagesLookedAt = 16;

std::atomic<std::uint8_t>& seen(std::uint64_t page) { return pages_seen[page & 0xffff]; }

// Threads take it for some hundred instructions; a mutex would be one in virtual time.
std::atomic_flag held;

class Locked {
 public:
  Locked() {
    while (held.test_and_set(std::memory_order_acquire)) syscall(SYS_sched_yield);
  }
  ~Locked() { held.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

Known* first_from(std::uint64_t address, std::uint64_t length) {
  return std::lower_bound(known, known + count, std::uint64_t{0}, [&](const Known& k, std::uint64_t) {
    return k.address < address || (k.address == address && k.length < length);
  });
}

/// Those that memory of this length gave up last, else of as many pages, else new ones.
std::uint64_t take_pages(std::uint64_t length, std::uint64_t pages, std::uint64_t page) {
  unsigned best = kMostUnused;
  for (unsigned i = unused_count; i-- > 0;) {
    if (unused[i].length == length) {
      best = i;
      break;
    }
    if (best == kMostUnused && unused[i].pages == pages) best = i;
  }
  if (best == kMostUnused) {
    next_simulated += pages * page;
    return next_simulated - pages * page;
  }
  std::uint64_t simulated = unused[best].simulated;
  std::copy(unused + best + 1, unused + unused_count, unused + best);
  --unused_count;
  return simulated;
}

void give_pages(const Known& k) {
  if (unused_count == kMostUnused) {  // the oldest half is not used again
    std::copy(unused + kMostUnused / 2, unused + kMostUnused, unused);
    unused_count = kMostUnused / 2;
  }
  unused[unused_count++] = {k.length, k.pages, k.place.simulated};
}

}  // namespace

Place place_of(const void* base, std::size_t length, std::uint64_t page) {
  std::uint64_t address = number_of(base);
  Locked locked;
  Known* at = first_from(address, length);
  if (at != known + count && at->address == address && at->length == length) return at->place;
  if (count == kMost) {  // a matter of how many there were, so the same every time
    count = 0;
    at = known;
  }
  std::uint64_t pages = std::max<std::uint64_t>(1, (length + page - 1) / page);
  std::copy_backward(at, known + count, known + count + 1);
  ++count;
  *at = {address, length, {take_pages(length, pages, page), ++last_number}, pages};
  seen(address >> kPageBits).store(1, std::memory_order_relaxed);
  if (address < lowest.load()) lowest.store(address);
  if (address >= highest.load()) highest.store(address + 1);
  return at->place;
}

bool may_have_places(const void* base) { return number_of(base) < highest.load(std::memory_order_relaxed); }

bool may_have_places(const void* base, std::size_t length) {
  std::uint64_t begin = number_of(base), end = begin + length;
  if (begin >= highest.load(std::memory_order_relaxed) || end <= lowest.load(std::memory_order_relaxed))
    return false;
  std::uint64_t first = begin >> kPageBits, last = (end - 1) >> kPageBits;
  if (last - first >= kPagesLookedAt) return true;
  for (std::uint64_t page = first; page <= last; ++page)
    if (seen(page).load(std::memory_order_relaxed)) return true;
  return false;
}

void memory_gone(const void* base, std::size_t length) {
  if (!length || !may_have_places(base, length)) return;
  Locked locked;
  Known* first = first_from(number_of(base), 0);
  Known* end = first_from(number_of(base) + length, 0);
  for (Known* k = first; k != end; ++k) give_pages(*k);
  std::copy(end, known + count, first);
  count -= static_cast<unsigned>(end - first);
}

void stack_is_new() {
  pthread_attr_t attributes;
  if (syscall(SYS_gettid) == getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* base = nullptr;
  std::size_t length = 0;
  if (pthread_attr_getstack(&attributes, &base, &length) == 0) memory_gone(base, length);
  pthread_attr_destroy(&attributes);
}

}  // namespace weft::lib
