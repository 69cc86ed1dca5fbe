// A guest of plain memory with the driver's half of its rings, for tests: no kernel, no sockets.
#pragma once

#include <cstring>
#include <vector>

#include "guest/ethernet.hpp"

namespace weft::guest::test {

/// The driver's half of a ring in guest memory.
class TestRing {
 public:
  TestRing(std::vector<std::uint8_t>& memory, std::uint64_t base, std::uint32_t at, std::uint32_t entries)
      : memory_(memory), base_(base), at_(at), entries_(entries) {}

  std::uint64_t descriptors() const { return base_ + at_; }
  std::uint64_t available() const { return base_ + at_ + 16 * entries_; }
  std::uint64_t used() const { return base_ + at_ + 18 * entries_ + 8; }
  static std::uint32_t size(std::uint32_t entries) { return 26 * entries + 16; }

  void describe(std::uint16_t index, std::uint64_t address, std::uint32_t length, std::uint16_t flags,
                std::uint16_t next = 0) {
    put(at_ + 16 * index, address);
    put(at_ + 16 * index + 8, length);
    put(at_ + 16 * index + 12, flags);
    put(at_ + 16 * index + 14, next);
  }
  void offer(std::uint16_t head) {
    const std::uint32_t ring = at_ + 16 * entries_;
    put(ring + 4 + 2 * (offered_ % entries_), head);
    put(ring + 2, ++offered_);
  }
  void want_interrupts(bool wanted) { put(at_ + 16 * entries_, static_cast<std::uint16_t>(!wanted)); }

  struct Used {
    std::uint32_t head, written;
  };
  /// What the device has given back since it was last asked.
  std::vector<Used> take_used() {
    const std::uint32_t ring = at_ + 18 * entries_ + 8;
    std::uint16_t index;
    std::memcpy(&index, &memory_[ring + 2], 2);
    std::vector<Used> out;
    for (; taken_ != index; ++taken_) {
      Used entry;
      std::memcpy(&entry, &memory_[ring + 4 + 8 * (taken_ % entries_)], sizeof entry);
      out.push_back(entry);
    }
    return out;
  }

 private:
  template <class T>
  void put(std::uint32_t at, T value) {
    std::memcpy(&memory_[at], &value, sizeof value);
  }
  std::vector<std::uint8_t>& memory_;
  std::uint64_t base_;
  std::uint32_t at_, entries_;
  std::uint16_t offered_ = 0, taken_ = 0;
};

/// A guest with a device: sends frames, and has buffers for those that come.
class TestGuest {
 public:
  static constexpr std::uint64_t kBase = 0x10'0000;
  static constexpr std::uint32_t kEntries = 64, kBuffer = 2048;

  explicit TestGuest(Ethernet& its_ethernet)
      : ethernet(its_ethernet),
        memory(2 * TestRing::size(kEntries) + 2 * kEntries * kBuffer),
        receiving(memory, kBase, 0, kEntries),
        sending(memory, kBase, TestRing::size(kEntries), kEntries) {
    VhostUser& vhost = ethernet.vhost();
    vhost.memory().add(kBase, memory.data(), memory.size());
    for (auto [queue, ring] :
         {std::pair{Ethernet::kReceiveQueue, &receiving}, {Ethernet::kSendQueue, &sending}}) {
      vhost.queue(queue).set_size(kEntries);
      vhost.queue(queue).set_place(vhost.memory(), ring->descriptors(), ring->used(), ring->available());
    }
  }

  std::uint32_t buffer(unsigned queue, std::uint16_t index) const {
    return 2 * TestRing::size(kEntries) + (queue * kEntries + index) * kBuffer;
  }

  void offer_buffers(std::uint16_t first, std::uint16_t count) {
    for (std::uint16_t i = first; i < first + count; ++i) {
      receiving.describe(i, kBase + buffer(Ethernet::kReceiveQueue, i), kBuffer, 2);
      receiving.offer(i);
    }
  }

  /// Frames of up to a buffer's size; each goes out from a buffer of its own.
  void send(std::uint32_t to, std::uint8_t fill, std::uint32_t bytes) {
    const std::uint16_t index = next_++ % kEntries;
    const std::uint32_t at = buffer(Ethernet::kSendQueue, index);
    std::memset(&memory[at], 0, 12);
    std::memset(&memory[at + 12], fill, bytes);
    MacAddress mac = mac_of(to);
    std::memcpy(&memory[at + 12], mac.data(), mac.size());
    sending.describe(index, kBase + at, 12 + bytes, 0);
    sending.offer(index);
  }
  void kick() {
    ethernet.vhost().on_kick(Ethernet::kSendQueue);
    ethernet.take_kicks();
  }

  Ethernet& ethernet;
  std::vector<std::uint8_t> memory;
  TestRing receiving, sending;

 private:
  std::uint16_t next_ = 0;
};

}  // namespace weft::guest::test
