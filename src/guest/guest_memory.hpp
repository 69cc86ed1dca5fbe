// The memory of a guest, as its kernel shares it with the devices outside: named by guest-physical addresses.
// Nothing a guest says of addresses is believed: what does not lie in its memory is not there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::guest {

class GuestMemory {
 public:
  GuestMemory() = default;
  ~GuestMemory();
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  /// Maps a piece of a file as guest memory from `address` on. The file is sealed first: a guest that made it
  /// shorter would take the simulator along. What cannot be mapped is told; nothing then: it is mapped.
  std::string add(std::uint64_t address, std::uint64_t size, int file, std::uint64_t offset);
  /// Plain memory in place of a file, for tests.
  void add(std::uint64_t address, std::uint8_t* bytes, std::uint64_t size);
  void clear();
  bool empty() const { return regions_.empty(); }

  /// Where these bytes are; nothing where they are not all in one piece of guest memory.
  std::uint8_t* find(std::uint64_t address, std::uint64_t length) const {
    for (const Region& region : regions_)
      if (address >= region.address && length <= region.size &&
          address - region.address <= region.size - length)
        return region.bytes + (address - region.address);
    return nullptr;
  }

 private:
  struct Region {
    std::uint64_t address, size;
    std::uint8_t* bytes;
    void* mapped;  // what is to be unmapped; nothing for plain memory
    std::uint64_t mapped_size;
  };
  std::vector<Region> regions_;
};

}  // namespace weft::guest
