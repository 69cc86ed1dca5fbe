// The packets there are: records of fixed size that never move, reused through a free list.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "base/check.hpp"
#include "network/packet.hpp"

namespace weft::network::flit {

using PacketId = std::uint32_t;
inline constexpr PacketId kNoPacket = 0xffff'ffff;

struct alignas(64) PacketRecord {
  Cycle created, injected;
  Tag tag;
  EndpointId source, destination;
  std::uint32_t via;            // intermediate place of the routing, or kNone: none, or passed
  std::uint32_t turned_at;      // router where it had reached that place; kNone: nowhere yet
  std::uint32_t next_port;      // tiled routers: the output it goes to,
  std::uint32_t next_channels;  // and the channels it may take there
  std::uint16_t flits, hops;
  std::uint8_t message_class;
  bool damaged;         // flagged by a link
  bool departed;        // its source has been told; once, however often it is sent
  Remainder remainder;  // what whole cycles leave of its times so far
};
static_assert(sizeof(PacketRecord) == 64);

/// An array that grows in place: its addresses are taken at once, its memory when it is needed, in large
/// pages where the system has them. So nothing ever moves, and an element is one addition away.
template <class T>
class GrowingArray {
 public:
  explicit GrowingArray(std::size_t most) : bytes_(pages(most * sizeof(T)) + kPage) {
    memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(pages(reinterpret_cast<std::uintptr_t>(memory_)));
  }
  ~GrowingArray() { munmap(memory_, bytes_); }
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;

  /// Makes room for `count` elements in all. Their bytes are zero until they are written.
  void grow(std::size_t count) {
    std::size_t needed = pages(count * sizeof(T));
    if (needed <= ready_) return;
    std::byte* at = reinterpret_cast<std::byte*>(data_) + ready_;
    if (mprotect(at, needed - ready_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    madvise(at, needed - ready_, MADV_HUGEPAGE);  // only advice: nothing depends on it
    ready_ = needed;
  }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
  static std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  std::size_t bytes_, ready_ = 0;
  void* memory_;
  T* data_;
};

/// Shared by all threads; each takes from and gives back to a free list of its own.
class PacketStore {
 public:
  static constexpr PacketId kChunk = 1u << 14;  // taken at a time
  static constexpr std::uint64_t kPacketBytes = sizeof(PacketRecord) + sizeof(std::uint64_t);
  static constexpr PacketId kMaxPackets = 1u << 27;  // a packet's number has 27 bits in an Entry

  /// `most`: packets there may be at once. Their addresses are reserved, which counts where those are
  /// limited.
  explicit PacketStore(PacketId most) : most_(most), records_(most), behind_(most) {}

  PacketRecord& operator[](PacketId id) { return records_[id]; }
  const PacketRecord& operator[](PacketId id) const { return records_[id]; }

  /// The packet behind another: its number at the source, its entry in a router's queue. Not in the record:
  /// most packets that wait in a row are looked up for this alone, and these numbers stay in a cache.
  std::uint64_t& behind(PacketId id) { return behind_[id]; }
  std::uint64_t behind(PacketId id) const { return behind_[id]; }

  /// A chunk's worth of numbers, appended to `free`. From any thread.
  void grow(std::vector<PacketId>& free) {
    std::lock_guard lock(growing_);
    if (pool_.size() >= kChunk) return move_chunk(pool_, free);
    WEFT_CHECK(end_ + kChunk <= most_, "no more packets at once than there is room for");
    records_.grow(end_ + kChunk);
    behind_.grow(end_ + kChunk);
    for (PacketId i = kChunk; i-- > 0;) free.push_back(end_ + i);
    end_ += kChunk;
  }

  /// From a thread that gives back more than it takes: others would take fresh ones for ever. From any
  /// thread.
  void give_back(std::vector<PacketId>& free) {
    if (free.size() < 3 * std::size_t{kChunk}) return;
    std::lock_guard lock(growing_);
    move_chunk(free, pool_);
  }
  /// Numbers of no packet that are on no thread's list.
  const std::vector<PacketId>& pool() const { return pool_; }

  /// Packets have numbers below this.
  PacketId end() const { return end_; }

 private:
  static void move_chunk(std::vector<PacketId>& from, std::vector<PacketId>& to) {
    to.insert(to.end(), from.end() - kChunk, from.end());
    from.resize(from.size() - kChunk);
  }

  PacketId most_;
  std::vector<PacketId> pool_;
  GrowingArray<PacketRecord> records_;
  GrowingArray<std::uint64_t> behind_;
  PacketId end_ = 0;
  std::mutex growing_;
};

/// What a queue in a router holds of a packet: enough to route it without looking its record up.
class Entry {
 public:
  Entry() = default;
  Entry(PacketId id, EndpointId destination, std::uint32_t flits, std::uint32_t message_class)
      : bits_(std::uint64_t{destination} << 42 | std::uint64_t{id} << 15 | std::uint64_t{flits} << 3 |
              message_class) {}
  explicit Entry(std::uint64_t bits) : bits_(bits) {}
  EndpointId destination() const { return static_cast<EndpointId>(bits_ >> 42); }
  PacketId id() const { return static_cast<PacketId>(bits_ >> 15) & (PacketStore::kMaxPackets - 1); }
  std::uint32_t flits() const { return static_cast<std::uint32_t>(bits_ >> 3) & kMaxFlits; }
  std::uint32_t message_class() const { return static_cast<std::uint32_t>(bits_) & 0x7; }
  std::uint64_t bits() const { return bits_; }

  static constexpr std::uint32_t kMaxFlits = 0xfff;
  static constexpr EndpointId kMaxEndpoints = 1u << 22;

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace weft::network::flit
