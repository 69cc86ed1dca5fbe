// Registered memory of one interface: keys that cannot be guessed, owners, ranges and rights.
#pragma once

#include <utility>
#include <vector>

#include "base/random.hpp"
#include "nic/descriptor.hpp"

namespace weft::nic {

struct Region {
  std::uint64_t key = 0;  // 0: free
  std::uint64_t address = 0, length = 0;
  std::uint32_t port = 0;
  std::uint32_t rights = 0;
  std::uint64_t shift = 0;  // from its addresses to those that are translated
  std::uint32_t space = 0;  // whose memory it is
};

class MemoryTable {
 public:
  static constexpr std::uint32_t kMost = kRegions;

  MemoryTable(std::uint64_t seed, std::uint32_t node) : seed_(seed), node_(node) {}

  /// The new key, or 0 where the table is full.
  std::uint64_t add(std::uint32_t port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                    std::uint64_t shift, std::uint32_t space) {
    std::uint32_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (regions_.size() == kMost) return 0;
      index = static_cast<std::uint32_t>(regions_.size());
      regions_.emplace_back();
    }
    std::uint64_t secret = random_bits(seed_ ^ 0x6b6579, node_, ++issued_) >> 20;
    std::uint64_t key = (secret | 1) << 20 | index;
    regions_[index] = {key, address, length, port, rights, shift, space};
    if (rights & kIsLocks) {
      if (locks_.size() <= port) locks_.resize(port + 1);
      locks_[port] = key;
    }
    return key;
  }

  /// What was removed; key 0 where the port has no such memory.
  Region remove(std::uint32_t port, std::uint64_t key) {
    const Region* region = find(key);
    if (!region || region->port != port) return {};
    return drop(static_cast<std::uint32_t>(key % kMost));
  }

  /// The port's own memory with this key, or null.
  Region* find(std::uint32_t port, std::uint64_t key) {
    const Region* region = find(key);
    return region && region->port == port ? &regions_[key % kMost] : nullptr;
  }

  std::vector<Region> remove_port(std::uint32_t port) {
    std::vector<Region> out;
    for (std::uint32_t i = 0; i < regions_.size(); ++i)
      if (regions_[i].key && regions_[i].port == port) out.push_back(drop(i));
    return out;
  }

  /// May `length` bytes at `offset` of the memory with this key be used with these rights by work on `port`?
  Status check(std::uint32_t port, std::uint64_t key, std::uint64_t offset, std::uint64_t length,
               std::uint32_t rights, std::uint64_t& address) const {
    const Region* region = find(key);
    if (!region || region->port != port) return Status::BadKey;
    if ((region->rights & rights) != rights) return Status::NoRight;
    if (offset > region->length || length > region->length - offset) return Status::BadRange;
    address = region->address + offset;
    return Status::Ok;
  }

  /// The key of memory that a network logical address of a port names, and the offset there; 0 where it
  /// names none. With kLocksKey the address is an offset among the port's locks.
  std::uint64_t key_of_logical(std::uint32_t port, std::uint64_t key, std::uint64_t logical,
                               std::uint64_t& offset) const {
    offset = logical;
    if (key == kLocksKey) return port < locks_.size() ? locks_[port] : 0;
    std::uint64_t number = logical >> kLogicalBits;
    offset = logical & ((std::uint64_t{1} << kLogicalBits) - 1);
    if (number == 0 || number > regions_.size()) return 0;
    const Region& region = regions_[number - 1];
    return (region.rights & kHasLogical) ? region.key : 0;
  }

  std::uint64_t shift(std::uint64_t key) const {
    const Region* region = find(key);
    return region ? region->shift : 0;
  }
  /// 0 where there is no such key.
  std::uint32_t space(std::uint64_t key) const {
    const Region* region = find(key);
    return region ? region->space : 0;
  }

 private:
  const Region* find(std::uint64_t key) const {
    std::uint64_t index = key % kMost;
    return key && index < regions_.size() && regions_[index].key == key ? &regions_[index] : nullptr;
  }
  Region drop(std::uint32_t index) {
    free_.push_back(index);
    return std::exchange(regions_[index], {});
  }

  std::uint64_t seed_;
  std::uint32_t node_;
  std::uint64_t issued_ = 0;
  std::vector<Region> regions_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint64_t> locks_;  // keys, by port
};

}  // namespace weft::nic
