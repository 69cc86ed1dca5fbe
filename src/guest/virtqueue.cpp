#include "guest/virtqueue.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace weft::guest {

namespace {

constexpr std::uint16_t kNext = 1, kWrite = 2, kIndirect = 4;
constexpr std::uint16_t kNoInterrupt = 1;

/// A word that the guest may change meanwhile; it need not be aligned.
std::uint16_t load(const std::uint8_t* from) {
  std::uint16_t value;
  std::memcpy(&value, from, sizeof value);
  std::atomic_thread_fence(std::memory_order_acquire);
  return value;
}

void store(std::uint8_t* to, std::uint16_t value) {
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

bool Virtqueue::set_size(std::uint32_t entries) {
  if (entries == 0 || entries > kMostEntries || (entries & (entries - 1))) return false;
  reset();
  entries_ = entries;
  return true;
}

bool Virtqueue::set_place(const GuestMemory& memory, std::uint64_t descriptors, std::uint64_t used,
                          std::uint64_t available) {
  if (!entries_) return false;
  const std::uint8_t* table = memory.find(descriptors, std::uint64_t{entries_} * sizeof(Descriptor));
  std::uint8_t* back = memory.find(used, 6 + std::uint64_t{entries_} * 8);
  const std::uint8_t* ring = memory.find(available, 6 + std::uint64_t{entries_} * 2);
  if (!table || !back || !ring) return false;
  descriptors_ = table;
  used_ = back;
  available_ = ring;
  pushed_ = load(used_ + 2);
  return true;
}

void Virtqueue::reset() { *this = Virtqueue(); }

bool Virtqueue::pop(const GuestMemory& memory, Chain& chain) {
  if (!ready()) return false;
  const std::uint16_t offered = load(available_ + 2);
  if (offered == next_) return false;
  if (static_cast<std::uint16_t>(offered - next_) > entries_) {
    fail(fmt::format("its index is {} beyond what was taken, and the ring has {} entries",
                     static_cast<std::uint16_t>(offered - next_), entries_));
    return false;
  }
  chain.readable.clear();
  chain.writable.clear();
  chain.head = load(available_ + 4 + 2 * (next_ % entries_));
  std::uint16_t at = chain.head;
  for (std::uint32_t length = 0;; ++length) {
    if (at >= entries_ || length == entries_) {
      fail(at >= entries_ ? fmt::format("descriptor {} is beyond its {} entries", at, entries_)
                          : std::string("a chain of descriptors that has no end"));
      return false;
    }
    Descriptor d;
    std::memcpy(&d, descriptors_ + std::size_t{at} * sizeof d, sizeof d);
    std::uint8_t* bytes = d.flags & kIndirect ? nullptr : memory.find(d.address, d.length);
    if (!bytes) {
      fail(d.flags & kIndirect
               ? std::string("an indirect descriptor, which was not agreed on")
               : fmt::format("descriptor {} points to {} bytes at {:#x}, where the guest has no memory", at,
                             d.length, d.address));
      return false;
    }
    (d.flags & kWrite ? chain.writable : chain.readable).push_back({bytes, d.length});
    if (!(d.flags & kNext)) break;
    at = d.next;
  }
  ++next_;
  return true;
}

void Virtqueue::push(std::uint16_t head, std::uint32_t written) {
  if (!ready()) return;
  const std::uint32_t entry[2] = {head, written};
  std::memcpy(used_ + 4 + 8 * (pushed_ % entries_), entry, sizeof entry);
  store(used_ + 2, ++pushed_);
}

bool Virtqueue::wants_interrupt() const { return ready() && !(load(available_) & kNoInterrupt); }

}  // namespace weft::guest
