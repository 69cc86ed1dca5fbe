// The packets there are: records of fixed size in chunks that never move, reused through a free list.
#pragma once

#include <cstdint>
#include <memory>
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
  bool damaged;   // flagged by a link
  bool departed;  // its source has been told; once, however often it is sent
};
static_assert(sizeof(PacketRecord) == 64);

/// Shared by all threads; each takes from and gives back to a free list of its own.
class PacketStore {
 public:
  static constexpr unsigned kChunkBits = 14;
  static constexpr std::uint64_t kPacketBytes = sizeof(PacketRecord) + sizeof(std::uint64_t);
  static constexpr PacketId kMaxPackets = (1u << 24) - 1;  // a packet's number has 24 bits, one is for none

  PacketRecord& operator[](PacketId id) { return chunks_[id >> kChunkBits][id & ((1u << kChunkBits) - 1)]; }
  const PacketRecord& operator[](PacketId id) const {
    return chunks_[id >> kChunkBits][id & ((1u << kChunkBits) - 1)];
  }

  /// The packet behind another: its number at the source, its entry in a router's queue. Not in the record:
  /// most packets that wait in a row are looked up for this alone, and these numbers stay in a cache.
  std::uint64_t& behind(PacketId id) { return behind_[id >> kChunkBits][id & ((1u << kChunkBits) - 1)]; }
  std::uint64_t behind(PacketId id) const { return behind_[id >> kChunkBits][id & ((1u << kChunkBits) - 1)]; }

  /// Room for `count` chunks is kept from the start, so that threads never see the list move.
  PacketStore() : chunks_(kMaxPackets >> kChunkBits), behind_(chunks_.size()) {}

  /// A chunk's worth of fresh numbers, appended to `free`. Call with the engine's lock held.
  void grow(std::vector<PacketId>& free) {
    WEFT_CHECK(used_ < chunks_.size(), "more than 16 million packets at once");
    chunks_[used_] = std::make_unique<PacketRecord[]>(1u << kChunkBits);
    behind_[used_] = std::make_unique<std::uint64_t[]>(1u << kChunkBits);
    PacketId base = static_cast<PacketId>(used_++) << kChunkBits;
    for (PacketId i = 1u << kChunkBits; i-- > 0;) free.push_back(base + i);
  }

  /// Packets have numbers below this.
  PacketId end() const { return static_cast<PacketId>(used_ << kChunkBits); }

 private:
  std::vector<std::unique_ptr<PacketRecord[]>> chunks_;
  std::vector<std::unique_ptr<std::uint64_t[]>> behind_;
  std::uint64_t used_ = 0;
};

/// What a queue in a router holds of a packet: enough to route it without looking its record up.
class Entry {
 public:
  Entry() = default;
  Entry(PacketId id, EndpointId destination, std::uint32_t flits, std::uint32_t message_class)
      : bits_(std::uint64_t{destination} << 40 | std::uint64_t{id} << 16 | std::uint64_t{flits} << 4 |
              message_class) {}
  explicit Entry(std::uint64_t bits) : bits_(bits) {}
  EndpointId destination() const { return static_cast<EndpointId>(bits_ >> 40); }
  PacketId id() const { return static_cast<PacketId>(bits_ >> 16) & 0xff'ffff; }
  std::uint32_t flits() const { return static_cast<std::uint32_t>(bits_ >> 4) & 0xfff; }
  std::uint32_t message_class() const { return static_cast<std::uint32_t>(bits_) & 0xf; }
  std::uint64_t bits() const { return bits_; }

  static constexpr std::uint32_t kMaxFlits = 0xfff;
  static constexpr EndpointId kMaxEndpoints = 1u << 24;

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace weft::network::flit
