// A split ring of virtio in guest memory: the driver offers chains of buffers, the device takes them and
// gives them back as used. The guest writes all of it at any time, so every word is read once and checked,
// and what makes no sense breaks the ring for good: the guest is in error, not the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guest/guest_memory.hpp"

namespace weft::guest {

/// Buffers of one chain, in order; what the device reads first.
struct Chain {
  struct Piece {
    std::uint8_t* bytes;
    std::uint32_t length;
  };
  std::uint16_t head = 0;
  std::vector<Piece> readable, writable;

  std::uint64_t readable_bytes() const { return sum(readable); }
  std::uint64_t writable_bytes() const { return sum(writable); }
  static std::uint64_t sum(const std::vector<Piece>& pieces) {
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.length;
    return bytes;
  }
};

class Virtqueue {
 public:
  static constexpr std::uint32_t kMostEntries = 1024;

  /// Entries of the ring, a power of two; and where the guest has its parts. False: they are no ring.
  bool set_size(std::uint32_t entries);
  bool set_place(const GuestMemory& memory, std::uint64_t descriptors, std::uint64_t used,
                 std::uint64_t available);
  void set_next(std::uint16_t index) { next_ = index; }
  void reset();

  bool ready() const { return available_ != nullptr && broken_.empty(); }
  /// Why the ring can no longer be used; empty while it can.
  const std::string& broken() const { return broken_; }
  void fail(std::string why) {
    if (broken_.empty()) broken_ = std::move(why);
  }

  /// The next chain the driver has offered; false where there is none or the ring is broken.
  bool pop(const GuestMemory& memory, Chain& chain);
  /// Puts the chains of the last so many pops back, as if they had not been taken.
  void unpop(std::uint16_t chains) { next_ = static_cast<std::uint16_t>(next_ - chains); }
  /// `written`: bytes the device has written into the chain.
  void push(std::uint16_t head, std::uint32_t written);
  /// Does the driver want to hear of what was pushed?
  bool wants_interrupt() const;

 private:
  struct Descriptor {
    std::uint64_t address;
    std::uint32_t length;
    std::uint16_t flags, next;
  };

  std::uint32_t entries_ = 0;
  const std::uint8_t* descriptors_ = nullptr;
  const std::uint8_t* available_ = nullptr;
  std::uint8_t* used_ = nullptr;
  std::uint16_t next_ = 0;    // of what is available
  std::uint16_t pushed_ = 0;  // of what is used: kept here, whatever the guest writes there
  std::string broken_;
};

}  // namespace weft::guest
